"""The rows of `outboard bench decide`, its table, and its summary."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from outboard_bench.decide_point import KINDS, LIMITS, REMOTE, Point
from outboard_bench.rows import Row, console

_MS = 1e-6
_OUT = ", out"
_LISTED = 20


def rows_of(point: Point) -> Iterator[Row]:
    """Yields the rows of a point. `case` is "PROBLEM, PLACE, DEVICE, KIND": the median of the
    rounds' medians, beside that of the faster one of local and remote. With ", out" after it, the
    row holds the part of the calls that went out."""
    for kind in KINDS:
        timed = point.timed[kind]
        # the ratio of auto is computed by rounds; in some of them the losing side may be missing
        ratio = 1 / point.ratio(kind) if kind in LIMITS else point.best / timed.median
        case = f"{point.problem}, {point.place}, {point.device}, {kind}"
        size = point.problem.bytes_to + point.problem.bytes_from
        value, best = timed.median * _MS, point.best * _MS
        low, high = min(timed.ns) * _MS, max(timed.ns) * _MS
        beside = (best, point.winner, ratio)
        yield Row("decide", case, size, value, "ms", *beside, low, high, len(timed.ns))
        if kind in LIMITS:
            out = 100 * timed.out
            nothing = (None, None, None)
            yield Row("decide", case + _OUT, size, out, "%", *nothing, out, out, len(timed.ns))


def print_table(title: str, points: Sequence[Point]) -> None:
    """Prints all points of a server."""
    from rich import box
    from rich.table import Table

    table = Table("problem", title=title, box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    for heading in ("local ms", "again", "remote ms", "wins"):
        table.add_column(heading, justify="right", no_wrap=True)
    for kind in LIMITS:
        for heading in (f"{kind} ms", "ratio", "out %"):
            table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for point in points:
        table.add_row(str(point.problem), *_cells(point))
    console().print(table)


def _cells(point: Point) -> Iterator[str]:
    yield f"{point.local * _MS:.4g}"
    yield f"{point.noise:.2f}"
    yield _ms(point, REMOTE)
    yield point.winner
    for kind in LIMITS:
        yield _ms(point, kind)
        yield f"{point.ratio(kind):.3f}" + ("!" if point.above(kind) else " ")
        yield f"{100 * point.timed[kind].out:.0f}"
    yield "measured twice" if point.repeated else ""


def _ms(point: Point, kind: str) -> str:
    return f"{point.timed[kind].median * _MS:.4g}"


def summary(points: Sequence[Point]) -> Iterator[str]:
    """Yields the lines of a summary of all points."""
    wins = sum(point.winner == REMOTE for point in points)
    yield f"{len(points)} points; remote wins at {wins} ({100 * wins / len(points):.0f} %)"
    for kind, limit in LIMITS.items():
        yield from _of_kind(points, kind, limit)
    off = sorted(abs(point.noise - 1) for point in points)
    tenth = off[min(len(off) - 1, 9 * len(off) // 10)]
    yield (
        f"noise (a second local process, by the first): off by {100 * statistics.median(off):.1f} "
        f"% in the median, by more than {100 * tenth:.1f} % at every tenth point, by "
        f"{100 * off[-1]:.1f} % at most; it takes more than 1.05 of the first's time at "
        f"{sum(point.noise > 1.05 for point in points)} points"
    )


def _of_kind(points: Sequence[Point], kind: str, limit: float) -> Iterator[str]:
    worst = max(points, key=lambda point: point.ratio(kind))
    above = sorted((p for p in points if p.above(kind)), key=lambda p: -p.ratio(kind))
    wrong = [point for point in points if point.is_wrong(kind)]
    median = statistics.median(point.ratio(kind) for point in points)
    yield (
        f"{kind}: {median:.3f} of the better side in the median, {worst.ratio(kind):.2f} at most "
        f"({_named(worst)}); above {limit:g} at {len(above)} points, of which "
        f"{sum(p.is_wrong(kind) for p in above)} were decided wrongly; {len(wrong)} of all "
        "decisions were wrong by more than 5 %"
    )
    for point in above[:_LISTED]:
        chosen = f"{100 * point.timed[kind].out:.0f} % out"
        noise = f"local again {point.noise:.2f}"
        yield f"    {point.ratio(kind):.2f} {_named(point)}: {chosen}, {point.winner} wins, {noise}"
    if len(above) > _LISTED:
        yield f"    and {len(above) - _LISTED} more"


def _named(point: Point) -> str:
    return f"{point.problem}, {point.place}, {point.device}"


def parts_of(case: str) -> tuple[str, str, str, str, bool]:
    """Returns problem, place, device and kind of a row's case, and true if it is the part that went
    out."""
    problem, place, device, kind = case.removesuffix(_OUT).split(", ")
    return problem, place, device, kind, case.endswith(_OUT)
