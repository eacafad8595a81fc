"""`outboard bench sial`: the runtime of SIAL beside plain MPI, gemm and disk, and its bars."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from outboard.errors import OutboardError
from outboard_bench import (
    machine,
    places,
    plot,
    rows,
    sial_bars,
    sial_contractions,
    sial_hosts,
    sial_interpreter,
    sial_memory,
    sial_prefetch,
    sial_transfers,
)
from outboard_bench.link import Link
from outboard_bench.native_program import CHECK_BURST
from outboard_bench.netns import ended_by_exception, require_root
from outboard_bench.sial_bars import Bar
from outboard_bench.sial_hosts import Hosts

Part = Callable[[Hosts, argparse.Namespace, Path], tuple[list[rows.Row], list[Bar]]]
# The parts whose ranks are on two hosts, and those whose ranks are on this one.
_OVER_LINK: Mapping[str, Part] = {
    "prefetch": sial_prefetch.measure,
    "transfers": sial_transfers.measure,
}
_HERE: Mapping[str, Part] = {
    "interpreter": sial_interpreter.measure,
    "contraction": sial_contractions.measure,
    "spill": sial_memory.measure_spill,
    "scale": sial_memory.measure_scale,
}
PARTS = (*_OVER_LINK, *_HERE)
_EPILOG = """
examples:
  outboard bench sial                                  all parts, with their bars
  outboard bench sial prefetch --depths 0,1,4,auto
  outboard bench sial prefetch --over size --runs 5
  outboard bench sial interpreter contraction spill    needs no root
"""


class Sial:
    """The runtime of SIAL: waiting for blocks, transfers, the interpreter, products, spilling,
    many ranks. Each part has bars: figures that must reach a part of a figure measured beside
    them."""

    name = "sial"
    summary = "SIAL's runtime beside plain MPI, gemm and disk; bars (its own options: -- --help)"

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        if options.check and (missing := sial_hosts.missing(options.mpi)):
            print(f"skipped: {missing}", file=sys.stderr)
            return rows.SKIPPED
        machine.say_if_busy()
        with (
            ended_by_exception(),
            tempfile.TemporaryDirectory(prefix="outboard-bench-") as name,
            rows.kept(json_file) as measured,
        ):
            bars: list[Bar] = []
            for part in options.parts:
                if part in _OVER_LINK and os.geteuid() != 0:
                    _without_root(part, options)
                    continue
                print(f"\n== {part}")
                with _hosts(part, options) as hosts:
                    function = {**_OVER_LINK, **_HERE}[part]
                    found, beside = function(hosts, options, Path(name))
                measured += [*found, *(bar.row for bar in beside)]
                if beside:
                    sial_bars.print_bars(beside)
                bars += beside
        if options.check and not measured:
            return rows.SKIPPED
        if options.check:
            _check(measured)
        missed = [bar.row.case for bar in bars if not bar.met]
        if bars:
            print(f"{len(bars) - len(missed)} of {len(bars)} bars met")
        return 0

    def draw(self, found: Sequence[Mapping[str, Any]], file: Path) -> None:
        """Draws the quantities of `prefetch` by what was varied."""
        series: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
        for row in found:
            match = _CASE.fullmatch(row["case"])
            if match is None:
                continue
            title = f"{match['mode']}, {match['what']}"
            line = "N" if match["over"] == "depth" else f"N={match['depth']}"
            series.setdefault(title, {}).setdefault(line, []).append({"x": match["x"], **row})
        if not series:
            raise OutboardError("there is nothing to plot in these rows; leave --plot out")
        figure, axes = plot.panels(len(series), columns=min(len(series), 3))
        for axis, (title, lines) in zip(axes, series.items(), strict=True):
            _draw(axis, title, lines)
        plot.save(figure, file)


_CASE = re.compile(
    r"prefetch (?P<mode>\w+), over (?P<over>\w+), (?P<x>\w+), N=(?P<depth>\w+), (?P<what>.+)"
)


def _draw(axis: Any, title: str, lines: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    for number, (label, points) in enumerate(lines.items()):
        xs = [point["x"] for point in points]
        axis.plot(xs, [point["value"] for point in points], marker="o", label=label)
        models = [point["ceiling"] for point in points]
        if all(value is not None for value in models):
            axis.plot(xs, models, "--", color=f"C{number}", label=f"{label}, model")
    axis.set_title(title, fontsize=10)
    axis.set_ylabel(points[0]["unit"])
    axis.tick_params(axis="x", labelsize=7)
    axis.legend(fontsize=7)


@contextlib.contextmanager
def _hosts(part: str, options: argparse.Namespace) -> Iterator[Hosts]:
    if part in _HERE:
        yield sial_hosts.here(options.mpi)
        return
    with Link(options.gbit, CHECK_BURST if options.check else None) as link:
        places.measured(link, check=options.check)
        with sial_hosts.over_link(link, options.mpi, eager=options.eager) as hosts:
            yield hosts


def _without_root(part: str, options: argparse.Namespace) -> None:
    if not options.check and options.asked:
        require_root()
    print(f"outboard: {part} is left out (emulated links need root)", file=sys.stderr)


def _check(measured: Sequence[rows.Row]) -> None:
    cases = [row.case for row in measured]
    if len(set(cases)) != len(cases):
        raise OutboardError("two rows have the same case")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="outboard bench sial",
        description=Sial.__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    add("--mpi", choices=sial_hosts.MPIS, default="mpich", help="the library (default: mpich)")
    add("--gbit", type=float, default=1.0, help="Gb/s of the link between the hosts")
    add("--eager", action="store_true", help="MPI sends without asking the receiver (rendezvous)")
    add("--runs", type=int, default=3, help="of each case, in turns")
    add("--over", choices=sial_prefetch.VARIABLES, default="depth", help="prefetch: what varies")
    add(
        "--depths",
        type=_words,
        default=("0", "1", "2", "3", "5", "8", "20", "auto"),
        help="prefetch: N",
    )
    add("--ranges", type=_numbers, default=(1, 2, 3, 4, 5, 6, 8, 10, 15, 20), help="prefetch: of j")
    add(
        "--extents", type=_numbers, default=(15, 20, 30, 40, 50, 60, 150, 300, 500), help="prefetch"
    )
    add("--extent", type=int, default=200, help="prefetch: of the square blocks")
    add("--blocks", type=int, default=100, help="prefetch: that the worker fetches")
    add("--full", action="store_true", help="scale: ten million blocks in place of one million")
    add("--check", action="store_true", help="tiny ones once, to see that all of it runs")
    options = parser.parse_args(arguments)
    options.asked = bool(options.parts)
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {sorted(unknown)[0]} (there are {', '.join(PARTS)})")
    options.parts = options.parts or PARTS
    if options.runs < 1 or options.blocks < 1 or options.extent < 1:
        parser.error("--runs, --blocks and --extent take 1 or more")
    if options.check:
        options.runs, options.blocks, options.extent = 1, 6, 20
        options.depths, options.ranges, options.extents = ("0", "2", "auto"), (2,), (10,)
    return options


def _words(text: str) -> tuple[str, ...]:
    words = tuple(text.split(","))
    if not all(word == "auto" or word.isdecimal() for word in words):
        raise argparse.ArgumentTypeError(f"'{text}' has no depths (write 0,1,4,auto)")
    return words


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(word) if word.isdecimal() else 0 for word in text.split(","))
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' has no numbers of 1 or more (write 1,2,4)")
    return numbers
