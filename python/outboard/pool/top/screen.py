"""The part that all screens share: a heading that says which pool this is, and how old the rows
are."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, cast

from rich.text import Text
from textual.app import App
from textual.message import Message
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Static

from outboard.pool.columns import condition, counted, printable, span
from outboard.pool.top.feed import News, View

# The heading speaks of a wait after so many intervals, and not before so many seconds: readings of
# a large pool take some, and so do the pauses between them.
_LATE, _LATE_S = 3, 10.0


class Open(Message):
    """Somebody wants the page of a `kind`, device or lease."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__()
        self.kind, self.name = kind, name


class Heading(Static):
    """Two lines: the pool in numbers, and the connection. States are words, never colour alone."""

    DEFAULT_CSS = """
    Heading { height: auto; max-height: 4; padding: 0 1; }
    Heading.stale { text-style: bold reverse; }
    """

    def __init__(self, url: str, interval_s: float) -> None:
        super().__init__(markup=False)
        self._url, self._interval_s = url, interval_s
        self._last = ""

    def show(self, news: News, filtered: str = "") -> None:
        late_s = time.monotonic() - news.view.read_s
        late = late_s > max(_LATE * self._interval_s, _LATE_S)
        self.set_class(bool(news.problem) or late, "stale")
        how = connection(news, late_s if late else 0.0, self._interval_s)
        text = f"{printable(counts(news))}\n{printable(f'{self._url}: {how}{filtered}')}"
        if text != self._last:
            self._last = text
            self.update(Text(text))


def counts(news: News) -> str:
    """Returns the pool in numbers, as "4 devices: 3 free, 1 lost; 1 lease, 0 waiting"."""
    view = news.view
    found = Counter(condition(row) for row in view.devices)
    states = ", ".join(f"{number} {word}" for word, number in sorted(found.items()))
    devices, leases = counted(len(view.devices), "device"), counted(len(view.leases), "lease")
    return f"{devices}{': ' * bool(states)}{states}; {leases}, {len(view.queue)} waiting"


def connection(news: News, late_s: float, interval_s: float) -> str:
    if news.problem:
        return f"NO ANSWER since {news.since}, rows are of {news.view.at}; {news.problem}"
    if late_s:
        return f"WAITING for an answer; rows are of {news.view.at}, {span(late_s)} ago"
    how = "live" if news.pushed else f"asked each {interval_s:g} s"
    return f"{how}, as of {news.view.at}"


class PoolApp(App[None]):
    """The part of the application that screens read: `news` is what the feed told last."""

    news: var[News] = var(News(View(0, "", 0.0, (), (), ())))


class PoolScreen(Screen[None]):
    """A screen that shows the news of its PoolApp."""

    def __init__(self, url: str, interval_s: float) -> None:
        super().__init__()
        self.heading = Heading(url, interval_s)

    @property
    def news(self) -> News:
        return cast(PoolApp, self.app).news

    def on_mount(self) -> None:
        self.watch(self.app, "news", self._show)  # also at once
        self.set_interval(1.0, self.show_time)

    def _show(self) -> None:
        self.show_rows(self.news)
        self.show_time()

    def show_rows(self, news: News) -> None:
        """Shows rows that may have changed."""

    def show_time(self) -> None:
        self.heading.show(self.news, self.filtered())

    def filtered(self) -> str:
        """Returns a note on rows that are not shown."""
        return ""

    def find(self, kind: str, name: str) -> Any:
        """Returns the row of a device or a lease; None if it is not there."""
        rows = getattr(self.news.view, f"{kind}s")
        return next((row for row in rows if row["id"] == name), None)
