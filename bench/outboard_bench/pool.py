"""Measures the manager of a pool under load: the time of an acquire, with TLS, beside the disk's
own time for a durable write."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from outboard.errors import OutboardError
from outboard_bench import plot, rows
from outboard_bench.arguments import whole_numbers

_HOLDERS = 100
_RATE = 50.0  # acquires per second
_PAGES = 20
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
    from outboard_bench import pool_load  # it needs packages that no other benchmark needs

    holders = min(_HOLDERS, size.leases)
    _make_keys(folder, size.daemons, holders)
    devices = -(-size.leases // size.daemons) + 1
    with contextlib.ExitStack() as stack:
        process, url = stack.enter_context(manager(folder))
        loads = []
        half = -(-size.daemons // 2)
        for first in range(0, size.daemons, half):
            count = min(half, size.daemons - first)
            loads.append(stack.enter_context(_load("daemons", url, folder, first, count, devices)))
        each = size.leases // holders
        loads.append(stack.enter_context(_load("holders", url, folder, 0, holders, each)))
        before = _cpu_s(process.pid)
        begin = time.monotonic()
        # Before and during the first ones, the manager makes indices and answers 32 handshakes.
        first_s = min(2.0, size.seconds)
        taken = pool_load.run(pool_load.measure(url, folder / "h0", _RATE, size.seconds, first_s))
        used = (_cpu_s(process.pid) - before) / (time.monotonic() - begin)
        pages = pool_load.run(pool_load.pages(url, folder / "h0", _PAGES))
        synced = _sync_times(folder)
        memory = _memory_mib(process.pid)
        if any(load.poll() is not None for load in loads):
            raise OutboardError("a process of the benchmark has ended; see its message above")
    return _rows(taken, synced, pages, used, memory)


def _rows(
    taken: list[float], synced: list[float], pages: list[float], used: float, memory: float
) -> list[rows.Row]:
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
    found.append(rows.Row.of_runs("pool", "page", 0, [page * 1e3 for page in pages], "ms"))
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


@contextlib.contextmanager
def manager(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Runs a manager with the key `folder`/m1 for the block. Yields it and its URL."""
    words = [sys.executable, "-m", "outboard", "pool", "serve", "--listen", "127.0.0.1:0"]
    words += ["--key", str(folder / "m1"), "--state", str(folder / "state")]
    words += ["--log-level", "warning"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise OutboardError("the manager did not start; see its message above")
            yield process, line.split()[-1]
        finally:
            process.kill()


@contextlib.contextmanager
def _load(
    role: str, url: str, folder: Path, first: int, count: int, each: int
) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "outboard_bench.pool_load", role, url, str(folder)]
    words += [str(first), str(count), str(each)]
    path = os.pathsep.join(p for p in sys.path if p)
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise OutboardError(f"the simulated {role} did not start; see their message above")
            yield process
        finally:
            process.kill()


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
    if list(arguments) == ["--check"]:
        return Size(20, 40, 1)
    defaults = {"--daemons": 1000, "--leases": 10_000, "--seconds": 20}
    given = whole_numbers("pool", arguments, defaults)
    return Size(given["--daemons"], given["--leases"], given["--seconds"])
