"""Tests a daemon with a key beside 1,500 connections from one address that never say anything: an
authorised client is served at once, also one with the same address, and on a busy machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import resource
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import harness
from harness import Daemon, Suite, expect

STRANGERS = 1500
CLIENTS_OWN_ADDRESS = "127.0.0.1"
OTHER_ADDRESS = "127.0.0.2"
# The delay that a client may see, beside the time that the same program takes alone. A client whose
# handshake is lost also prints a line, which fails the test.
DELAY_S = 5.0


class Flood:
    """Keeps many silent connections to an address open. A connection that the daemon closes is
    replaced after a moment.
    """

    def __init__(self, address: str, source: str) -> None:
        host, port = address.rsplit(":", 1)
        self.source = source
        self.target = (host, int(port))
        self.selector = selectors.DefaultSelector()
        self.replaced = 0
        self.ending = threading.Event()
        for _ in range(STRANGERS):
            self._connect()
        self.thread = threading.Thread(target=self._hold)
        self.thread.start()

    def _connect(self) -> None:
        stranger = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        stranger.bind((self.source, 0))
        stranger.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            stranger.connect(self.target)
        self.selector.register(stranger, selectors.EVENT_READ)

    def _hold(self) -> None:
        while not self.ending.is_set():
            for key, _ in self.selector.select(0.05):
                stranger = key.fileobj
                assert isinstance(stranger, socket.socket)
                self.selector.unregister(stranger)
                stranger.close()
                self._connect()
                self.replaced += 1
            time.sleep(0.01)  # leaves the processor to the daemon and its client

    def __enter__(self) -> Flood:
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            stranger = key.fileobj
            assert isinstance(stranger, socket.socket)
            stranger.close()
        self.selector.close()


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """Keeps all cores busy."""
    endless = [sys.executable, "-c", "while True: pass"]
    with contextlib.ExitStack() as running:
        for _ in range(os.cpu_count() or 1):
            process = running.enter_context(subprocess.Popen(endless))
            running.callback(process.kill)
        yield


def threads_of(daemon: Daemon) -> int:
    return len(list(pathlib.Path(f"/proc/{daemon.process.pid}/task").iterdir()))


def silent_strangers(suite: Suite) -> None:
    good = str(suite.arguments.keys / "good")

    def seconds(daemon: Daemon) -> float:
        began = time.monotonic()
        command = [suite.bench.program("e2e_poison"), "1", "60"]
        extra = {"OUTBOARD_KEY": good}
        outcome = suite.bench.run(command, "remote", daemon.tcp, extra=extra)
        took = time.monotonic() - began
        outcome.expect_ok().expect_stderr_lines(0).expect_out({"dgemm": 1, "zpotrf": 1, "fftw*": 2})
        return took

    def check(source: str) -> None:
        with Daemon(suite.bench, ["--key", good]) as daemon:
            alone = seconds(daemon)
            with Flood(daemon.tcp, source) as flood:
                beside = [seconds(daemon) for _ in range(5)]
                threads = threads_of(daemon)
            print(
                f"alone {alone:.2f} s, beside the strangers {max(beside):.2f} s at most; "
                f"{threads} threads, {flood.replaced} connections replaced"
            )
            expect(max(beside) < alone + DELAY_S, f"a client waited: {beside} (alone {alone})")
            expect(threads < 100, f"{threads} threads, but strangers take none")
            lines = daemon.errors().count("\n")
            expect(lines < 100, f"{lines} lines in the log")

    def check_busy() -> None:
        with busy_cores():
            check(CLIENTS_OWN_ADDRESS)

    suite.check("a client beside silent connections", lambda: check(OTHER_ADDRESS))
    suite.check("a client with their address", lambda: check(CLIENTS_OWN_ADDRESS))
    suite.check("a client with their address on a busy machine", check_busy)


def allow_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = STRANGERS + 200
    if soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise harness.MissingError(f"{wanted} descriptors (ulimit -n)")
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main(suite: Suite) -> None:
    allow_descriptors()
    silent_strangers(suite)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keys", type=pathlib.Path, required=True)


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), main)
