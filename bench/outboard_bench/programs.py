"""`outboard bench programs`: whole programs in mode auto, beside their native and remote times."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import machine, programs_plot, programs_rows, rows
from outboard_bench.arguments import positive
from outboard_bench.netns import ended_by_exception
from outboard_bench.programs_list import OF_CHECK, PROGRAMS, Interpreters, Program
from outboard_bench.programs_measure import How, measure
from outboard_bench.programs_outcome import KINDS, Outcome
from outboard_bench.programs_places import (
    ALL,
    USUAL,
    Host,
    chosen,
    opened,
    without_links_unless_root,
)

_EXAMPLES = f"""\
programs: {", ".join(program.name for program in PROGRAMS)}
places: {", ".join(map(str, ALL))}

examples:
  outboard bench programs --json programs.json --plot programs.svg    as root: hours
  outboard bench programs --places none,own-shm --rounds 3
  outboard bench programs --programs 'fft_*,als' --places '10x-*' --rate 60
"""


class Programs:
    """Whole programs from their start to their end: native, with every call forced out, and in mode
    auto without a profile. Each run is a new process."""

    name = "programs"
    summary = "whole programs in mode auto beside native and remote (its own: -- --help)"
    draw = staticmethod(programs_plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        native = paths.require_native()
        seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
        print(f"seed of the order of runs {seed} (repeat with --seed {seed})", file=sys.stderr)
        machine.say_if_busy()
        interpreters = Interpreters(native, options.python)
        how = How(interpreters, options.rounds, seed, options.check)
        outcomes: list[Outcome] = []
        with ended_by_exception(), tempfile.TemporaryDirectory(prefix="outboard-bench-") as name:
            host = _host(options, native, Path(name))
            try:
                _measure_all(options, host, how, outcomes)
            finally:  # keeps the rows so far if a later measurement fails
                written = [row for found in outcomes for row in programs_rows.rows_of(found)]
                if json_file and written:
                    rows.write(written, json_file)
        for line in programs_rows.summary(outcomes):
            print(line)
        if options.check:
            return _check(written, outcomes)
        return 1 if any(outcome.failed for outcome in outcomes) else 0


def _host(options: argparse.Namespace, native: paths.Native, folder: Path) -> Host:
    """Returns the parts that all places share, with the strongest native baseline."""
    variables = machine.best_kernels(Host(native, folder).environment())
    if options.threads:
        threads = str(options.threads)
        variables |= {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
    for name, value in variables.items():
        print(f"all programs run with {name}={value}", file=sys.stderr)
    gflops = options.rate
    if gflops is None and not all(place.computes for place in options.places):
        gflops = machine.dgemm_gflops(Host(native, folder, variables).environment())
        print(f"native products: {gflops:.3g} GFLOP/s (repeat with --rate)", file=sys.stderr)
    return Host(native, folder, variables, gflops or 0.0, options.check)


def _measure_all(
    options: argparse.Namespace, host: Host, how: How, outcomes: list[Outcome]
) -> None:
    """Measures place after place, and prints the table of each."""
    start, count = time.monotonic(), len(options.places) * len(options.programs)
    for place in options.places:
        here = []
        with opened(place, host) as client:
            for program in options.programs:
                here.append(measure(program, client, how))
                outcomes.append(here[-1])
                took = time.monotonic() - start
                print(
                    f"{len(outcomes)} of {count}: {program.name}, {place}; {took:.0f} s",
                    file=sys.stderr,
                )
        programs_rows.print_table(f"{place} ({client.description})", here)
        sys.stdout.flush()


def _check(written: Sequence[rows.Row], outcomes: Sequence[Outcome]) -> int:
    """Makes the checks of --check: right results, calls out, rows. Returns the exit status."""
    failed = [outcome for outcome in outcomes if outcome.failed]
    if failed:
        raise OutboardError(f"{failed[0].program.name} failed ({failed[0].failed})")
    counted = [outcome for outcome in outcomes if outcome.counts]
    if not counted:
        print("nothing was measured, because no program can run here")
        return rows.SKIPPED
    expected = len(counted) * (2 * len(KINDS) - 1)  # native runs count no calls
    if len({row.case for row in written}) != expected or len(written) != expected:
        raise OutboardError(f"{len(written)} rows (expected were {expected}); see the table above")
    worst = max(outcome.distance / outcome.program.tolerance for outcome in counted)
    print(
        f"checked: {len(counted)} programs, {expected} rows; results differ by at most "
        f"{worst:.2g} of what is allowed"
    )
    return 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Returns the options of a run. Raises OutboardError if links are asked for but not
    available."""
    parser = argparse.ArgumentParser(
        prog="outboard bench programs",
        description=Programs.__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--programs", type=_programs, help="names or patterns (default: all)")
    add("--places", help=f"names or patterns (default: {USUAL})")
    add("--rounds", type=int, default=7, help="runs of each kind, in turns (7)")
    add("--rate", type=positive, metavar="GF", help="of native products (default: measured)")
    add("--threads", type=int, default=0, help="of programs' libraries (default: their own)")
    add("--python", default="", help="that runs programs in Python (default: Debian's, or ours)")
    add("--seed", type=int, help="of the order of the runs")
    add("--check", action="store_true", help="tiny ones once, and whether all is right")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.threads < 0:
        parser.error("--rounds takes 1 or more, --threads 0 or more")
    if options.check:
        options.rounds = 1
        options.programs = options.programs or _programs(",".join(OF_CHECK))
        options.places = options.places or "own-shm"
    options.programs = options.programs or PROGRAMS
    try:
        places = chosen(options.places or USUAL)
    except ValueError as error:
        parser.error(f"--places: {error}")
    options.places = without_links_unless_root(places, explicit=options.places is not None)
    return options


def _programs(text: str) -> list[Program]:
    patterns = text.split(",")
    for pattern in patterns:
        if not any(fnmatchcase(program.name, pattern) for program in PROGRAMS):
            raise argparse.ArgumentTypeError(f"'{pattern}' is no program (--help names them)")
    return [
        program
        for program in PROGRAMS
        if any(fnmatchcase(program.name, pattern) for pattern in patterns)
    ]
