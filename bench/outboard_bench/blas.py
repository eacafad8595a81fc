"""`outboard bench blas`: an unmodified program makes a call of each level of the BLAS, locally and
remotely. Source: RCPU, section 4.2"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError
from outboard.settings import Settings
from outboard_bench import blas_problems, in_places, paper_plot, places
from outboard_bench.blas_problems import ROUTINES, Call

PROGRAM_NAME = "blas_calls"
# The drop-in library for programs does not export levels 1 and 2. This library for tests exports
# all.
TESTING_NAME = "liboutboard-preload-testing.so"


class Blas:
    """dgemm, dgemv and ddot of an unmodified program: local, shm, TCP, limited links."""

    name = "blas"
    summary = "dgemm, dgemv, ddot, local and remote, by size and link (its own: -- --help)"
    draw = staticmethod(paper_plot.draw_problems)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        # Operands are the same in each call, so none may stay on the device between calls.
        settings = Settings(mode="remote", resident="off")
        preload = _library(paths.require_native(), options.routines)
        return in_places.run(_calls(options), PROGRAM_NAME, options, json_file, settings, preload)


def _library(native: paths.Native, routines: Sequence[str]) -> Path:
    if set(routines) <= {"dgemm"}:
        return native.preload
    testing = native.preload.with_name(TESTING_NAME)
    if not testing.exists():
        raise OutboardError(
            f"{testing} is missing (only that library sends calls of levels 1 and 2 out); build "
            "with OUTBOARD_TESTS=ON, or choose --routines dgemm"
        )
    return testing


def _calls(options: argparse.Namespace) -> list[Call]:
    if options.check:
        return list(blas_problems.of_check(options.routines))
    most = {routine: getattr(options, f"max_{routine}") for routine in ROUTINES}
    chosen = list(blas_problems.calls(options.routines, most))
    if not chosen:
        raise OutboardError("no call is that small; give larger --max-dgemm, --max-dgemv, ...")
    return chosen


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Returns the options of a run. Raises OutboardError if links are asked for but not
    available."""
    parser = argparse.ArgumentParser(prog="outboard bench blas", description=Blas.__doc__)
    parser.add_argument("--routines", type=_routines, default=ROUTINES, help="of dgemm,dgemv,ddot")
    for routine in ROUTINES:
        largest = blas_problems.SIZES[routine][-1]
        parser.add_argument(f"--max-{routine}", type=int, default=largest, metavar="N")
    places.add_options(parser)
    options = parser.parse_args(arguments)
    places.complete(parser, options)
    return options


def _routines(text: str) -> tuple[str, ...]:
    words = tuple(text.split(","))
    if not set(words) <= set(ROUTINES):
        raise argparse.ArgumentTypeError(f"'{text}' is not of {','.join(ROUTINES)}")
    return words
