"""`outboard bench mp2c`: molecular dynamics in a particle fluid, with its collisions on a local
device and on one behind a daemon. Source: DAC, section V.C"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from outboard.errors import OutboardError
from outboard_bench import places, plot, rows
from outboard_bench.mp2c_run import PLACEMENTS, Outcome, Place, Problem, program, run, running
from outboard_bench.netns import ended_by_exception
from outboard_bench.turns import in_turns

# Boxes of the paper: 80, 90 and 100 cells along each edge, with 10 particles per cell.
_EDGES = (32,)
_CASE = re.compile(r"(?P<what>.*), (?P<place>local( again)?|shm|tcp|link [\d.]+ Gb/s)")
_PAPER = 4.0  # "prolongs execution by at most 4%"


class Mp2c:
    """A collision and the steps before it, in a process alone and with a daemon: over shared
    memory, loopback TCP and emulated links."""

    name = "mp2c"
    summary = "molecular dynamics in a particle fluid, local and by daemons (its own: -- --help)"

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        program()
        with (
            ended_by_exception(),
            tempfile.TemporaryDirectory(prefix="outboard-bench-") as name,
            running(options.links, Path(name), check=options.check, tcp=options.tcp) as found,
            rows.kept(json_file) as measured,
        ):
            for problem in options.problems:
                fresh = rows_of(problem, found, measure(problem, found, options.runs))
                rows.show(fresh)
                measured += fresh
        return 0

    def draw(self, found: Sequence[Mapping[str, Any]], file: Path) -> None:
        """Draws the time beyond that of a local run, with one panel per problem."""
        parts = [(match, row) for row in found if (match := _CASE.fullmatch(row["case"]))]
        cases = [(what, list(group)) for what, group in groupby(parts, lambda one: one[0]["what"])]
        if not cases:
            raise OutboardError("there is nothing to plot in these rows; leave --plot out")
        figure, axes = plot.panels(len(cases), columns=min(len(cases), 2))
        for axis, (what, group) in zip(axes, cases, strict=True):
            _draw_case(axis, what, [(match["place"], row) for match, row in group])
        plot.save(figure, file)


def _draw_case(axis: Any, what: str, group: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    local = group[0][1]["value"]
    others = group[1:]
    names = [name.removeprefix("link ") for name, _ in others]
    beyond = [100 * (row["value"] / local - 1) for _, row in others]
    axis.set_title(what, fontsize=10)
    axis.bar(names, beyond, color=["0.7", *["C0"] * (len(others) - 1)])
    for at, (name, row) in enumerate(others):
        if name.startswith("link"):
            model = 100 * (row["ceiling"] / local - 1)
            axis.plot([at - 0.4, at + 0.4], [model, model], color="0.2", label="model")
    axis.axhline(_PAPER, color="C1", linestyle="--", label="DAC: at most")
    for at, value in enumerate(beyond):
        axis.annotate(f"{value:+.1f}", (at, max(value, 0)), ha="center", va="bottom", fontsize=8)
    axis.set_ylabel("% beyond local")
    handles = dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    axis.legend(handles.values(), handles.keys(), fontsize=8)


def measure(problem: Problem, found: Sequence[Place], runs: int) -> list[list[Outcome]]:
    """Runs the program in all places in turns. Raises OutboardError if results differ."""
    outcomes: list[list[Outcome]] = [[] for _ in found]
    for at in in_turns(len(found), runs):
        outcomes[at].append(run(problem, found[at]))
    digests = {outcome.digest for of_place in outcomes for outcome in of_place}
    if len(digests) != 1:
        raise OutboardError(f"{problem}: places or runs differ in their results ({digests})")
    return outcomes


def rows_of(
    problem: Problem, found: Sequence[Place], outcomes: Sequence[Sequence[Outcome]]
) -> list[rows.Row]:
    """Returns a row for each place: the local one alone, its repetition and daemons of this host
    beside it, and links beside the model."""
    local = outcomes[0]
    median = statistics.median(one.ms for one in local)
    made = [_row(problem, found[0], local, None, None)]
    for place, of_place in zip(found[1:], outcomes[1:], strict=True):
        if place.speed is None:
            made.append(_row(problem, place, of_place, median, "local"))
        else:
            made.append(_row(problem, place, of_place, model_ms(problem, place, local), "model"))
    return made


def model_ms(problem: Problem, place: Place, local: Sequence[Outcome]) -> float:
    """Returns the time over a link: that of a local run, and of the bytes where nothing overlaps
    with them.

    Travelling particles go in slabs. While the link carries one up and one down, the device
    collides another. So the longest of the three counts, and the transfer of one slab that has
    nothing to overlap with. Else the host and the device wait for all bytes.
    """
    assert place.speed is not None
    ms = statistics.median(one.ms for one in local)
    to, back = local[0].bytes_to, local[0].bytes_from
    if problem.placement == "resident":
        return ms + place.speed.transfer_ms(to, back)
    device = statistics.median(one.device_ms for one in local)
    up, down = place.speed.transfer_ms(to, 0), place.speed.transfer_ms(0, back)
    one_slab = min(up, down) / problem.slabs
    return ms - device + max(device, max(up, down) + one_slab)


def _row(
    problem: Problem,
    place: Place,
    outcomes: Sequence[Outcome],
    beside: float | None,
    beside_name: str | None,
) -> rows.Row:
    return rows.Row.of_runs(
        "mp2c",
        f"{problem}, {place.name}",
        outcomes[0].bytes_to,
        [one.ms for one in outcomes],
        "ms",
        beside,
        beside_name,
    )


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="outboard bench mp2c", description=Mp2c.__doc__)
    add = parser.add_argument
    add(
        "--edges",
        type=_numbers,
        default=_EDGES,
        help="cells along the edges of boxes; 80,90,100 are the paper's (5.12, 7.29 and 10 million "
        "particles; 100 takes 4 GB)",
    )
    add("--placements", type=_placements, default=PLACEMENTS, help=f"of {','.join(PLACEMENTS)}")
    add("--collisions", type=int, default=20, help="of each run, 5 steps each")
    add("--slabs", type=int, default=8, help="in which particles travel")
    add("--ranks", type=int, default=1, help="of each run, all with the same device")
    add("--runs", type=int, default=9, help="of each place, in turns")
    add("--no-tcp", dest="tcp", action="store_false", help="leave out loopback TCP")
    places.add_links(parser)
    add("--check", action="store_true", help="a small one, once, to see that it runs")
    options = parser.parse_args(arguments)
    for name in ("collisions", "ranks", "runs", "slabs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} takes 1 or more")
    if options.check:
        options.edges, options.collisions, options.runs = (12,), 4, 1
    places.complete_links(options, (1.0, 10.0, 25.0))
    options.problems = [
        Problem(placement, edge, options.collisions, options.ranks, options.slabs)
        for edge in options.edges
        for placement in options.placements
    ]
    return options


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(word) if word.isdecimal() else 0 for word in text.split(","))
    if not all(12 <= number <= 500 for number in numbers):
        raise argparse.ArgumentTypeError(f"'{text}' has no edges of 12 to 500 (write 32,80)")
    return numbers


def _placements(text: str) -> tuple[str, ...]:
    words = tuple(text.split(","))
    if not set(words) <= set(PLACEMENTS):
        raise argparse.ArgumentTypeError(f"'{text}' is not of {','.join(PLACEMENTS)}")
    return words
