"""The page of a pool: its history, drawn by the server."""

from __future__ import annotations

import asyncio
import html.parser
import itertools
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from pool_commands import Pool, fresh_seed

from outboard.pool.core.commands import SetQuota
from outboard.pool.core.records import Quota
from outboard.pool.serve.exchange import Request
from outboard.pool.serve.minutes import MINUTE_MS, Minute, Minutes, minute_of, until_next_s
from outboard.pool.serve.page import render
from outboard.pool.serve.page.sparkline import HEIGHT, sparkline
from outboard.pool.serve.peer import Peer
from outboard.pool.serve.settings import Role

DAY = 24 * 60
NOON_MS = 12 * 60 * MINUTE_MS


def filled(*minutes: int) -> Minutes:
    made = Minutes()
    for minute in minutes:
        made.add(Minute(minute * MINUTE_MS, minute, 0, 0))
    return made


def test_a_minute_has_one_point() -> None:
    made = Minutes()
    for at_ms in (0, 59_999, 60_000, 60_001, 119_999, 30_000):
        made.add(Minute(at_ms, 0, 0, 0))
    assert [point.at_ms for point in made] == [0, 60_000]


def test_a_day_is_kept() -> None:
    assert [point.devices_in_use for point in filled(*range(DAY + 10))] == list(range(10, DAY + 10))
    # Also if nobody looked for a while.
    assert [point.devices_in_use for point in filled(0, 1, 2, DAY + 1)] == [2, DAY + 1]


def test_the_next_minute() -> None:
    assert until_next_s(0) == 60
    assert until_next_s(59_999) == 0.001
    assert until_next_s(61_500) == 58.5


def test_what_is_counted() -> None:
    pool = Pool(daemons=2, devices=2)
    pool.held("whole", count=2)
    for lease in ("part", "other"):
        pool.held(lease, exclusive=False, share=500, memory_bytes=10)
    assert pool.put("waits", count=4).state == "queued"
    counted = minute_of(pool.state)
    assert counted == Minute(pool.now_ms, 3, 3, 1)
    pool.release("whole")  # its daemon has not confirmed that yet: nobody uses the devices
    assert minute_of(pool.state) == Minute(pool.now_ms, 1, 2, 1)


def test_a_line() -> None:
    drawn = sparkline("x", [5, 6, 7, 8], [0, 4, 1, 2])
    assert drawn.path == "M0 100h0L1 0L2 75L3 50"
    assert (drawn.width, drawn.least, drawn.most, drawn.latest) == (3, 0, 4, 2)


def test_a_level_is_two_points() -> None:
    assert sparkline("x", range(100), [3] * 100).path == "M0 0h0L99 0"
    assert sparkline("x", range(100), [0] * 100).path == f"M0 {HEIGHT}h0L99 {HEIGHT}"
    assert sparkline("x", range(5), [0, 0, 0, 1, 1]).path == "M0 100h0L2 100L3 0L4 0"


def test_missing_minutes_interrupt_the_line() -> None:
    drawn = sparkline("x", [0, 1, 4, 9, 10], [1, 1, 1, 1, 2])
    assert drawn.path == "M0 50h0L1 50M4 50h0M9 50h0L10 0"


def test_a_line_passes_through_all_values() -> None:
    """The points that are left out lie on the line."""
    drawing = random.Random(fresh_seed())
    for _ in range(200):
        values = [drawing.randrange(3) for _ in range(drawing.randrange(2, 30))]
        drawn = sparkline("x", range(len(values)), values)
        corners = [part.split(" ") for part in drawn.path.replace("h0", "")[1:].split("L")]
        line = [(int(x), int(y)) for x, y in corners]
        top = max(*values, 1)
        for (x0, y0), (x1, y1) in itertools.pairwise(line):
            for x in range(x0, x1 + 1):
                y = y0 + (y1 - y0) * (x - x0) / (x1 - x0)
                assert y == round(HEIGHT * (1 - values[x] / top))


