"""A daemon under a manager that answers wrongly: it lives on, and admits nobody for that."""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pool_daemon import FENCED, Daemon, hello, until

from outboard import paths
from outboard.pool.tokens import Claims, Signer

pytestmark = pytest.mark.end_to_end

EPOCH = 5
OK = b"HTTP/1.1 200 OK\r\n"


class StubManager(threading.Thread):
    """Registers a daemon rightly, and answers its heartbeats with what `beat` returns."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.signer = Signer(None)
        self.rev, self.floor, self.epochs = 1, EPOCH, [EPOCH]
        self.beat: Callable[[], bytes] = self.right
        self.wrong = 0  # wrong answers so far
        self.asked = 0  # requests so far
        self.start()

    def state(self) -> dict[str, Any]:
        now_ms = int(time.time() * 1000)
        leases = [
            {"epoch": epoch, "end_ms": now_ms + 60_000, "memory_bytes": 1 << 20, "share": 1000}
            for epoch in self.epochs
        ]
        devices = [{"id": "n1/0", "floor": self.floor, "leases": leases}]
        return {"now_ms": now_ms, "rev": self.rev, "devices": devices}

    def right(self) -> bytes:
        time.sleep(0.02)
        return with_length({**self.state(), "drain": False})

    def token(self, epoch: int) -> str:
        now_s = int(time.time())
        limits = {"mem": 1 << 20, "shr": 1000, "ses": 64, "rgt": "calls"}
        claims = Claims(
            "p", "n1", "n1/0", "", "x", epoch, epoch, "x", **limits,
            iat=now_s, exp=now_s + 60, rev=self.rev,
        )  # fmt: skip
        return self.signer.sign(claims)

    def run(self) -> None:
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer: socket.socket) -> None:
        with peer, peer.makefile("rb") as stream:
            while line := stream.readline():
                length = 0
                while field := stream.readline().strip().lower():
                    if field.startswith(b"content-length:"):
                        length = int(field.partition(b":")[2])
                stream.read(length)
                self.asked += 1
                is_wrong = self.beat != self.right and line.startswith(b"POST")
                with contextlib.suppress(OSError):  # it stops reading
                    peer.sendall(self.answer(line.split()[0]))
                if is_wrong:
                    self.wrong += 1
                    return  # closes

    def answer(self, method: bytes) -> bytes:
        if method == b"PUT":
            keys = [
                {"kid": kid, "der": base64.b64encode(der).decode()}
                for kid, der in self.signer.public_keys().items()
            ]
            return with_length({**self.state(), "pool": "p", "keys": keys, "heartbeat_s": 2.0})
        return self.beat() if method == b"POST" else b"HTTP/1.1 204 \r\n\r\n"


def with_length(body: Any) -> bytes:
    raw = json.dumps(body).encode()
    return OK + b"content-length: %d\r\n\r\n" % len(raw) + raw


def wrong_answers(manager: StubManager) -> dict[str, Callable[[], bytes]]:
    many = [
        {"epoch": epoch, "end_ms": 1, "memory_bytes": 0, "share": 0} for epoch in range(2, 100_000)
    ]
    empty = {"now_ms": 1, "rev": 1 << 40, "drain": False}
    return {
        "cut in its body": lambda: manager.right()[:-20],
        "cut in its header": lambda: manager.right()[:30],
        "a longer length": lambda: manager.right().replace(b"length: ", b"length: 9"),
        "a shorter length": lambda: manager.right() + b"more",
        "an endless header": lambda: OK + b"x: y\r\n" * 100_000,
        "chunked": lambda: OK + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "no JSON": lambda: OK + b"content-length: 3\r\n\r\n<p>",
        "deep JSON": lambda: OK + b"content-length: 60000\r\n\r\n" + b"[" * 60_000,
        "other types": lambda: with_length({**empty, "devices": [{"id": 1, "floor": "x"}]}),
        "negative": lambda: with_length({**empty, "devices": [{"id": "n1/0", "floor": -1}]}),
        "many leases": lambda: with_length(
            {**empty, "devices": [{"id": "n1/0", "floor": 1, "leases": many}]}
        ),
        "a device twice": lambda: with_length(
            {**empty, "devices": [{"id": "n1/0", "floor": 1, "leases": []}] * 2}
        ),
        "a problem": lambda: b"HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n",
    }


@contextlib.contextmanager
def told_where_threads_are(manager: StubManager) -> Iterator[None]:
    """After a failure, stderr has what the manager's threads do, and how often it was asked."""
    before = manager.asked
    try:
        yield
    except AssertionError:
        print(f"asked {manager.asked - before} times meanwhile", file=sys.stderr, flush=True)
        faulthandler.dump_traceback(sys.__stderr__, all_threads=True)
        raise


def test_wrong_answers_are_no_word_of_the_manager(native: paths.Native) -> None:
    manager = StubManager()
    daemon = Daemon(native, "n1", "--pool", manager.url)
    until(lambda: hello(daemon.address, manager.token(EPOCH))[0] == 0, "it is registered")
    for name, wrong in wrong_answers(manager).items():
        manager.beat, manager.wrong = wrong, 0
        with told_where_threads_are(manager):
            until(lambda: manager.wrong > 0, f"it hears: {name}")
        manager.beat = manager.right
        assert hello(daemon.address, manager.token(EPOCH)) == (0, ""), name
    manager.rev, manager.epochs = 2, []
    token = manager.token(EPOCH)
    until(lambda: hello(daemon.address, token)[0] == FENCED, "it obeys")
    assert daemon.stop() == 0


def test_a_floor_never_falls(native: paths.Native) -> None:
    manager = StubManager()
    daemon = Daemon(native, "n1", "--pool", manager.url)
    until(lambda: hello(daemon.address, manager.token(EPOCH))[0] == 0, "it is registered")
    manager.rev, manager.floor, manager.epochs = 2, EPOCH - 2, [EPOCH - 2]
    until(lambda: hello(daemon.address, manager.token(EPOCH))[0] == FENCED, "the state is in force")
    assert hello(daemon.address, manager.token(EPOCH - 2))[0] == FENCED
    assert daemon.stop() == 0
