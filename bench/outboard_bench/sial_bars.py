"""The bars of SIAL's benchmark: figures beside what they must reach, and the tables of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from outboard_bench import rows
from outboard_bench.rows import Row, console


@dataclass(frozen=True)
class Bar:
    """A row whose ratio must be at least this. The ratio is larger for better figures."""

    row: Row
    least: float

    @property
    def met(self) -> bool:
        return self.row.ratio is not None and self.row.ratio >= self.least

    @classmethod
    def at_most(cls, case: str, value: float, most: float, unit: str, size: int = 0) -> Bar:
        """Returns the bar of a figure that must not be larger than `most`."""
        ratio = most / value if value > 0 else 1.0 if most >= value else 0.0
        return cls(_single(case, value, most, unit, ratio, size), 1.0)

    @classmethod
    def at_least(cls, case: str, value: float, least: float, unit: str, size: int = 0) -> Bar:
        ratio = value / least if least > 0 else 1.0
        return cls(_single(case, value, least, unit, ratio, size), 1.0)


def _single(case: str, value: float, bar: float, unit: str, ratio: float, size: int) -> Row:
    return Row("sial", case, size, value, unit, bar, "bar", ratio, value, value, 1)


def print_bars(bars: Sequence[Bar]) -> None:
    lines = []
    for bar in bars:
        row = bar.row
        beside = "" if row.ceiling is None else f"{row.ceiling:.4g} {row.unit} ({row.ceiling_name})"
        lines.append(
            [
                row.case,
                f"{row.value:.4g} {row.unit}",
                beside,
                "" if row.ratio is None else f"{row.ratio:.3f}",
                f"{bar.least:g}",
                "met" if bar.met else "missed",
            ]
        )
    print_lines(("bar", "value", "beside it", "ratio", "at least", ""), lines)


def print_lines(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table: Any = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(escape(heading), justify="right" if i else "left", no_wrap=True)
    for line in lines:
        table.add_row(*map(escape, line))
    target = console()
    target.print(table)
    target.file.flush()


__all__ = ["Bar", "print_bars", "print_lines", "rows"]
