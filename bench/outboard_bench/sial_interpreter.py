"""`outboard bench sial interpreter`: what statements take beside the operations that they are for,
and a barrier beside that of MPI."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

from outboard_bench import sial_messages, sial_runs
from outboard_bench.rows import Row
from outboard_bench.sial_bars import Bar
from outboard_bench.sial_hosts import Hosts
from outboard_bench.sial_runs import Job

# Loops of statements.sial: iterations, statements in each, and the most [us] that one may take. The
# blocks have 2 x 2 elements, so that the operation takes next to nothing.
_LOOPS: Mapping[str, tuple[str, int, int, float]] = {
    "empty do iteration": ("empties", 20_000_000, 1, 0.05),
    "scalar statement": ("scalars", 1_000_000, 10, 0.1),
    "block statement, fill": ("fills", 1_000_000, 1, 1.0),
    "block statement, sum": ("sums", 1_000_000, 1, 1.0),
    "block statement, product": ("products", 1_000_000, 1, 1.0),
}
_EXTENT = 2
_LEAST_US = 1e-6  # a check is too short for a difference
_BARRIERS = 2000
_BARRIER_US = 50.0  # beside twice that of MPI


def measure(hosts: Hosts, options: argparse.Namespace, folder: Path) -> tuple[list[Row], list[Bar]]:
    bars = [_statement(what, options, folder) for what in _LOOPS]
    bars += [_barrier(hosts, workers, options, folder) for workers in (2, 4)]
    return [], bars


def _statement(what: str, options: argparse.Namespace, folder: Path) -> Bar:
    """Returns the time of a statement: that of a run with many, less that of one with none."""
    name, iterations, each, most_us = _LOOPS[what]
    iterations = 1000 if options.check else iterations
    files = []
    for count in (0, iterations):
        ints = {loop: 0 for loop, *_ in _LOOPS.values()} | {name: count}
        files.append(Job("statements", ints, segments=[_EXTENT]).write(folder))
    times = []
    for _ in range(options.runs):
        none, many = (_wall_s(file) for file in files)
        times.append(max(_LEAST_US, 1e6 * (many - none) / (iterations * each)))
    row = Row.of_runs("sial", f"interpreter {what}", 0, times, "us", most_us, "bar")
    return Bar(row, 1.0)


def _wall_s(file: Path) -> float:
    command = sial_runs.command_line(None, file, 1, 1)
    began = time.perf_counter()
    sial_runs.finish(command)
    return time.perf_counter() - began


def _barrier(hosts: Hosts, workers: int, options: argparse.Namespace, folder: Path) -> Bar:
    count = 20 if options.check else _BARRIERS
    file = Job("barriers", {"count": count}).write(folder)
    times = []
    for _ in range(options.runs):
        line = sial_runs.run(hosts, file, workers, 1).line("sip_barrier")
        times.append(1e6 * (line["seconds"] + line["wait_s"]) / workers / count)
    plain = sial_messages.measure(
        hosts, workers + 1, [8], 1, barriers=2 if options.check else 200, check=options.check
    )
    plain_us = 1e6 * plain["barrier", 0]
    case = f"interpreter barrier of {workers} workers (MPI_Barrier: {plain_us:.3g} us)"
    most = 2 * plain_us + _BARRIER_US
    row = Row.of_runs("sial", case, 0, times, "us", most, "2 x MPI_Barrier + 50 us")
    return Bar(row, 1.0)
