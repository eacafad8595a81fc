"""Measures the time that the preloaded library adds to the start of a process that never calls
it."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from outboard import paths
from outboard.errors import OutboardError
from outboard.settings import without_library
from outboard_bench import plot, rows


class Startup:
    """`true`, started plainly and with the library preloaded, in turns."""

    name = "startup"
    summary = "time the preloaded library adds to a process that never calls it (--runs N, --check)"
    draw = staticmethod(plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        runs = _parse_runs(arguments)
        measured = measure(paths.require_native().preload, runs)
        rows.print_table(measured)
        if json_file:
            rows.write(measured, json_file)
        return 0


def measure(preload: Path, runs: int) -> list[rows.Row]:
    """Returns rows "preloaded" (beside plain) and "added" (beside the limit that the project
    sets)."""
    program = shutil.which("true")
    if program is None:
        raise OutboardError("`true` was not found (the benchmark starts it); check PATH")
    plain_environment = without_library(os.environ)
    preloaded_environment = {**plain_environment, "LD_PRELOAD": str(preload)}
    plain, preloaded = [], []
    for turn in range(runs + 2):
        a = _spawn_ms(program, plain_environment)
        b = _spawn_ms(program, preloaded_environment)
        if turn >= 2:  # the first two turns fill the page cache
            plain.append(a)
            preloaded.append(b)
    return [_preloaded_row(plain, preloaded), _added_row(plain, preloaded)]


ADDED_LIMIT_MS = 0.3  # the limit for the cost of a library that is never called: README.md


def _preloaded_row(plain: list[float], preloaded: list[float]) -> rows.Row:
    beside = statistics.median(plain)
    return rows.Row.of_runs("startup", "preloaded", 0, preloaded, "ms", beside, "plain")


def _added_row(plain: list[float], preloaded: list[float]) -> rows.Row:
    differences = [b - a for a, b in zip(plain, preloaded, strict=True)]
    value = statistics.median(differences)
    return rows.Row(
        bench="startup",
        case="added",
        bytes=0,
        value=value,
        unit="ms",
        ceiling=ADDED_LIMIT_MS,
        ceiling_name="limit",
        ratio=ADDED_LIMIT_MS / max(value, 1e-3),  # a clock reading below 1 us is noise
        min=min(differences),
        max=max(differences),
        runs=len(differences),
    )


def _spawn_ms(program: str, environment: Mapping[str, str]) -> float:
    start = time.perf_counter_ns()
    child = os.posix_spawn(program, [program], environment)
    _, status = os.waitpid(child, 0)
    elapsed = time.perf_counter_ns() - start
    if status != 0:
        raise OutboardError(f"{program} failed (wait status {status}); is the library intact?")
    return elapsed / 1e6


def _parse_runs(arguments: Sequence[str]) -> int:
    if not arguments:
        return 500
    if list(arguments) == ["--check"]:
        return 1
    if len(arguments) == 2 and arguments[0] == "--runs" and arguments[1].isdigit():
        return max(1, int(arguments[1]))
    raise click.UsageError(f"startup takes --runs N or --check (given: {' '.join(arguments)})")
