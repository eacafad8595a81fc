"""The start in ten minutes of docs/pool.md, as it stands there."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from free_ports import free_ports
from pool_daemon import until

from conftest import ROOT, clean_environment
from outboard import paths
from outboard.pool.client import PoolClient, UnreachableError

pytestmark = pytest.mark.end_to_end

SERVERS = 3  # the first commands, which get terminals of their own
PEOPLE_ONLY = ("outboard top", "xdg-open")  # they need a terminal, or a desktop


def commands(folder: Path) -> tuple[list[str], str]:
    """Returns the servers, and the script of the last terminal; with free ports, and files in this
    folder."""
    page = (ROOT / "docs" / "pool.md").read_text()
    section = page.partition("\n## A start in ten minutes\n")[2].partition("\nOver the network")[0]
    for port, free in zip(("7780", "7770", "7771"), free_ports(3), strict=True):
        assert f":{port}" in section
        section = section.replace(f":{port}", f":{free}")
    assert "/tmp/pool" in section
    lines = re.findall(r"^    (.+)$", section.replace("/tmp/pool", f"{folder}/pool"), re.MULTILINE)
    first = next(n for n, line in enumerate(lines) if line.startswith("outboard pool serve"))
    lines = lines[first:]  # before that stands how to install it
    script = [line for line in lines[SERVERS:] if not line.startswith(PEOPLE_ONLY)]
    assert len(lines[SERVERS:]) - len(script) == len(PEOPLE_ONLY)
    return lines[:SERVERS], "set -ex\n" + "\n".join(script)


@contextlib.contextmanager
def running(words: list[str], environment: dict[str, str], log: Path) -> Iterator[None]:
    """Runs servers until the end, in which each stops by Ctrl-C."""
    with log.open("w") as said:
        servers = [
            subprocess.Popen(line.split(), env=environment, stdout=said, stderr=said)
            for line in words
        ]
    try:
        yield
        for server in reversed(servers):
            server.send_signal(2)
            assert server.wait(60) == 0, log.read_text()
    finally:
        for server in servers:
            server.kill()
            server.wait()


def test_the_start_in_ten_minutes(tmp_path: Path, native: paths.Native) -> None:
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name, words in (("outboard", f"{sys.executable} -m outboard"), ("python3", sys.executable)):
        (binaries / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (binaries / name).chmod(0o755)
    environment = clean_environment(
        OUTBOARD_NATIVE_DIR=str(native.root), PYTHONPATH=str(ROOT / "python")
    )
    environment["PATH"] = f"{binaries}:{environment['PATH']}"
    servers, script = commands(tmp_path)
    with running(servers, environment, tmp_path / "log"):
        client = PoolClient(servers[1].split()[-1])

        def devices() -> int:
            try:
                rows = client.pages("/v1/devices", "devices")
            except UnreachableError:
                return 0
            return sum((row["health"], row["allocation"]) == ("ok", "free") for row in rows)

        until(lambda: devices() == 2, lambda: (tmp_path / "log").read_text())
        done = subprocess.run(
            ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stdout + done.stderr
        report = done.stdout + done.stderr
        assert re.search(r"^ *dgemm +1 +1 ", report, re.MULTILINE), report  # calls, and went out
        until(lambda: devices() == 2, "all devices are free again")
