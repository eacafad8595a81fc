"""Real daemons of a pool, and programs that compute on them while a test disturbs them."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from conftest import clean_environment
from outboard import counters, paths
from outboard.doctor import wire
from outboard.pool.client import PoolClient, client_tls

PATIENCE_S = 60.0  # far longer than anything takes; it ends a test that hangs
LEASE_VERSION = 8  # of the protocol, the first one with tokens
DENIED, UNAVAILABLE, BUSY, FENCED = 5, 10, 12, 16
CUT_OFF = -1
NO_SESSION = bytes(16)  # no session to join
_WELCOME, _REFUSED = 64, 65

# Multiplies matrices of small whole numbers, so that results are exact in any order of sums. The
# oracle is numpy's product of integers, which calls no library. Goes on until its input ends.
WORKER = """
import os, sys, numpy as np
rng = np.random.default_rng(int(sys.argv[1]))
print("ready", flush=True)
os.set_blocking(0, False)
done = 0
while sys.stdin.buffer.raw.read(1) != b"":
    whole = rng.integers(-8, 9, (2, 64, 64))
    a, b = whole.astype(float)
    c = np.full((64, 64), np.nan)
    np.matmul(a, b, out=c)
    if not (c == whole[0] @ whole[1]).all():
        sys.exit("a wrong product")
    done += 1
print(done)
"""


def until(
    happens: Callable[[], Any],
    what: str | Callable[[], str],
    patience_s: float = PATIENCE_S,
    pause_s: float = 0.02,
) -> Any:
    """Waits until `happens` returns something true, and returns that. `what`: for the failure; a
    function says how things are then. `pause_s`: between two looks."""
    end = time.monotonic() + patience_s
    while not (found := happens()):
        in_time = time.monotonic() < end
        assert in_time, f"in vain: {what if isinstance(what, str) else what()}"
        time.sleep(pause_s)
    return found


class Daemon:
    """`outboardd --pool`."""

    def __init__(
        self,
        native: paths.Native,
        name: str,
        *options: str,
        listen: str = "",
        wrap: Sequence[str] = (),
        log: Path | None = None,
    ) -> None:
        """`name`: empty for a daemon of no pool. `wrap`: the words before the command, which run it
        on another host. `log`: gets what it says, from debug on."""
        self.native, self.name, self.options, self.wrap = native, name, options, wrap
        self.log = log
        self.listen = listen or "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        words = [str(self.native.daemon), "--listen", self.listen, "--device-memory", "64M"]
        words += ["--name", self.name] if self.name and "--key" not in self.options else []
        words += ["--log-level", "debug"] if self.log else []
        errors = open(self.log, "ab") if self.log else None  # noqa: SIM115
        self.process = subprocess.Popen(
            [*self.wrap, *words, *self.options],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=clean_environment(),
        )
        if errors is not None:
            errors.close()
        atexit.register(self.process.kill)  # also after a test that fails
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]
        self.listen = self.address  # the same one after a restart

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def wait_until_free(
        self, client: PoolClient, device: int = 0, patience_s: float = PATIENCE_S
    ) -> None:
        """Waits until its device may be granted."""
        path = f"/v1/devices/{self.name}%2F{device}"

        def is_free() -> bool:
            rows = [
                row
                for row in client.pages("/v1/devices", "devices")
                if row["id"] == f"{self.name}/{device}"
            ]
            return bool(rows) and rows[0]["allocation"] == "free" and rows[0]["health"] == "ok"

        until(is_free, f"{path} is free", patience_s)


class Worker:
    """A program under the drop-in library, whose counters can be read while it runs."""

    def __init__(
        self,
        native: paths.Native,
        folder: Path,
        *,
        wrap: Sequence[str] = (),
        preloaded: bool = True,
        **variables: str,
    ) -> None:
        """`preloaded`: False if the words of `wrap` do that, and say which devices there are."""
        folder.mkdir()
        self.folder = folder
        self.errors = open(folder / "stderr", "w+")  # noqa: SIM115
        if preloaded:
            variables |= {"LD_PRELOAD": str(native.preload), "OUTBOARD_MODE": "remote"}
        environment = clean_environment(OUTBOARD_REPORT=f"dir:{folder}", **variables)
        seed = os.environ.get("OUTBOARD_TEST_SEED") or str(int.from_bytes(os.urandom(4), "little"))
        print(f"seed: OUTBOARD_TEST_SEED={seed}")
        self.process = subprocess.Popen(
            [*wrap, sys.executable, "-c", WORKER, seed],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env=environment,
        )  # fmt: skip
        atexit.register(self.process.kill)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def counted(self, name: str) -> int:
        """Returns a counter of all routines together, now."""
        assert self.process.poll() is None, self.said()
        processes, _ = counters.read_folder(self.folder)
        return sum(int(getattr(row, name)) for one in processes for row in one.routines)

    def expect_more(self, name: str, what: str, patience_s: float = PATIENCE_S) -> None:
        """Waits until the counter rises by some calls."""
        begin = self.counted(name)
        until(
            lambda: self.counted(name) >= begin + 5, f"{what}; it said: {self.said()}", patience_s
        )

    def expect_remote(self, patience_s: float = PATIENCE_S) -> None:
        self.expect_more("remote", "calls go out", patience_s)

    def expect_local(self) -> None:
        self.expect_more("local_calls", "calls run locally")

    def said(self) -> str:
        return (self.folder / "stderr").read_text()

    def finish(self) -> int:
        """Ends the program, which has found no wrong result. Returns the number of its calls."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        self.errors.close()
        assert self.process.returncode == 0, self.said()
        return int(out.split()[-1])


def connect(
    address: str,
    token: str,
    version: int = LEASE_VERSION,
    join: bytes = NO_SESSION,
    key: Path | None = None,
) -> socket.socket:
    """Presents a token of a lease, and that of a session to join, as the client of a key. The
    answer is the next that arrives."""
    host, _, port = address.rpartition(":")
    body = struct.pack(
        "<IHBB16sI", wire.MAGIC, version, sys.byteorder == "big", 0, join, 0xFFFFFFFF
    )
    for text in (b"a test", token.encode()):
        body += struct.pack("<I", len(text)) + text + bytes(-(len(body) + 4 + len(text)) % 8)
    body += struct.pack("<I4x", 0)
    peer = socket.create_connection((host, int(port)), PATIENCE_S)
    if key is not None:
        context = client_tls(key)
        context.check_hostname = False  # a daemon's certificate names no host
        context.set_alpn_protocols(["outboard"])
        peer = context.wrap_socket(peer)
    peer.sendall(wire.HEADER.pack(1, 0, len(body), 0, 0, 0) + body)
    return peer


def hello(address: str, token: str, version: int = LEASE_VERSION, **how: Any) -> tuple[int, str]:
    """Presents tokens as connect() does. Returns 0, or the code and the words of the refusal.

    The code is CUT_OFF where a lease took the device between the arrival and the answer.
    """
    with connect(address, token, version, **how) as peer, peer.makefile("rb") as stream:
        head = stream.read(wire.HEADER.size)
        if not head:
            return CUT_OFF, "closed without an answer"
        opcode, _, body_bytes, *_ = wire.HEADER.unpack(head)
        said = stream.read(body_bytes)
    if opcode == _WELCOME:
        return 0, ""
    assert opcode == _REFUSED
    (length,) = struct.unpack_from("<I", said, 4)
    return said[0], said[8 : 8 + length].decode()
