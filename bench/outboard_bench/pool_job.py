"""Measures a job that takes its accelerator from a pool beside the same job with --server."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError
from outboard.report import Report
from outboard.settings import without_library
from outboard_bench import plot, rows, turns
from outboard_bench.arguments import whole_numbers
from outboard_bench.daemons import daemon
from outboard_bench.pool import manager

# The entry point of the installed command.
_START = "from outboard.start import main; main()"

# A chain, so that the daemon computes each product for itself.
_JOB = """
import sys, time
import numpy
a = numpy.random.default_rng(1).random((600, 600))
for _ in range(int(sys.argv[1])):
    a = a @ a
    a /= a.max()
"""


class PoolJob:
    """One program under `outboard run`, in turns: with --server, with --accelerators N, and with
    --wait and --require beside it, so that the program begins when it has its accelerators."""

    name = "pool_job"
    summary = (
        "a job under the pool beside --server (--products N, --runs N, --accelerators N, --check)"
    )
    draw = staticmethod(plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        products, runs, devices = _parse(arguments)
        with tempfile.TemporaryDirectory(prefix="outboard-bench-pool-") as folder:
            measured = measure(Path(folder), products, runs, devices)
        rows.print_table(measured)
        if json_file:
            rows.write(measured, json_file)
        return 0


def measure(folder: Path, products: int, runs: int, devices: int) -> list[rows.Row]:
    """Returns a row for each way, of `runs` turns after a first one that does not count, and rows
    of the differences within turns, which vary less than the times."""
    with _places(folder, devices) as options:
        taken: list[list[float]] = [[] for _ in options]
        for number in turns.in_turns(len(options), runs + 1):
            taken[number].append(_job_ms(folder, options[number], products))
    server, *pool = (times[1:] for times in taken)
    beside = statistics.median(server)
    found = [rows.Row.of_runs("pool_job", "with --server", 0, server, "ms")]
    longer = []
    for way, times in zip(("under the pool", "with --wait --require"), pool, strict=True):
        row = rows.Row.of_runs("pool_job", way, 0, times, "ms", beside, "with --server")
        found.append(row)
        more = [one - other for one, other in zip(times, server, strict=True)]
        longer.append(rows.Row.of_runs("pool_job", f"{way}: longer by", 0, more, "ms"))
    return found + longer


@contextlib.contextmanager
def _places(folder: Path, devices: int) -> Iterator[list[list[str]]]:
    """Runs a manager with a daemon of so many devices, and such a daemon without one, all with keys
    over TCP. Yields the options of `outboard run` for either."""
    from outboard import keys  # it needs a package that few benchmarks need

    root = keys.make_pool("bench", 2)
    for role, name, managed in (
        (keys.MANAGER, "m1", False),
        (keys.DAEMON, "d0", True),
        (keys.DAEMON, "plain", False),
        (keys.CLIENT, "ada", False),
    ):
        member = keys.make_member(root, role, name, 2, managed=managed)
        keys.write(folder / name, role, member)
        keys.write_certificate(folder / name, keys.POOL, root.certificate)
    program = paths.require_native().daemon
    key = ["--key", str(folder / "ada")]
    with contextlib.ExitStack() as stack:
        _, url = stack.enter_context(manager(folder))
        count = ["--devices", str(devices)]
        enforced = ["--key", str(folder / "d0"), "--pool", url, *count]
        stack.enter_context(daemon(program, ["127.0.0.1:0"], enforced))
        free = ["--key", str(folder / "plain"), *count]
        address = stack.enter_context(daemon(program, ["127.0.0.1:0"], free))[0]
        pool = [*key, "--pool", url, "--accelerators", str(devices)]
        yield [[*key, "--server", address], pool, [*pool, "--wait", "10s", "--require"]]


def _job_ms(folder: Path, options: Sequence[str], products: int) -> float:
    """Runs the job as the installed command does. Raises OutboardError if one of its products
    stayed on this machine's own library, as the figure would be of something else."""
    with tempfile.TemporaryDirectory(dir=folder) as counters:
        environment = {**without_library(os.environ), "OUTBOARD_REPORT": f"dir:{counters}"}
        words = [sys.executable, "-c", _START, "run", *options, "--mode", "remote"]
        words += ["--", sys.executable, "-c", _JOB, str(products)]
        begin = time.perf_counter()
        status = subprocess.run(words, env=environment, check=False).returncode
        taken = time.perf_counter() - begin
        if status != 0:
            raise OutboardError(f"the job ended with status {status}; see its message above")
        routines = Report.read(Path(counters)).to_json()["routines"]
    away = sum(routine["remote"] for routine in routines)
    if away != products:
        raise OutboardError(f"{away} of {products} products of the job went to the daemon")
    return taken * 1e3


def _parse(arguments: Sequence[str]) -> tuple[int, int, int]:
    if list(arguments) == ["--check"]:
        return 3, 1, 2
    defaults = {"--products": 1000, "--runs": 9, "--accelerators": 1}
    given = whole_numbers("pool_job", arguments, defaults)
    return given["--products"], given["--runs"], given["--accelerators"]
