"""`outboard bench decide`: checks that mode auto takes the faster side, for routines, sizes, places
and devices."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import (
    decide_plot,
    decide_problems,
    decide_rows,
    decide_tune,
    fft,
    machine,
    native_program,
    places,
    rows,
)
from outboard_bench.arguments import positive
from outboard_bench.decide_measure import How, measure
from outboard_bench.decide_places import CPU, Server, Wanted, servers
from outboard_bench.decide_point import KINDS, LIMITS, Point
from outboard_bench.link import NOMINAL_GBIT
from outboard_bench.netns import ended_by_exception
from outboard_bench.problem import Problem

DEVICES = (CPU, "20GF", "200GF", "2TF")
_EXAMPLES = """\
examples:
  outboard bench decide --json decide.json --plot decide.svg     as root: 250 points, 10 minutes
  outboard bench decide --share 1 --links none                   all combinations, without links
  outboard bench decide --routines dgemm,c2c --sizes 500,1000 --shapes 65536 --devices 2TF --share 1
"""


class Decide:
    """Mode auto beside the faster one of local and forced remote, untuned and tuned. The client has
    one thread. Devices are this machine's cores, or compute nothing and take time by a given
    rate."""

    name = "decide"
    summary = "mode auto beside the better of local and remote, everywhere (its own: -- --help)"
    draw = staticmethod(decide_plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        native = paths.require_native()
        for program in decide_problems.PROGRAMS:
            native_program.require(native, program)
        seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
        print(f"seed {seed} (repeat with --seed {seed})", file=sys.stderr)
        machine.say_if_busy()
        with ended_by_exception(), tempfile.TemporaryDirectory(prefix="outboard-bench-") as name:
            how = How(
                native.daemon.parent,
                native.preload,
                Path(name),
                seed,
                options.rounds,
                options.seconds,
            )
            wanted = Wanted(native, Path(name), options.devices, options.links, options.check)
            points: list[Point] = []
            try:
                with servers(wanted) as all_of_them:
                    chosen = _chosen(options, all_of_them)
                    _measure_all(chosen, how, points, check=options.check)
            finally:  # keeps the rows so far if a later measurement fails
                written = [row for point in points for row in decide_rows.rows_of(point)]
                if json_file and written:
                    rows.write(written, json_file)
        for line in decide_rows.summary(points):
            print(line)
        if options.check:
            _check(written, points, len(options.links))
        return 0


Chosen = list[tuple[Server, Problem]]


def _chosen(options: argparse.Namespace, all_of_them: Sequence[Server]) -> Chosen:
    groups = decide_problems.of_check()
    if not options.check:
        given = (options.routines, options.sizes, options.shapes)
        groups = list(decide_problems.problems(*given))
    return [
        (at, problem)
        for at in all_of_them
        for problem in decide_problems.chosen(
            groups, at.place_index, at.device_index, options.share
        )
    ]


def _measure_all(chosen: Chosen, how: How, points: list[Point], *, check: bool) -> None:
    """Tunes for a place, then measures at each of its devices and prints a table."""
    start = time.monotonic()
    for _, of_place in groupby(chosen, key=lambda pair: pair[0].place_index):
        pairs = list(of_place)
        servers_here = list(dict.fromkeys(server for server, _ in pairs))
        decide_tune.tune(servers_here, how, check=check)
        for server, group in groupby(pairs, key=lambda pair: pair[0]):
            here = []
            for _, problem in group:
                here.append(measure(problem, server, how))
                points.append(here[-1])
            decide_rows.print_table(str(server), here)
            sys.stdout.flush()
            took = time.monotonic() - start
            print(f"{len(points)} of {len(chosen)} points, {took:.0f} s", file=sys.stderr)


def _check(written: Sequence[rows.Row], points: Sequence[Point], links: int) -> None:
    """Makes the checks of --check in addition to those of every run: right results, forced calls
    out."""
    # There are two devices, 2 places and the links, and every second of 4 problems. There is one
    # row for each kind, and one more for each kind that decides.
    expected = 2 * (2 + links) * 2 * (len(KINDS) + len(LIMITS))
    cases = {row.case for row in written}
    if len(cases) != expected or len(written) != expected:
        raise OutboardError(
            f"{len(written)} rows, {len(cases)} of them different (expected were {expected}); see "
            "the tables above"
        )
    if not all(row.value > 0 or row.unit == "%" for row in written):
        raise OutboardError("a time is not positive; see the tables above")
    worst = max(
        timed.distance / point.problem.error_bound
        for point in points
        for timed in point.timed.values()
    )
    print(
        f"checked: {len(points)} points, {expected} rows; results differ by at most {worst:.2g} of "
        "what is allowed"
    )


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Returns the options of a run. Raises OutboardError if links are asked for but not
    available."""
    parser = argparse.ArgumentParser(
        prog="outboard bench decide",
        description=Decide.__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    known = decide_problems.ROUTINES
    add = parser.add_argument
    add("--routines", type=_routines, default=known, help=f"of {','.join(known)}")
    add("--sizes", type=_numbers, default=(), help="edges of matrices (default: four a routine)")
    add("--shapes", type=fft.shapes_of, default=(), help="of transforms, e.g. 65536,512x512")
    add("--devices", type=_words, default=DEVICES, help="devices: cpu, or rates (%(default)s)")
    add("--share", type=int, default=4, metavar="N", help="one of N combinations (default: 4)")
    add("--rounds", type=int, default=25, help="measurements of each process, in turns (25)")
    add(
        "--seconds",
        type=positive,
        default=2.5,
        help="of a point: after so many its rounds end, if it had seven (2.5)",
    )
    places.add_links(parser)
    add("--seed", type=int, help="of the numbers that are worked on")
    add("--check", action="store_true", help="tiny ones once, and whether all is right")
    options = parser.parse_args(arguments)
    if min(options.rounds, options.share) < 1:
        parser.error("--rounds and --share take 1 or more")
    if options.check:
        options.rounds, options.share, options.devices = 1, 2, (CPU, "200GF")
    places.complete_links(options, NOMINAL_GBIT)
    return options


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _routines(text: str) -> tuple[str, ...]:
    words = _words(text)
    if not set(words) <= set(decide_problems.ROUTINES):
        known = ",".join(decide_problems.ROUTINES)
        raise argparse.ArgumentTypeError(f"'{text}' is not of {known}")
    return words


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(word) if word.isdecimal() else 0 for word in text.split(","))
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' has no sizes (write 100,2000)")
    return numbers
