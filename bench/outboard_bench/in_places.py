"""One run of a benchmark that measures problems in all places, shared by fft and blas."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError
from outboard.settings import Settings
from outboard_bench import fft_rows, native_program, places, rows
from outboard_bench.fft_measure import How, Result, measure
from outboard_bench.netns import ended_by_exception
from outboard_bench.places import Setting
from outboard_bench.problem import Problem

Measured = dict[Problem, list[Result]]


def run(
    problems: Sequence[Problem],
    program: str,
    options: argparse.Namespace,
    json_file: Path | None,
    settings: Settings,
    preload: Path | None = None,
) -> int:
    """Measures, prints and writes. With --check it makes more checks. Options:
    places.add_options()."""
    native = paths.require_native()
    compiled = native_program.require(native, program)
    with ended_by_exception(), tempfile.TemporaryDirectory(prefix="outboard-bench-") as name:
        seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
        print(f"seed {seed} (repeat with --seed {seed})", file=sys.stderr)
        planner = "measure" if getattr(options, "measure", False) else "estimate"
        correct = options.device_rate is None
        how = How(compiled, Path(name), planner, seed, options.rounds, correct=correct)
        wanted = places.wanted_by(options, native, Path(name), settings)
        if preload is not None:
            wanted = replace(wanted, preload=preload)
        with places.setting(wanted) as setting:
            measured: Measured = {}
            try:
                _measure_all(problems, setting, how, measured, whole=options.check)
            finally:  # keeps the rows of an hour if the last problem fails
                written = _rows(measured, setting)
                if json_file and written:
                    rows.write(written, json_file)
    if options.check:
        _check(written, measured, setting)
    return 0


def _measure_all(
    problems: Sequence[Problem], setting: Setting, how: How, measured: Measured, *, whole: bool
) -> None:
    """Prints a table after every group of problems, or one table for all."""
    for _, group in groupby(problems, key=lambda p: () if whole else p.group):
        table = {}
        for problem in group:
            table[problem] = measured[problem] = measure(problem, setting.places, how)
        fft_rows.print_table(table, setting.speeds)
        sys.stdout.flush()


def _rows(measured: Mapping[Problem, list[Result]], setting: Setting) -> list[rows.Row]:
    return [
        row
        for problem, results in measured.items()
        for row in fft_rows.rows_of(problem, results, setting.speeds)
    ]


def _check(written: Sequence[rows.Row], measured: Measured, setting: Setting) -> None:
    """Makes the checks of --check in addition to those of every run: right results, calls out,
    bytes."""
    # Each problem and place has the median and the first call, and 5 stages of each if remote.
    # These problems are too small for a link's limit, so none has a row for its transfer.
    remote = sum(place.remote for place in setting.places)
    expected = len(measured) * (2 * len(setting.places) + 10 * remote)
    cases = {row.case for row in written}
    values_are_good = all(
        row.value > 0 or (row.value == 0 and " stage " in row.case) for row in written
    )
    if len(cases) != expected or len(written) != expected or not values_are_good:
        raise OutboardError(
            f"{len(written)} rows, {len(cases)} of them different (expected were {expected}), or "
            "a time that is not positive; see the table above"
        )
    worst = max(r.distance / p.error_bound for p, all_ in measured.items() for r in all_)
    print(
        f"checked: {len(measured)} problems in {len(setting.places)} places, {expected} rows; "
        f"results differ by at most {worst:.2g} of what is allowed"
    )