class _Text(html.parser.HTMLParser):
    """The text, and the attributes of each tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.tags = "", []  # type: str, list[tuple[str, dict[str, str | None]]]
        self.feed(page)
        self.text = " ".join(self.text.split())

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def rendered(pool: Pool, minutes: Minutes, holder: str, **query: str) -> _Text:
    async def do(look: Callable[[Any], Any]) -> Any:
        return look(pool.state)

    metrics = SimpleNamespace(use_of=lambda state, device: None)
    manager: Any = SimpleNamespace(do=do, minutes=minutes, metrics=metrics, name="p", version="1")
    peer = Peer(holder, holder, frozenset({Role.USER}), "", False)
    response = asyncio.run(render(manager, Request(peer, (), query, None, None)))
    assert dict(response.headers)[b"content-security-policy"].startswith(b"default-src 'none'")
    return _Text(response.body.decode())


@pytest.fixture
def page() -> Callable[..., _Text]:
    """Renders the page of a pool with these minutes."""
    pool = Pool()
    pool.held("a")

    def made(minutes: Minutes, **query: str) -> _Text:
        return rendered(pool, minutes, "certificate ada", **query)

    return made


def test_the_page_does_not_tell_others_who_waits_and_why() -> None:
    pool = Pool(devices=2)
    pool.ask(SetQuota("root", Quota("user:bob", devices=1)))
    pool.held("a", "bob")
    pool.put("b", "bob")
    assert "user bob may hold 1 devices" in rendered(pool, Minutes(), "bob").text
    others = rendered(pool, Minutes(), "eve").text
    assert "somebody" in others
    assert "waits for 1 of any kind" in others
    assert "bob" not in others


def test_the_page_draws_nothing_before_there_are_two_points(
    page: Callable[..., _Text],
) -> None:
    minutes = Minutes()
    assert "The history begins at 00:16 UTC" in page(minutes).text  # the pool's time
    minutes.add(Minute(NOON_MS + 5, 1, 1, 0))
    shown = page(minutes)
    assert "The history begins at 12:00 UTC" in shown.text
    assert not shown.of("svg")
    minutes.add(Minute(NOON_MS + MINUTE_MS, 1, 1, 0))
    assert len(page(minutes).of("svg")) == 3


def test_the_page_tells_the_history_in_words_and_lines(page: Callable[..., _Text]) -> None:
    minutes = Minutes()
    for at, counts in enumerate(((0, 0, 0), (4, 3, 0), (2, 2, 7))):
        minutes.add(Minute(NOON_MS + at * MINUTE_MS, *counts))
    shown = page(minutes)
    for words in (
        "A point for each minute from 1970-01-01 12:00 to 1970-01-01 12:02 UTC",
        "Devices in use: latest 2, least 0, most 4",
        "Leases held: latest 2, least 0, most 3",
        "Requests that wait: latest 7, least 0, most 7",
    ):
        assert words in shown.text
    paths = [attributes["d"] for attributes in shown.of("path")]
    assert paths == ["M0 100h0L1 0L2 50", "M0 100h0L1 0L2 33", "M0 100h0L1 100L2 0"]
    # The words are beside the drawings, so that nobody hears them twice; and nothing needs a
    # script, or a style that the policy refuses.
    assert all(attributes["aria-hidden"] == "true" for attributes in shown.of("svg"))
    assert len(shown.of("figcaption")) == len(shown.of("figure")) == 3
    assert not shown.of("script")
    assert not any("style" in attributes for _, attributes in shown.tags)


def test_the_page_changes_only_if_its_reader_wants_that(page: Callable[..., _Text]) -> None:
    """It moves under whoever reads it slowly."""
    still, moving = page(Minutes()), page(Minutes(), refresh="5")
    refreshed = [[m["content"] for m in shown.of("meta") if "http-equiv" in m]
                 for shown in (still, moving)]  # fmt: skip
    assert refreshed == [[], ["5"]]
    scripts = [[script["src"] for script in shown.of("script")] for shown in (still, moving)]
    assert scripts == [[], ["/pool.js"]]
    links = [[link["href"] for link in shown.of("a")] for shown in (still, moving)]
    assert links == [["/?refresh=5"], ["/"]]
