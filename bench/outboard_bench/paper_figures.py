"""The figures of the papers that are measured again, and their stated numbers: paper.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from outboard_bench.paper_points import SHOWS, Point

FILE = Path(__file__).with_name("paper.toml")


@dataclass(frozen=True)
class Stated:
    """A number that a paper's text or table gives, and the points of ours to which it belongs."""

    series: str  # regular expressions that match the whole name
    unit: str
    x: str = ".*"
    low: float = 0.0
    high: float = 0.0
    better: str = ""  # "larger", "smaller"; empty if neither is better

    def fits(self, point: Point) -> bool:
        return (
            point.unit == self.unit
            and re.fullmatch(self.series, point.series) is not None
            and re.search(self.x, point.x) is not None
        )

    @property
    def text(self) -> str:
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"

    def ratio(self, value: float) -> float | None:
        """Returns our value over theirs, or the inverse, so that a larger ratio is better; None for
        a range."""
        if self.low != self.high or not self.better or not value or not self.low:
            return None
        return value / self.low if self.better == "larger" else self.low / value


@dataclass(frozen=True)
class Source:
    """A benchmark, and its arguments for a quick run, a full run and a check."""

    bench: str
    quick: Sequence[str]
    full: Sequence[str]
    check: Sequence[str]
    links: str = ""  # "all" or "fastest" of the chosen ones; empty if it takes no --links


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper and its counterpart here."""

    id: str
    paper: str
    section: str
    title: str
    measured_by: str
    shows: str
    differs: str
    says: Sequence[str]
    select: str
    stated: Sequence[Stated]
    columns: Sequence[str]
    table: Sequence[Sequence[str]]
    skipped: str  # why it is not measured; empty if it is

    def points(self, rows: Sequence[Mapping[str, Any]]) -> list[Point]:
        return [self._beside(point) for point in SHOWS[self.shows](rows, self.select)]

    def _beside(self, point: Point) -> Point:
        stated = self.stated_for(point)
        if stated is None or stated.low != stated.high:
            return point
        return replace(point, stated=stated.low)

    def stated_for(self, point: Point) -> Stated | None:
        return next((stated for stated in self.stated if stated.fits(point)), None)


def load(file: Path = FILE) -> tuple[dict[str, Source], dict[str, Figure]]:
    """Returns sources and figures by name. Raises KeyError, TypeError or ValueError for a bad
    file."""
    content = tomllib.loads(file.read_text())
    sources = {name: Source(**source) for name, source in content["source"].items()}
    figures = {figure["id"]: _figure(figure) for figure in content["figure"]}
    for figure in figures.values():
        if figure.measured_by not in sources or figure.shows not in SHOWS:
            raise ValueError(f"{figure.id}: '{figure.measured_by}' or '{figure.shows}' is unknown")
    if len(figures) != len(content["figure"]):
        raise ValueError("two figures have the same id")
    return sources, figures


def _figure(entry: dict[str, Any]) -> Figure:
    entry = {"select": "", "columns": (), "table": (), "skipped": "", **entry}
    stated = [_stated(item) for item in entry.pop("stated", ())]
    for item in entry.pop("beside", ()):
        stated += _column(item, entry["columns"], entry["table"])
    return Figure(stated=stated, **entry)


def _stated(item: dict[str, Any]) -> Stated:
    item = dict(item)
    low, high = item.pop("range") if "range" in item else [item.pop("value")] * 2
    return Stated(low=low, high=high, **item)


def _column(
    item: dict[str, Any], columns: Sequence[str], table: Sequence[Sequence[str]]
) -> list[Stated]:
    """Returns a column of the paper's own table. Its first column names the sizes."""
    item = dict(item)
    index = columns.index(item.pop("column"))
    found = []
    for line in table:
        number = float(line[index].removesuffix("s"))
        found.append(Stated(x=f"^{re.escape(line[0])}$", low=number, high=number, **item))
    return found
