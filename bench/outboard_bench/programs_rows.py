"""The rows of `outboard bench programs`, its tables, and its summary."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outboard_bench.programs_outcome import AUTO, KINDS, LIMITS, NATIVE, REMOTE, Outcome, Timed
from outboard_bench.rows import Row, console

_OUT = ", out"


def rows_of(outcome: Outcome) -> Iterator[Row]:
    """Yields the rows of a program at a place: "PROGRAM, PLACE, KIND" has the median time beside
    that of the faster one of native and remote. With ", out" after it, the row has the number of
    calls that went out, beside the number of all calls."""
    if not outcome.counts:
        return
    for kind in KINDS:
        timed = outcome.timed[kind]
        case = f"{outcome.program.name}, {outcome.place}, {kind}"
        beside = (outcome.best, outcome.winner, 1 / outcome.ratio(kind, outcome.winner))
        spread = (timed.low, timed.high, len(timed.seconds))
        yield Row("programs", case, timed.traffic_bytes, timed.median, "s", *beside, *spread)
        if timed.calls:
            out, calls = statistics.median(timed.out), statistics.median(timed.calls)
            share = out / calls if calls else 0.0
            least, most = min(timed.out), max(timed.out)
            all_calls = (calls, "calls", share)
            found = (*all_calls, least, most, len(timed.out))
            yield Row("programs", case + _OUT, timed.traffic_bytes, out, "calls", *found)


@dataclass(frozen=True)
class Case:
    """The parts of a row's case."""

    program: str
    place: str
    kind: str
    is_out: bool


def parts_of(case: str) -> Case:
    program, place, kind = case.removesuffix(_OUT).split(", ")
    return Case(program, place, kind, case.endswith(_OUT))


def print_table(title: str, outcomes: Sequence[Outcome]) -> None:
    """Prints all programs of a place."""
    from rich import box
    from rich.table import Table

    table = Table("program", title=title, box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    for kind in KINDS:
        table.add_column(f"{kind} s (least .. most)", justify="right", no_wrap=True)
    for heading in ("auto / native", "auto / better", "better", "calls out"):
        table.add_column(heading, justify="right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(outcome.program.name, *_cells(outcome))
    console().print(table)


def _cells(outcome: Outcome) -> Iterator[str]:
    if outcome.skipped:
        yield f"skipped: {outcome.skipped}"
        return
    if outcome.failed:
        yield "FAILED"
        return
    for kind in KINDS:
        yield _time(outcome.timed[kind])
    yield f"{outcome.ratio(AUTO, NATIVE):.3f} "
    yield f"{outcome.ratio(AUTO, outcome.winner):.3f}" + ("!" if outcome.above else " ")
    yield outcome.winner
    timed = outcome.timed[AUTO]
    if timed.calls:
        yield f"{statistics.median(timed.out):g} of {statistics.median(timed.calls):g}"


def _time(timed: Timed) -> str:
    if timed.too_long:
        return f"> {timed.high:.0f}"
    if len(timed.seconds) == 1:
        return f"{timed.median:.3f}"
    return f"{timed.median:.3f} ({timed.low:.3f} .. {timed.high:.3f})"


def summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yields a line for each place, for each failure, for all, and about noise."""
    places = list(dict.fromkeys(outcome.place for outcome in outcomes))
    for place in places:
        yield f"{place}: " + _within([o for o in outcomes if o.place == place])
    for outcome in outcomes:
        if outcome.failed:
            yield f"FAILED: {outcome.program.name}, {outcome.place}: {outcome.failed}"
    if len(places) > 1:
        yield "all: " + _within(outcomes)
    spreads = [
        (timed.high - timed.low) / timed.median
        for outcome in outcomes
        if outcome.counts and len((timed := outcome.timed[NATIVE]).seconds) > 1
    ]
    if spreads:
        yield (
            f"noise: the slowest native run takes {100 * statistics.median(spreads):.1f} % more "
            f"than the fastest in the median, {100 * max(spreads):.0f} % at most"
        )


def _within(outcomes: Sequence[Outcome]) -> str:
    counted = [outcome for outcome in outcomes if outcome.counts]
    left_out = [
        f"{number} {word}"
        for word, number in (
            ("skipped", sum(bool(outcome.skipped) for outcome in outcomes)),
            ("FAILED", sum(bool(outcome.failed) for outcome in outcomes)),
        )
        if number
    ]
    text = "nothing measured"
    if counted:
        within = sum(not outcome.above for outcome in counted)
        worst = max(counted, key=lambda o: o.ratio(AUTO, o.winner) / o.limit)
        wins = sum(outcome.winner == REMOTE for outcome in counted)
        text = (
            f"{within} of {len(counted)} within the limits ({LIMITS[NATIVE]:g} where native is "
            f"better, {LIMITS[REMOTE]:g} where remote is: {wins}); worst "
            f"{worst.ratio(AUTO, worst.winner):.2f} ({worst.program.name}, {worst.place}, "
            f"{worst.winner} is better)"
        )
    return "; ".join([text, *left_out])
