"""`outboard bench sial contraction`: products of blocks in a program beside gemm of equal m, n, k,
with no, one, two and three operands that are permuted."""

from __future__ import annotations

import argparse
import os
import statistics
from pathlib import Path
from typing import Any

from outboard import paths
from outboard_bench import machine, native_program, rows, sial_runs
from outboard_bench.rows import Row
from outboard_bench.sial_bars import Bar
from outboard_bench.sial_hosts import Hosts
from outboard_bench.sial_runs import Job

_PLAIN_PROGRAM = "bench_sial_operations"
# Statements of contractions.sial, and their names in the rows of the program of operations.
_FORMS = {
    "d[": "plain",
    "d1[": "B1 permuted",
    "d2[": "B1, B2 permuted",
    "dp[": "all permuted",
}
_EXTENTS = (10, 14, 20, 32)  # of an index; the order of the product is the square
_LEAST = 0.9
_FLOPS_OF_A_RUN = 2e10


def measure(hosts: Hosts, options: argparse.Namespace, folder: Path) -> tuple[list[Row], list[Bar]]:
    del hosts  # a worker alone
    os.environ.update(machine.best_kernels(os.environ))  # of both sides
    extents = (3,) if options.check else _EXTENTS
    files = {extent: _job(extent, check=options.check).write(folder) for extent in extents}
    rates: dict[tuple[int, str], list[float]] = {}
    beside: dict[tuple[int, str], list[float]] = {}
    for _ in range(options.runs):
        plain = _operations(folder, check=options.check)
        for extent, file in files.items():
            order = extent**2
            report = sial_runs.run(None, file, 1, 1)
            for begins, form in _FORMS.items():
                line = report.last_line(begins)
                rate = 2e-9 * order**3 * line["executions"] / line["seconds"]
                rates.setdefault((order, form), []).append(rate)
                row = plain[f"contract {form} n={order}"]
                beside.setdefault((order, form), []).append(row["ceiling"])
    bars = []
    for (order, form), found in rates.items():
        case, size = f"contraction {form} n={order}", 8 * order**2
        ceiling = "gemm" if form == "plain" else "gemm + copies"
        best = statistics.median(beside[order, form])
        row = Row.of_runs("sial", case, size, found, "GFLOP/s", best, ceiling)
        bars.append(Bar(row, _LEAST))
    return [], bars


def _job(extent: int, *, check: bool) -> Job:
    count = 2 if check else max(3, int(_FLOPS_OF_A_RUN / (4 * 2 * extent**6)))
    return Job("contractions", {"count": min(count, 20_000)}, segments=[extent])


def _operations(folder: Path, *, check: bool) -> dict[str, Any]:
    """Returns the rows of the operations in a process of their own, without a program."""
    program = native_program.require(paths.require_native(), _PLAIN_PROGRAM)
    file = folder / "operations.json"
    words = [str(program), "--only", "contract", "--runs", "1", "--json", str(file)]
    sial_runs.finish([*words, *(["--check"] if check else [])])
    return {row["case"]: row for row in rows.check(rows.load(file))}
