"""The pages of one device and of one lease, and the help."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from outboard.pool.columns import (
    LIVE_DEVICES,
    LIVE_LEASES,
    busy,
    counted,
    left,
    mode,
    moment,
    printable,
    size,
    span,
    used,
)
from outboard.pool.top.feed import News
from outboard.pool.top.screen import Open, PoolScreen
from outboard.pool.top.table import PoolTable

_BACK = Binding("escape", "app.leave", "Back")


class Page(PoolScreen):
    """All that is known of one thing, and a table of those that belong to it."""

    CSS = """
    #fields { height: auto; padding: 0 1; }
    PoolTable { height: auto; min-height: 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [_BACK]
    KIND, OTHER, GONE = "", "", ""

    def __init__(self, url: str, interval_s: float, name: str) -> None:
        super().__init__(url, interval_s)
        self.subject = name
        self._row: Any = None  # the last one that was seen: the thing may end while people look

    def compose(self) -> ComposeResult:
        yield self.heading
        yield Static(id="fields", markup=False)
        yield PoolTable(LIVE_LEASES if self.OTHER == "lease" else LIVE_DEVICES, "id")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(PoolTable).focus()

    def show_rows(self, news: News) -> None:
        row = self.find(self.KIND, self.subject)
        self._row = row or self._row
        lines = [(self.KIND, self.subject)]
        if row is None:
            known = "; this was known of it:" if self._row is not None else "."
            lines.append(("", self.GONE + known))
        if self._row is not None:
            lines += self.fields(self._row, news.view.now_ms)
        text = "\n".join(f"{name:<12}{printable(value)}" for name, value in lines)
        self.query_one("#fields", Static).update(Text(text))
        others = row[f"{self.OTHER}s"] if row is not None else ()
        rows = [found for name in others if (found := self.find(self.OTHER, name)) is not None]
        self.query_one(PoolTable).show(rows, news.view.now_ms)

    def fields(self, row: Any, now_ms: int) -> list[tuple[str, str]]:
        return []

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        self.post_message(Open(self.OTHER, str(event.row_key.value)))


class DevicePage(Page):
    KIND, OTHER, GONE = "device", "lease", "It is not in the pool"

    def fields(self, row: Any, now_ms: int) -> list[tuple[str, str]]:
        return [
            ("daemon", f"{row['daemon']} ({', '.join(row['addresses']) or 'no address'})"),
            ("kind", f"{row['kind']}, {row['model']}"),
            ("rate", f"{row['gflops']:g} Gflop/s" if row["gflops"] else "not measured"),
            ("memory", f"{used(row)} used of {size(row['memory_bytes'])}"),
            ("busy", f"{busy(row)} sessions computed in the last seconds"),
            ("state", f"{row['allocation']}, {row['health']}, {row['admin']}"),
            ("epoch", f"{row['epoch']}, floor {row['floor']}"),
            ("holder", ", ".join(row["holders"]) or "none that you may see"),
            ("remark", row["why"] or "it can be granted"),
        ]


class LeasePage(Page):
    KIND, OTHER, GONE = "lease", "device", "It is over, or not yours to see"

    def fields(self, row: Any, now_ms: int) -> list[tuple[str, str]]:
        ago = span(max(0, now_ms - row["arrived_ms"]) / 1000)
        return [
            ("holder", row["holder"] + (f", group {row['group']}" if row["group"] else "")),
            ("state", row["state"]),
            ("mode", f"{mode(row)}, priority {row['priority']}"),
            ("asked for", f"{moment(row['arrived_ms'])}, {ago} ago"),
            ("left", left(row["end_ms"], now_ms)),
            ("waits for", counted(row["waiting"], "device") if row["waiting"] else "nothing"),
            ("reason", row["reason"] or "none"),
        ]


_HELP = """\
outboard top shows the pool of one manager, live.

  1 2 3        devices, leases, the queue
  up, down     choose a row           Enter      its page
  left, right  columns beyond the edge
  s            sort by the next column; a click on a heading does it, too
  r            reverse the order
  /            filter as you type: rows that contain each of the words
               Enter keeps the filter, Escape drops it
  Escape       back                   q, Ctrl-C  quit

state   allocation (free, exclusive, shared; fencing: the last lease is over,
        its daemon has not confirmed that; unconfirmed: not heard of yet), then
        health and what an administrator set, if they are not ok and open
busy    sessions that computed between the last two heartbeats, of all sessions
left    until the lease ends if nobody renews it

The manager shows holders and leases that you may see: your own, or all of them
to administrators and monitors. docs/pool.md tells more.
"""


class HelpPage(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [_BACK]

    def compose(self) -> ComposeResult:
        yield Static(_HELP, markup=False)
        yield Footer()
