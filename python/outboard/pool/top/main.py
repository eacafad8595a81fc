"""The first screen: devices, leases and the queue, each a table, and one filter for all."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable, Footer, Input, TabbedContent, TabPane

from outboard.pool.columns import LIVE_DEVICES, LIVE_LEASES, QUEUE
from outboard.pool.top.feed import News
from outboard.pool.top.screen import Open, PoolScreen
from outboard.pool.top.table import MOST_ROWS, PoolTable

_TABLES = {
    "devices": (LIVE_DEVICES, "id"),
    "leases": (LIVE_LEASES, "id"),
    "queue": (QUEUE, "place"),
}


class MainScreen(PoolScreen):
    CSS = """
    #filter { display: none; height: 1; border: none; padding: 0 1; }
    #filter.open { display: block; }
    TabbedContent { height: 1fr; }
    TabPane { padding: 0; }
    PoolTable { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("escape", "close", "No filter", show=False),
        *(
            Binding(str(number), f"tab('{name}')", name, show=False)
            for number, name in enumerate(_TABLES, 1)
        ),
    ]

    def compose(self) -> ComposeResult:
        yield self.heading
        with TabbedContent(initial="devices"):
            for name, (columns, key) in _TABLES.items():
                with TabPane(name, id=name):
                    yield PoolTable(columns, key, id=f"table-{name}")
        yield Input(placeholder="show rows with these words", id="filter", select_on_focus=False)
        yield Footer()

    def show_rows(self, news: News) -> None:
        view = news.view
        for name, rows in zip(_TABLES, (view.devices, view.leases, view.queue), strict=True):
            self.table(name).show(rows, view.now_ms)
        self._label()

    def filtered(self) -> str:
        words = self._input().value.split()
        found = self.table(self._tabs().active).matching
        note = f"; filter: {' '.join(words)}" if words else ""
        return note + (f"; the first {MOST_ROWS} rows of {found}" if found > MOST_ROWS else "")

    def action_tab(self, name: str) -> None:
        self._tabs().active = name
        self.table(name).focus()

    def action_filter(self) -> None:
        self._input().add_class("open")
        self._input().focus()

    def action_close(self) -> None:
        self._input().value = ""
        self._leave_filter()

    def on_input_changed(self, event: Input.Changed) -> None:
        for name in _TABLES:
            self.table(name).filter(event.value)
        self._label()
        self.show_time()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._leave_filter()

    def on_tabbed_content_tab_activated(self, event: TabbedContent.TabActivated) -> None:
        self.show_time()
        if self.focused is not self._input():
            self.table(self._tabs().active).focus()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        table, key = event.data_table, str(event.row_key.value)
        if table.id == "table-devices":
            self.post_message(Open("device", key))
        elif table.id == "table-leases":
            self.post_message(Open("lease", key))
        else:
            self._open_waiting(key)

    def table(self, name: str) -> PoolTable:
        return self.query_one(f"#table-{name}", PoolTable)

    def _open_waiting(self, place: str) -> None:
        queue = self.news.view.queue
        lease = next((row["lease"] for row in queue if str(row["place"]) == place), "")
        if lease:
            self.post_message(Open("lease", lease))
        else:
            self.notify("The request is somebody else's: only its place is shown.", markup=False)

    def _leave_filter(self) -> None:
        self._input().set_class(bool(self._input().value), "open")
        self.table(self._tabs().active).focus()

    def _label(self) -> None:
        for number, name in enumerate(_TABLES, 1):
            label = f"{number} {name.capitalize()} {self.table(name).matching}"
            self._tabs().get_tab(name).label = Content(label)

    def _input(self) -> Input:
        return self.query_one("#filter", Input)

    def _tabs(self) -> TabbedContent:
        return self.query_one(TabbedContent)
