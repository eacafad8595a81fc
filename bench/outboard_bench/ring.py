"""`outboard bench ring`: the gain of factorizations from panels that go from daemon to daemon."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from outboard.errors import OutboardError
from outboard_bench import plot, rows
from outboard_bench.netns import ended_by_exception, may_emulate, require_root
from outboard_bench.ring_measure import KINDS, Factorization, Machine, Way, measure, running

# Links of 1 and 10 Gb/s, with devices for which the rates of both links and devices matter.
_MACHINES = (Machine(1, 50, 4096), Machine(10, 500, 4096))
_CASE = re.compile(
    r"(?P<what>.*) g=(?P<devices>\d+) (?P<way>alone|relay|ring|auto( \(.*\))?)"  # no relay / ring
)
_STYLES = {"relay": "C1", "ring": "C0", "auto": "0.2"}


class Ring:
    """dpotrf and dgeqrf of an unmodified program over daemons on hosts with a link each: panels
    through the client (relay), from daemon to daemon (ring), and as the library chooses (auto)."""

    name = "ring"
    summary = (
        "factorizations by ring and by relay over emulated links, as root (its own: -- --help)"
    )

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        if options.check and not may_emulate():
            return rows.SKIPPED
        require_root()
        with (
            ended_by_exception(),
            tempfile.TemporaryDirectory(prefix="outboard-bench-") as name,
            rows.kept(json_file) as measured,
            contextlib.nullcontext() if options.check else first_in_line(),
        ):
            for machine in options.machines:
                _measure_all(machine, Path(name), options, measured)
        return 0

    def draw(self, found: Sequence[Mapping[str, Any]], file: Path) -> None:
        """Draws ms by number of devices, with one panel per routine and machine."""
        parts = [(match, row) for row in found if (match := _CASE.fullmatch(row["case"]))]
        cases = [(what, list(group)) for what, group in groupby(parts, lambda one: one[0]["what"])]
        if not cases:
            raise OutboardError("there is nothing to plot in these rows; leave --plot out")
        figure, axes = plot.panels(len(cases), columns=min(len(cases), 2))
        for axis, (what, group) in zip(axes, cases, strict=True):
            axis.set_title(what, fontsize=10)
            for way in ("relay", "ring", "auto"):
                _draw_way(
                    axis,
                    way,
                    [(m, r) for m, r in group if m["way"].split(" ")[0] in (way, "alone")],
                )
            axis.set_xlabel("devices")
            axis.set_xticks(sorted({int(match["devices"]) for match, _ in group}))
            axis.set_ylabel("ms")
            axis.set_ylim(bottom=0)
            axis.legend(fontsize=8)
        plot.save(figure, file)


def _draw_way(
    axis: Any, way: str, group: Sequence[tuple[re.Match[str], Mapping[str, Any]]]
) -> None:
    counts = [int(match["devices"]) for match, _ in group]
    style = {"color": _STYLES[way]}
    if way == "auto":
        axis.plot(counts, [row["value"] for _, row in group], "x", label=way, **style)
        return
    axis.plot(counts, [row["value"] for _, row in group], marker="o", label=way, **style)
    ends = [[row[end] for _, row in group] for end in ("min", "max")]
    axis.fill_between(counts, *ends, alpha=0.2, **style)
    predicted = [row["ceiling"] for _, row in group]
    axis.plot(counts, predicted, linestyle="--", label=f"{way}, step model", **style)


@contextlib.contextmanager
def first_in_line() -> Iterator[None]:
    """Lets the threads of this process and of its children wake up before those of other programs.
    These threads mostly wait for devices and links."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def _measure_all(
    machine: Machine, folder: Path, options: argparse.Namespace, measured: list[rows.Row]
) -> None:
    """Prints a table after every number of devices."""
    with running(machine, max(options.devices), folder, check=options.check) as here:
        for routine in options.routines:
            for devices in options.devices:
                problem = Factorization(machine, routine, devices)
                fresh = rows_of(problem, measure(problem, here, options.runs))
                rows.show(fresh)
                measured += fresh


def rows_of(problem: Factorization, ways: Sequence[Way]) -> list[rows.Row]:
    """Returns the rows of the routes beside the step model, of the gain of the ring, and of the
    choice beside the better route."""
    by_name = {way.name: way for way in ways}
    if "alone" in by_name:
        alone = by_name["alone"]
        return [_row(problem, "alone", alone.ms, alone.predicted_ms, "step model")]
    relay, ring, auto = (by_name[name] for name in ("relay", "ring", "auto"))
    found = [
        _row(problem, way.name, way.ms, way.predicted_ms, "step model") for way in (relay, ring)
    ]
    better = min(relay, ring, key=lambda way: way.median)
    took = f"auto ({auto.taken}" + (f" of {auto.devices})" if auto.devices > 1 else ")")
    found.append(_row(problem, took, auto.ms, better.median, better.name))
    # the gain of each turn
    gains = [one / other for one, other in zip(relay.ms, ring.ms, strict=True)]
    assert relay.predicted_ms is not None and ring.predicted_ms is not None
    predicted = relay.predicted_ms / ring.predicted_ms
    found.append(_row(problem, "relay / ring", gains, predicted, "step model", "times"))
    return found


def _row(
    problem: Factorization,
    name: str,
    values: Sequence[float],
    beside: float | None,
    beside_name: str,
    unit: str = "ms",
) -> rows.Row:
    case = f"{problem} {name}"
    return rows.Row.of_runs("ring", case, problem.bytes_to, values, unit, beside, beside_name)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="outboard bench ring", description=Ring.__doc__)
    add = parser.add_argument
    add("--routines", type=_routines, default=tuple(KINDS), help=f"of {','.join(KINDS)}")
    add("--machine", type=_machine, action="append", dest="machines", help="Gb/s:GFLOP/s:order")
    add("--devices", type=_counts, default=(1, 2, 3, 4), help="how many, a host each")
    add("--runs", type=int, default=7, help="of each, in turns")
    add("--check", action="store_true", help="a small one, once, to see that it runs")
    options = parser.parse_args(arguments)
    options.machines = options.machines or list(_MACHINES)
    if options.runs < 1:
        parser.error("--runs takes 1 or more")
    if options.check:
        options.machines, options.devices, options.runs = [Machine(1, 50, 300)], (1, 2), 1
    return options


def _routines(text: str) -> tuple[str, ...]:
    words = tuple(text.split(","))
    if not set(words) <= set(KINDS):
        raise argparse.ArgumentTypeError(f"'{text}' is not of {','.join(KINDS)}")
    return words


def _machine(text: str) -> Machine:
    try:
        gbit, gflops, order = text.split(":")
        machine = Machine(float(gbit), float(gflops), int(order))
    except ValueError:
        machine = Machine(0, 0, 0)
    if not (0.001 <= machine.gbit_per_s <= 400 and machine.gflops > 0 and machine.order > 0):
        raise argparse.ArgumentTypeError(f"'{text}' is not Gb/s:GFLOP/s:order")
    return machine


def _counts(text: str) -> tuple[int, ...]:
    counts = tuple(int(word) if word.isdecimal() else 0 for word in text.split(","))
    if not all(1 <= count <= 64 for count in counts):
        raise argparse.ArgumentTypeError(f"'{text}' has no numbers of devices (write 1,2,4)")
    return counts
