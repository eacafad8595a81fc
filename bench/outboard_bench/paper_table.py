"""Prints a figure of a paper on the terminal: the paper's numbers, then a line for each series
here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from outboard_bench.paper_figures import Figure
from outboard_bench.paper_points import Point, sizes
from outboard_bench.rows import console

_GAP = 3  # between columns


def print_list(figures: Iterable[Figure]) -> None:
    for figure in figures:
        print(f"{figure.id:16} {figure.paper}, {figure.section}: {figure.title}")


def print_figure(figure: Figure, points: Sequence[Point]) -> None:
    """Prints the figure in as many parts as the terminal needs for its width."""
    from rich.markup import escape

    target = console()
    target.print(f"\n[bold]{figure.id}[/bold]  {escape(figure.title)}")
    where = f"{figure.paper}, {figure.section}"
    for quote in figure.says:
        target.print(escape(f'  {where}: "{quote}"'))
    if figure.table:
        target.print(f"  {where}, as printed:")
        target.print(_table(figure.columns, figure.table))
    target.print(escape(f"  Here: {figure.differs}"))
    if any(figure.stated_for(point) for point in points):
        target.print(
            f"  In brackets: what {figure.paper} states; after ':' how good ours is by theirs, "
            "better when larger"
        )
    lines = cells(figure, points)
    for headings in _parts(lines, sizes(points), target.width):
        here = [line for line in lines if not line.keys().isdisjoint(headings[2:])]
        body = [[line.get(heading, "") for heading in headings] for line in here]
        target.print(_table(headings, body))


def cells(figure: Figure, points: Sequence[Point]) -> list[dict[str, str]]:
    """Returns a line for each series and unit, by the headings "series", "unit" and the sizes."""
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for point in points:
        key = (point.series, point.unit)
        line = lines.setdefault(key, {"series": point.series, "unit": point.unit})
        line[point.x] = _cell(figure, point)
    return list(lines.values())


def _cell(figure: Figure, point: Point) -> str:
    stated = figure.stated_for(point)
    if stated is None:
        return f"{point.value:.4g}"
    ratio = stated.ratio(point.value)
    return f"{point.value:.4g} ({stated.text}{f': {ratio:.2f}' if ratio else ''})"


def _parts(
    lines: Sequence[Mapping[str, str]], xs: Sequence[str], width: int
) -> Iterator[list[str]]:
    """Yields the headings of each part of a table that may be wider than the terminal."""
    fixed = ["series", "unit"]
    part, used = list(fixed), sum(_width(lines, heading) for heading in fixed)
    start = used
    for heading in xs:
        needed = _width(lines, heading)
        if part != fixed and used + needed > width:
            yield part
            part, used = list(fixed), start
        part.append(heading)
        used += needed
    yield part


def _width(lines: Sequence[Mapping[str, str]], heading: str) -> int:
    return _GAP + max(len(heading), *(len(line.get(heading, "")) for line in lines))


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> Any:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(escape(heading), justify="right" if i > 1 else "left", no_wrap=True)
    for line in lines:
        table.add_row(*map(escape, line))
    return table
