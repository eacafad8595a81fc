"""`outboardd --metrics`: what it tells, and clients that mean harm to it."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Outboard, clean_environment
from outboard import paths

pytestmark = pytest.mark.end_to_end
PATIENCE_S = 60.0


def patience(what: str) -> Iterator[None]:
    """Yields until the patience is over, and fails then."""
    limit = time.monotonic() + PATIENCE_S
    while time.monotonic() < limit:
        yield
        time.sleep(0.05)
    pytest.fail(f"waited {PATIENCE_S:.0f} s: {what}")


PRODUCT = "import numpy as n; a = n.ones((500, 500)); assert (a @ a == 500).all()"
RUBBISH = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    b"PUT /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
    b"PUT /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
    b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 5_000,
    b"\0" * 5_000,
    b"\r\n" * 5_000,
]


class Served:
    """A daemon with metrics on a free port."""

    def __init__(self, native: paths.Native, log: Path) -> None:
        words = [str(native.daemon), "--listen", "127.0.0.1:0", "--device-memory", "64M"]
        with open(log, "w") as errors:
            self.process = subprocess.Popen(
                [*words, "--metrics", "127.0.0.1:0"],
                stdout=subprocess.PIPE, stderr=errors, text=True, env=clean_environment(),
            )  # fmt: skip
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]
        for _ in patience("the daemon says where its metrics are"):
            if found := re.search(r"metrics at (http://\S+:(\d+)/metrics)", log.read_text()):
                break
            assert self.process.poll() is None
        assert found is not None
        self.url, self.port = found[1], int(found[2])

    def text(self) -> str:
        with urllib.request.urlopen(self.url, timeout=PATIENCE_S) as response:
            assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            return str(response.read().decode())

    def numbers(self) -> dict[str, float]:
        lines = [line for line in self.text().splitlines() if not line.startswith("#")]
        return {name: float(number) for name, number in (line.rsplit(" ", 1) for line in lines)}

    def connections(self) -> int:
        """Returns the number of accepted connections to the metrics that the daemon has open."""
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = "0A"
        ours = {
            f"socket:[{row[9]}]"
            for row in rows
            if int(row[1].rpartition(":")[2], 16) == self.port and row[3] != listening
        }
        links = []
        for one in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                links.append(os.readlink(one))
        return sum(link in ours for link in links)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)


@pytest.fixture
def served(native: paths.Native, tmp_path: Path) -> Iterator[Served]:
    made = Served(native, tmp_path / "log")
    yield made
    made.process.terminate()
    assert made.process.wait(PATIENCE_S) == 0


def compute(served: Served, outboard: Outboard, native: paths.Native) -> None:
    done = outboard(
        "run", "--server", served.address, "--mode", "remote", "--", sys.executable, "-c", PRODUCT,
        environment=clean_environment(OUTBOARD_NATIVE_DIR=str(native.root)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_it_tells_what_a_program_used(
    served: Served, outboard: Outboard, native: paths.Native
) -> None:
    before = served.numbers()
    assert before['outboard_daemon_computations_total{device="0"}'] == 0
    assert before['outboard_daemon_memory_limit_bytes{device="0"}'] == 64 << 20
    compute(served, outboard, native)
    after = served.numbers()
    assert after['outboard_daemon_computations_total{device="0"}'] == 1
    assert after['outboard_daemon_compute_seconds_total{device="0"}'] > 0
    assert after['outboard_daemon_commands_total{command="call"}'] == 1
    assert after['outboard_daemon_connections_total{transport="tcp"}'] >= 1
    result = 500 * 500 * 8
    # The client also measures the link.
    assert after['outboard_daemon_sent_bytes_total{transport="tcp"}'] >= result
    assert after['outboard_daemon_received_bytes_total{transport="tcp"}'] >= result


@pytest.mark.needs("promtool", package="prometheus")
def test_prometheus_takes_the_text(served: Served) -> None:
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=served.text(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "text",
    RUBBISH,
    ids=["path", "post", "long body", "chunks", "long path", "headers", "zeros", "empty lines"],
)
def test_rubbish_gets_no_metrics(served: Served, text: bytes) -> None:
    with served.connect() as peer:
        peer.sendall(text)
        said = b""
        try:
            while more := peer.recv(4096):
                said += more
        except ConnectionResetError:
            pass
    assert b"200 OK" not in said
    assert "outboard_daemon_sessions" in served.text()


def test_connections_are_bounded_in_number_and_time(
    served: Served, outboard: Outboard, native: paths.Native
) -> None:
    """Each sends a byte now and then, so that only the whole time ends it."""
    held = [served.connect() for _ in range(60)]
    most = 0
    for _ in patience("connections are accepted"):
        if most := served.connections():
            break
    compute(served, outboard, native)  # programs do not notice
    for _ in patience("connections end when their time is over"):
        if not held:
            break
        most = max(most, served.connections())
        for peer in list(held):
            try:
                peer.sendall(b"G")
            except OSError:
                held.remove(peer)
    assert most <= 32
    assert "outboard_daemon_sessions" in served.text()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--metrics", "0.0.0.0:0"], "other machines could read them"),
        (["--metrics", "unix:/tmp/x"], "write HOST:PORT"),
        (["--metrics", "127.0.0.1"], "127.0.0.1"),
        (["--metrics-open"], "--metrics-open needs --metrics"),
    ],
)
def test_addresses_that_are_refused(native: paths.Native, options: list[str], why: str) -> None:
    words = [str(native.daemon), "--listen", "127.0.0.1:0", "--device-memory", "16M"]
    done = subprocess.run(
        [*words, *options], capture_output=True, text=True, env=clean_environment(),
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert why in done.stderr
