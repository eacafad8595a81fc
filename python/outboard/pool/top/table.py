"""A table of the pool: sorted by any column, filtered, and kept in place while rows change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from outboard.pool.columns import Column, Row, printable

MOST_ROWS = 1000  # a screen of more rows is slow to draw, and nobody reads it without a filter
_UP, _DOWN = "▲", "▼"


def cell(text: str, width: int) -> Text:
    """Returns names of others as text: neither markup nor control characters of them have effect,
    and a long one is cut."""
    shown = Text(printable(text), no_wrap=True, end="")
    shown.truncate(width, overflow="ellipsis")
    return shown


def matches(row: Row, columns: Sequence[Column], words: Sequence[str], now_ms: int) -> bool:
    """Returns whether each of the words is in a cell of the row."""
    if not words:
        return True
    cells = "\n".join(printable(column.text(row, now_ms)) for column in columns).casefold()
    return all(word in cells for word in words)


class PoolTable(DataTable[Text]):
    """Rows of one kind. `key`: the field that tells them apart."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "Open"),
        Binding("s", "sort_next", "Sort"),
        Binding("r", "reverse", "Reverse"),
    ]

    def __init__(self, columns: Sequence[Column], key: str, **more: Any) -> None:
        super().__init__(cursor_type="row", **more)
        self._shown, self._key = columns, key
        self._sorted_by, self._backwards = 0, False
        self._rows: Sequence[Row] = ()
        self._now_ms = 0
        self._words: list[str] = []
        self._cells: dict[str, list[str]] = {}
        self._widths = [len(column.title) + 2 for column in columns]
        self.matching = 0

    def on_mount(self) -> None:
        self._add_columns()

    def show(self, rows: Sequence[Row], now_ms: int) -> None:
        """Shows other rows, or newer values. The cursor stays on its row while that is there."""
        self._rows, self._now_ms = rows, now_ms
        self._fill()

    def filter(self, text: str) -> None:
        """Shows the rows that contain each word of `text` in any column."""
        self._words = text.casefold().split()
        self._fill()

    def action_sort_next(self) -> None:
        self._sort((self._sorted_by + 1) % len(self._shown), False)

    def action_reverse(self) -> None:
        self._sort(self._sorted_by, not self._backwards)

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        chosen = event.column_index
        self._sort(chosen, chosen == self._sorted_by and not self._backwards)

    def chosen(self) -> str:
        """Returns the key of the row under the cursor; empty without rows."""
        if not self.row_count:
            return ""
        return str(self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value)

    def _sort(self, column: int, backwards: bool) -> None:
        self._sorted_by, self._backwards = column, backwards
        self._mark_heading()
        self._fill()
        self.move_cursor(column=column)  # scrolls to a column beyond the edge

    def _add_columns(self) -> None:
        for number, width in enumerate(self._widths):
            self.add_column(Text(), width=width, key=str(number))
        self._mark_heading()

    def _mark_heading(self) -> None:
        for number, column in enumerate(self.ordered_columns):
            sign = " " + (_DOWN if self._backwards else _UP) if number == self._sorted_by else "  "
            column.label = Text(self._shown[number].title + sign)
        self._clear_caches()
        self.refresh()

    def _fill(self) -> None:
        now_ms, by = self._now_ms, self._shown[self._sorted_by]
        found = [row for row in self._rows if matches(row, self._shown, self._words, now_ms)]
        self.matching = len(found)
        if self._sorted_by:  # equal ones are in the order of the first column
            found.sort(key=lambda row: self._shown[0].key(row, now_ms))
        found.sort(key=lambda row: by.key(row, now_ms), reverse=self._backwards)
        cells = {
            str(row[self._key]): [column.text(row, now_ms) for column in self._shown]
            for row in found[:MOST_ROWS]
        }
        wider = self._widen(cells)
        if wider or list(cells) != list(self._cells):
            self._replace(cells, wider)
        else:
            self._change(cells)
        self._cells = cells

    def _widen(self, cells: dict[str, list[str]]) -> bool:
        """Makes columns as wide as their cells. They never shrink: columns that move while people
        read are hard to read."""
        before = list(self._widths)
        for key, texts in cells.items():
            if texts == self._cells.get(key):
                continue
            for number, (text, column) in enumerate(zip(texts, self._shown, strict=True)):
                needed = min(cell_len(printable(text)), column.width)
                self._widths[number] = max(needed, self._widths[number])
        return self._widths != before

    def _change(self, cells: dict[str, list[str]]) -> None:
        for key, texts in cells.items():
            for number, (old, new) in enumerate(zip(self._cells[key], texts, strict=True)):
                if old != new:
                    shown = cell(new, self._shown[number].width)
                    self.update_cell(key, str(number), shown)

    def _replace(self, cells: dict[str, list[str]], wider: bool) -> None:
        chosen, where = self.chosen(), self.cursor_row
        left, top = self.scroll_offset
        self.clear(columns=wider)
        if wider:
            self._add_columns()
        for key, texts in cells.items():
            shown = zip(texts, self._shown, strict=True)
            self.add_row(*(cell(text, column.width) for text, column in shown), key=key)
        if cells:
            keys = list(cells)
            row = keys.index(chosen) if chosen in cells else min(where, len(keys) - 1)
            self.move_cursor(row=row, animate=False, scroll=False)
            self.scroll_to(left, top, animate=False)
