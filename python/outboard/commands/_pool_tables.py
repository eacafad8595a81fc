"""Tables and words of `outboard pool`."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDTH = 200  # for pipes and files: no line is cut
_FOREVER_MS = 1 << 45


def show(table: Table) -> None:
    Console(width=None if sys.stdout.isatty() else _WIDTH).print(table)


def table(title: str, *columns: str) -> Table:
    return Table(*columns, title=title, box=None, title_justify="left", title_style="bold")


def add(rows: Table, *cells: Any) -> None:
    """Adds a row. Names come from others: they are shown as text, without control characters."""
    rows.add_row(*(Text(printable(str(cell))) for cell in cells))


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def size(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.3g} {unit}"
        number /= 1024
    return f"{number:.3g} TiB"


def left(end_ms: int, now_ms: int) -> str:
    """Returns the time until `end_ms`."""
    return "no end" if end_ms > _FOREVER_MS else span(max(0, end_ms - now_ms) / 1000)


def span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def moment(ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ms / 1000))


def devices(rows: list[Any]) -> Table:
    found = table(
        "Devices", "device", "kind", "model", "memory", "health", "allocation", "admin", "holder",
        "remark",
    )  # fmt: skip
    for row in rows:
        add(
            found, row["id"], row["kind"], row["model"], size(row["memory_bytes"]), row["health"],
            row["allocation"], row["admin"], ", ".join(row["holders"]), row["why"],
        )  # fmt: skip
    return found


def leases(rows: list[Any], now_ms: int) -> Table:
    found = table("Leases", "lease", "holder", "state", "mode", "devices", "waits for", "left")
    for row in rows:
        mode = "exclusive" if row["exclusive"] else "shared"
        add(
            found, row["id"], row["holder"], row["state"], mode, ", ".join(row["devices"]),
            row["waiting"] or "", left(row["end_ms"], now_ms),
        )  # fmt: skip
    return found


def queue(rows: list[Any], now_ms: int) -> Table:
    found = table("Queue", "place", "holder", "devices", "priority", "for", "reason")
    for row in rows:
        waits = span((now_ms - row["arrived_ms"]) / 1000)
        add(found, row["place"], row["holder"], row["count"], row["priority"], waits, row["reason"])
    return found
