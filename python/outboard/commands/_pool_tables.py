"""Tables of `outboard pool`, as text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from outboard.pool import columns
from outboard.pool.columns import Column, printable

_WIDTH = 200  # for pipes and files: no line is cut


def show(table: Table) -> None:
    Console(width=None if sys.stdout.isatty() else _WIDTH).print(table)


def table(title: str, *columns: str) -> Table:
    return Table(*columns, title=title, box=None, title_justify="left", title_style="bold")


def add(rows: Table, *cells: Any) -> None:
    """Adds a row. Names come from others: they are shown as text, without control characters."""
    rows.add_row(*(Text(printable(str(cell))) for cell in cells))


def devices(rows: list[Any]) -> Table:
    return _filled("Devices", columns.DEVICES, rows, 0)


def leases(rows: list[Any], now_ms: int) -> Table:
    return _filled("Leases", columns.LEASES, rows, now_ms)


def queue(rows: list[Any], now_ms: int) -> Table:
    return _filled("Queue", columns.QUEUE, rows, now_ms)


def _filled(title: str, shown: Sequence[Column], rows: list[Any], now_ms: int) -> Table:
    found = table(title, *(column.title for column in shown))
    for row in rows:
        add(found, *(column.text(row, now_ms) for column in shown))
    return found
