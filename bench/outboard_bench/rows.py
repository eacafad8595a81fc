"""The rows of a benchmark: one form for all of them, in JSON and as a table."""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SKIPPED = 77  # the status of a benchmark that cannot run here: SKIP_RETURN_CODE of its test


@dataclass(frozen=True)
class Row:
    """One measured case. `value` and `ceiling` are medians of `runs`, in `unit`."""

    bench: str
    case: str
    bytes: int
    value: float
    unit: str
    ceiling: float | None  # None: there is no figure to compare with, and no ratio
    ceiling_name: str | None
    ratio: float | None  # better if larger, for any unit
    min: float
    max: float
    runs: int

    @classmethod
    def of_runs(
        cls,
        bench: str,
        case: str,
        size: int,
        values: Sequence[float],
        unit: str,
        beside: float | None = None,
        beside_name: str | None = None,
    ) -> Row:
        """Returns the row of repeated measurements, beside a figure of that name if there is one.
        Smaller times are better, and larger rates."""
        value = statistics.median(values)
        ratio = None
        if beside is not None:
            ratio = beside / value if unit in _SMALLER_IS_BETTER else value / beside
        return cls(
            bench=bench,
            case=case,
            bytes=size,
            value=value,
            unit=unit,
            ceiling=beside,
            ceiling_name=None if beside is None else beside_name,
            ratio=ratio,
            min=min(values),
            max=max(values),
            runs=len(values),
        )


_SMALLER_IS_BETTER = ("us", "ms", "%")
_TYPES: dict[str, type | tuple[type, ...]] = {
    "bench": str,
    "case": str,
    "bytes": int,
    "value": (int, float),
    "unit": str,
    "ceiling": (int, float),
    "ceiling_name": str,
    "ratio": (int, float),
    "min": (int, float),
    "max": (int, float),
    "runs": int,
}
# The keys that are null in a case without a physical or peer figure beside it.
_NULLABLE = {"ceiling", "ceiling_name", "ratio"}
_FILE_WIDTH = 180


def load(file: Path) -> Any:
    """Returns the JSON value in `file`. Raises ValueError if the file holds no JSON."""
    return json.loads(file.read_text())


def check(value: Any) -> list[Mapping[str, Any]]:
    """Returns `value` as rows. Raises ValueError at the first key that is missing, extra or
    mistyped."""
    if not isinstance(value, list) or not value:
        raise ValueError("expected a list with at least one row")
    for index, row in enumerate(value):
        if not isinstance(row, dict):
            raise ValueError(f"row {index} is no object")
        if row.keys() != _TYPES.keys():
            odd = ", ".join(sorted(row.keys() ^ _TYPES.keys()))
            raise ValueError(f"row {index} has missing or unknown keys: {odd}")
        for key, expected in _TYPES.items():
            if row[key] is None and key in _NULLABLE:
                continue
            if not isinstance(row[key], expected) or isinstance(row[key], bool):
                raise ValueError(f"row {index}: {key} is {row[key]!r}")
    return value


def write(rows: Iterable[Row], file: Path) -> None:
    file.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


@contextlib.contextmanager
def kept(file: Path | None) -> Iterator[list[Row]]:
    """Yields a list for rows, which it writes at the end of the block: also after a failure, which
    would lose the measurements of hours otherwise."""
    found: list[Row] = []
    try:
        yield found
    finally:
        if file and found:
            write(found, file)


def console() -> Any:
    """Returns the console of tables. In a file or pipe, lines are as long as they need to be."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_FILE_WIDTH)


def print_table(rows: Iterable[Row]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("case", "value", "min", "max", "beside it", "ratio", "runs"):
        table.add_column(heading, justify="left" if heading == "case" else "right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.case,
            f"{row.value:.4g} {row.unit}",
            f"{row.min:.4g}",
            f"{row.max:.4g}",
            "" if row.ceiling is None else f"{row.ceiling:.4g} {row.unit} ({row.ceiling_name})",
            "" if row.ratio is None else f"{row.ratio:.3f}",
            str(row.runs),
        )
    console().print(table)


def show(rows: Iterable[Row]) -> None:
    """Prints a table at once, though more will follow."""
    print_table(rows)
    sys.stdout.flush()
