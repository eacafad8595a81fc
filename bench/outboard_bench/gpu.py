"""`outboard bench gpu`: unmodified programs on a GPU of this machine, through a daemon, beside the
processor and beside direct calls of NVIDIA's libraries."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from outboard import paths
from outboard.errors import OutboardError
from outboard.settings import Settings
from outboard_bench import gpu_measure, gpu_problems, gpu_table, native_program, places, plot, rows
from outboard_bench.fft_measure import How
from outboard_bench.fft_program import PROGRAM_NAME as TRANSFORMS
from outboard_bench.gpu_measure import Measured
from outboard_bench.gpu_problems import Problem
from outboard_bench.places import Wanted

CALLS = "blas_calls"


class Gpu:
    """Products, factorisations and transforms of unmodified programs on this machine's GPU."""

    name = "gpu"
    summary = "a GPU through a daemon, beside the processor and NVIDIA's libraries (-- --help)"

    def draw(self, rows: Sequence[Mapping[str, Any]], file: Path) -> None:
        """Draws bars: the part of the device's own speed that each problem reaches through shared
        memory."""
        shm = [row for row in rows if row["case"].endswith(", shm")]
        figure, (axis,) = plot.panels(1, 1)
        axis.barh([row["case"].removesuffix(", shm") for row in shm], [r["ratio"] for r in shm])
        axis.axvline(1, color="0.55", linestyle="--")
        axis.set_xlabel("of " + gpu_table.DIRECT)
        plot.save(figure, file)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        native = paths.require_native()
        device = gpu_measure.probe(native.daemon.parent)
        print(f"{device}; {len(os.sched_getaffinity(0))} cores", file=sys.stderr)
        seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
        print(f"seed {seed} (repeat with --seed {seed})", file=sys.stderr)
        measured: list[Measured] = []
        with tempfile.TemporaryDirectory(prefix="outboard-bench-") as name:
            calls = native_program.require(native, CALLS)
            how = How(calls, Path(name), "estimate", seed, options.rounds)
            # Operands are the same in each call, so none may stay on the device between calls.
            settings = Settings(mode="remote", resident="off")
            served = ["--backend", "cuda", *options.daemon_option]
            wanted = Wanted(
                native.preload, native.daemon, how.folder, (), options.check, served, settings
            )
            with places.setting(wanted) as setting:
                here = [place for place in setting.places if place.remote]
                here.insert(0, max(setting.places, key=lambda p: -1 if p.remote else p.threads))
                transforms = native_program.require(native, TRANSFORMS)
                try:
                    for problem in _problems(options):
                        print(f"measuring {problem}", file=sys.stderr)
                        measured.append(gpu_measure.measure(problem, here, how, transforms))
                finally:  # keeps the rows so far if a later measurement fails
                    _tell(measured, json_file)
        if options.check:
            worst = max(one.distance for one in measured)
            print(
                f"checked: {len(measured)} problems; results differ by at most {worst:.2g} of "
                "what is allowed"
            )
        return 0


def _tell(measured: Sequence[Measured], json_file: Path | None) -> None:
    if not measured:
        return
    gpu_table.print_table(measured)
    if json_file:
        rows.write([row for one in measured for row in gpu_table.rows_of(one)], json_file)


def _problems(options: argparse.Namespace) -> Sequence[Problem]:
    chosen = gpu_problems.QUICK if options.quick else gpu_problems.FULL
    if options.check:
        chosen = gpu_problems.CHECK
    chosen = tuple(problem for problem in chosen if options.only in str(problem))
    if not chosen:
        raise OutboardError(f"no problem has '{options.only}' in its name; leave --only out")
    return chosen


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Returns the options of a run."""
    parser = argparse.ArgumentParser(prog="outboard bench gpu", description=Gpu.__doc__)
    add = parser.add_argument
    add("--only", default="", help="problems with this in their names, e.g. sgesv or 16384")
    add("--rounds", type=int, default=5, help="calls that count, of each")
    add("--quick", action="store_true", help="smaller ones, a minute")
    add("--seed", type=int, help="of the numbers that are worked on")
    add("--check", action="store_true", help="tiny ones once, and whether all is right")
    add("--daemon-option", action="append", default=[], help="also given to outboardd")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds takes 1 or more")
    if options.check:
        options.rounds = 1
    return options
