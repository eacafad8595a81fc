"""The application: it has the threads that ask the manager, and a stack of screens."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from outboard.pool.client import PoolClient
from outboard.pool.top.feed import Feed, News, View
from outboard.pool.top.main import MainScreen
from outboard.pool.top.pages import DevicePage, HelpPage, LeasePage
from outboard.pool.top.screen import Open, PoolApp

_PAGES = {"device": DevicePage, "lease": LeasePage}


class Told(Message):
    """News of a thread."""

    def __init__(self, news: News) -> None:
        super().__init__()
        self.news = news


class PoolTop(PoolApp):
    """Shows the pool of one manager. `first`: its rows as they are now."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "outboard top"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
    ]

    def __init__(self, client: PoolClient, first: View, interval_s: float) -> None:
        super().__init__()
        self._place = (client.url, interval_s)
        self.set_reactive(PoolTop.news, News(first))
        self._feed = Feed(client, lambda news: self.post_message(Told(news)), interval_s, first)

    def on_mount(self) -> None:
        self.push_screen(MainScreen(*self._place))
        self._feed.start()

    def on_unmount(self) -> None:
        self._feed.stop()

    def on_told(self, message: Told) -> None:
        self.news = message.news

    def on_open(self, message: Open) -> None:
        self.push_screen(_PAGES[message.kind](*self._place, message.name))

    def action_leave(self) -> None:
        if len(self.screen_stack) > 2:  # below the first screen, textual has an empty one
            self.pop_screen()

    def action_help(self) -> None:
        if not isinstance(self.screen, HelpPage):
            self.push_screen(HelpPage())
