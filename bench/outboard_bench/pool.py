"""Measures the manager of a pool under load: the time of an acquire, with TLS, beside the disk's
own time for a durable write."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import click

from outboard.errors import OutboardError
from outboard_bench import plot, rows

_HOLDERS = 100
_RATE = 50.0  # acquires per second
_TICKS = os.sysconf("SC_CLK_TCK")


class Size(NamedTuple):
    daemons: int
    leases: int
    seconds: float


class Pool:
    """The manager, simulated daemons and holders in processes of their own."""

    name = "pool"
    summary = (
        "acquires at the pool's manager under load (--daemons N, --leases N, --seconds N, --check)"
    )
    draw = staticmethod(plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        size = _parse(arguments)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        with tempfile.TemporaryDirectory(prefix="outboard-bench-pool-") as folder:
            measured = measure(Path(folder), size)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        rows.print_table(measured)
        if json_file:
            rows.write(measured, json_file)
        return 0


def measure(folder: Path, size: Size) -> list[rows.Row]:
    holders = min(_HOLDERS, size.leases)
    _make_keys(folder, size.daemons, holders)
    devices = -(-size.leases // size.daemons) + 1
    processes: list[subprocess.Popen[str]] = []
    try:
        manager, url = _manager(folder)
        processes.append(manager)
        half = -(-size.daemons // 2)
        for first in range(0, size.daemons, half):
            count = min(half, size.daemons - first)
            processes.append(_load("daemons", url, folder, first, count, devices))
        each = size.leases // holders
        processes.append(_load("holders", url, folder, 0, holders, each))
        before = _cpu_s(manager.pid)
        begin = time.monotonic()
        taken = asyncio.run(_acquires(url, folder / "h0", size.seconds))
        used = (_cpu_s(manager.pid) - before) / (time.monotonic() - begin)
        synced = _sync_times(folder)
        memory = _memory_mib(manager.pid)
        for process in processes:
            if process.poll() is not None:
                raise OutboardError("a process of the benchmark has ended; see its message above")
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()
    return _rows(taken, synced, used, memory)


async def _acquires(url: str, key: Path, seconds: float) -> list[float]:
    from outboard_bench import pool_load

    await pool_load.measure(url, key, _RATE, min(2.0, seconds))  # the first ones make indices
    return await pool_load.measure(url, key, _RATE, seconds)


def _rows(taken: list[float], synced: list[float], used: float, memory: float) -> list[rows.Row]:
    runs = len(taken)
    found = []
    for case, part in (("acquire p50", 0.5), ("acquire p99", 0.99)):
        value, ceiling = _quantile(taken, part) * 1e3, _quantile(synced, part) * 1e3
        name = f"fdatasync {case[-3:]}"
        found.append(
            rows.Row(
                "pool", case, 0, value, "ms", ceiling, name, ceiling / value,
                min(taken) * 1e3, max(taken) * 1e3, runs,
            )
        )  # fmt: skip
    found.append(
        rows.Row("pool", "manager's cores", 0, used, "", 1.0, "one", 1 / used, used, used, 1)
    )
    found.append(
        rows.Row("pool", "manager's memory", 0, memory, "MiB", None, None, None, memory, memory, 1)
    )
    return found


def _quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def _make_keys(folder: Path, daemons: int, holders: int) -> None:
    from outboard import keys  # it needs a package that no other benchmark needs

    root = keys.make_pool("bench", 2)
    names = [(keys.DAEMON, f"d{n}") for n in range(daemons)]
    names += [(keys.CLIENT, f"h{n}") for n in range(holders)] + [(keys.MANAGER, "m1")]
    for role, name in names:
        managed = role == keys.DAEMON
        keys.write(folder / name, role, keys.make_member(root, role, name, 2, managed=managed))
        keys.write_certificate(folder / name, keys.POOL, root.certificate)


def _manager(folder: Path) -> tuple[subprocess.Popen[str], str]:
    words = [sys.executable, "-m", "outboard", "pool", "serve", "--listen", "127.0.0.1:0"]
    words += ["--key", str(folder / "m1"), "--state", str(folder / "state")]
    words += ["--log-level", "warning"]
    manager = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert manager.stdout is not None
    line = manager.stdout.readline()
    if not line:
        raise OutboardError("the manager did not start; see its message above")
    return manager, line.split()[-1]


def _load(
    role: str, url: str, folder: Path, first: int, count: int, each: int
) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "outboard_bench.pool_load", role, url, str(folder)]
    words += [str(first), str(count), str(each)]
    path = os.pathsep.join(p for p in sys.path if p)
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        process.kill()
        raise OutboardError(f"the simulated {role} did not start; see their message above")
    return process


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS  # utime, stime: proc(5)


def _memory_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(x.split()[1]) for x in lines if x.startswith("VmRSS:")) / 1024


def _sync_times(folder: Path) -> list[float]:
    """Returns the seconds of durable writes of a page, beside the load."""
    taken = []
    descriptor = os.open(folder / "page", os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        for _ in range(300):
            begin = time.perf_counter()
            os.write(descriptor, bytes(4096))
            os.fdatasync(descriptor)
            taken.append(time.perf_counter() - begin)
            time.sleep(0.005)
    finally:
        os.close(descriptor)
    return taken


def _parse(arguments: Sequence[str]) -> Size:
    given: dict[str, Any] = {"--daemons": 1000, "--leases": 10_000, "--seconds": 20}
    if list(arguments) == ["--check"]:
        return Size(20, 40, 1)
    for name, value in zip_longest(arguments[::2], arguments[1::2], fillvalue=""):
        if name not in given or not value.isdigit() or int(value) < 1:
            raise click.UsageError(
                "pool takes --daemons N, --leases N, --seconds N or --check "
                f"(given: {' '.join(arguments)})"
            )
        given[name] = int(value)
    return Size(given["--daemons"], given["--leases"], float(given["--seconds"]))
