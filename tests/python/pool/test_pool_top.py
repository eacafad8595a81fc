"""The live view of a pool, against a real manager. The oracle is what the tests themselves have
acquired and released; the screen is read as the terminal would show it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pool_server import EVERYBODY, Manager, make_keys, running
from textual.pilot import Pilot

from conftest import Outboard, clean_environment, command_line
from outboard.errors import OutboardError
from outboard.pool.client import PoolClient, PoolError
from outboard.pool.columns import counted, natural, printable
from outboard.pool.events import Decoder, Event
from outboard.pool.top import feed
from outboard.pool.top.app import PoolTop
from outboard.pool.top.screen import Open
from outboard.pool.top.table import PoolTable

NEVER = 3600.0  # seconds: whatever is shown earlier came by an event
PATIENCE_S = 60
EVIL = "[@click=app.quit]evil[/] [red]\x1b]0;owned\x07\u202e\x9b2J[/red]"
EVIL_SHOWN = "[@click=app.quit]evil[/] [red]?]0;owned???2J[/red]"


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    made = Manager(tmp_path_factory.mktemp("m"), EVERYBODY)
    yield made
    assert made.stop() == 0


@pytest.fixture
def client(manager: Manager) -> Iterator[PoolClient]:
    """Two healthy devices without leases, and no others. Each test has its own ids of leases."""
    made = manager.client()
    with running(made, "n2", devices=2):
        yield made
        for row in made.pages("/v1/leases", "leases"):
            made.ask("DELETE", f"/v1/leases/{row['id']}")
    made.close()


class Terminal(NamedTuple):
    app: PoolTop
    pilot: Pilot[None]

    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    def lines(self, word: str) -> list[str]:
        return [line for line in self.text().splitlines() if word in line]

    async def until(self, words: str, there: bool = True) -> str:
        """Waits until `words` are on the screen, or not there any more. Returns the screen."""
        end = time.monotonic() + PATIENCE_S
        while (words in (shown := self.text())) is not there:
            assert time.monotonic() < end, f"waited for {words!r} ({there}) on\n{shown}"
            await self.pilot.pause(0.25)
        return shown

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()


@contextlib.asynccontextmanager
async def watching(
    client: PoolClient, interval_s: float = NEVER, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Terminal]:
    app = PoolTop(client, feed.read(client), interval_s)
    async with app.run_test(size=size) as pilot:
        yield Terminal(app, pilot)


def play(story: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await story()

    asyncio.run(whole())


def put(client: PoolClient, lease: str, count: int = 1, **more: Any) -> Any:
    """Acquires devices for an hour: nobody renews them here."""
    until_ms = int((time.time() + 3600) * 1000)
    body = {"count": count, "ttl_s": 0, "until_ms": until_ms, **more}
    return client.ask("PUT", f"/v1/leases/{lease}", body)


def test_leases_come_and_go_by_events(client: PoolClient) -> None:
    async def story() -> None:
        async with watching(client) as top:
            await top.until("2 devices: 2 free; 0 leases, 0 waiting")
            await top.until(f"{client.url}: live, as of")
            assert all(len(line) <= 80 for line in top.text().splitlines())
            held = put(client, "first")["handles"][0]["device"]
            await top.until("1 exclusive, 1 free; 1 lease, 0 waiting")
            await top.until(" exclusive  0 of 0 ")
            (line,) = top.lines(f" {held} ")
            assert " exclusive  0 of 0 " in line
            assert " loopback " in line
            assert put(client, "both", 2)["state"] == "queued"
            await top.until("2 leases, 1 waiting")
            await top.press("3")
            await top.until("waits for 2 of any kind")
            client.ask("DELETE", "/v1/leases/first")
            await top.until("2 exclusive; 1 lease, 0 waiting")
            await top.press("2")
            assert "held" in top.lines("both")[0]
            assert not top.lines("first")

    play(story)


def test_without_events_it_asks_again_and_again(
    client: PoolClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Iterator[Event]:
        raise PoolError(404, "unknown", "there is no such path")

    monkeypatch.setattr(feed, "follow", refuse)

    async def story() -> None:
        async with watching(client, 0.2) as top:
            await top.until("asked each 0.2 s")
            put(client, "polled")
            await top.until("1 lease, 0 waiting")

    play(story)


def test_a_killed_manager_is_said_to_be_gone_and_found_again(
    client: PoolClient, manager: Manager
) -> None:
    put(client, "before")

    async def story() -> None:
        async with watching(client) as top:
            await top.until("live, as of")
            manager.kill()
            await top.until("NO ANSWER since")
            assert "1 lease, 0 waiting" in top.text()  # rows stay, and the heading says of when
            assert "rows are of" in top.text()
            await top.press("2", "enter")
            await top.until("NO ANSWER since")  # also on a page
            await top.press("escape")
            manager.start()
            await top.until("live, as of")
            assert "NO ANSWER" not in top.text()
            put(client, "after")
            await top.until("after")

    play(story)


def test_sort_filter_and_tables_that_keep_their_place(client: PoolClient) -> None:
    for name in ("x10", "x9", "other"):
        put(client, name, exclusive=False, share=100, memory_bytes=1 << 20)

    def order(top: Terminal) -> list[str]:
        found = [line.split()[0] for line in top.text().splitlines() if " loopback " in line]
        return [word for word in found if word in ("x9", "x10", "other")]

    async def story() -> None:
        async with watching(client) as top:
            await top.press("2")
            await top.until("lease ▲")
            assert order(top) == ["other", "x9", "x10"]  # numbers in names count as numbers
            await top.press("r")
            await top.until("lease ▼")
            assert order(top) == ["x10", "x9", "other"]
            await top.press("s")
            await top.until("holder ▲")
            await top.press("slash", "X", "1")
            await top.until("filter: X1")
            assert order(top) == ["x10"]
            assert "2 Leases 1" in top.text()
            await top.press("enter")  # keeps the filter
            assert order(top) == ["x10"]
            await top.press("escape")
            await top.until("filter:", there=False)
            assert len(order(top)) == 3
            # The cursor stays on its lease while others come and go.
            await top.press("home", "s", "r")
            table = top.app.screen.query_one("#table-leases", PoolTable)
            chosen = table.chosen()
            put(client, "a0", exclusive=False, share=100, memory_bytes=1 << 20)
            client.ask("DELETE", f"/v1/leases/{({'x9', 'x10', 'other'} - {chosen}).pop()}")
            await top.until("a0")
            assert table.chosen() == chosen

    play(story)


def test_a_page_of_what_was_never_there(client: PoolClient) -> None:
    put(client, "here")
    assert put(client, "waits", 2)["state"] == "queued"

    async def story() -> None:
        async with watching(client) as top:
            for kind, words in (
                ("lease", "It is over, or not yours to see."),
                ("device", "It is not in the pool."),
            ):
                top.app.post_message(Open(kind, "nothing"))
                shown = await top.until(words)
                assert "known" not in shown
            await top.press("escape", "escape")
            top.app.post_message(Open("lease", "waits"))
            await top.until("waits for   2 devices")
            client.ask("DELETE", "/v1/leases/here")
            client.ask("DELETE", "/v1/leases/waits")
            shown = await top.until("It is over, or not yours to see; this was known of it:")
            assert "mode        exclusive" in shown

    play(story)


def test_numbers_of_things() -> None:
    assert [counted(n, "device") for n in (0, 1, 2)] == ["0 devices", "1 device", "2 devices"]


def test_pages_of_a_device_and_a_lease_follow_the_pool(client: PoolClient) -> None:
    put(client, "paged", 2)

    async def story() -> None:
        async with watching(client) as top:
            await top.until("2 exclusive")
            await top.press("enter")
            await top.until("device      n2/0")
            assert "memory      0 B used of 1 GiB" in top.text()
            assert "epoch       " in top.text()
            await top.press("enter")
            await top.until("lease       paged")
            assert top.lines(" n2/0 ") and top.lines(" n2/1 ")
            client.ask("DELETE", "/v1/leases/paged")
            await top.until("It is over")
            assert not top.lines(" n2/0 ")
            await top.press("escape")
            await top.until("device      n2/0")
            await top.until("holder      none")
            await top.press("question_mark")
            await top.until("filter as you type")
            await top.press("escape", "escape")
            await top.until("1 Devices 2")

    play(story)


class Hostile(PoolClient):
    """A manager whose every name is an attack on the terminal."""

    def pages(self, path: str, rows: str, query: dict[str, Any] | None = None) -> list[Any]:
        found = super().pages(path, rows, query)
        for row in found:
            for name, value in row.items():
                if name in ("holder", "model", "why", "group", "reason", "daemon"):
                    row[name] = EVIL
                elif name in ("holders", "addresses"):
                    row[name] = [EVIL] * len(value)
        return found


def test_names_of_others_have_no_effect(client: PoolClient) -> None:
    put(client, "attacked")
    hostile = Hostile(client.url)

    async def story() -> None:
        async with watching(hostile, 1, (200, 40)) as top:
            await top.until(EVIL_SHOWN[:20])
            for keys in ((), ("enter",), ("enter",)):
                await top.press(*keys)
                # The tables cut long names, the pages show all of them.
                await top.until(EVIL_SHOWN if keys else EVIL_SHOWN[:20])
                for strip in top.app.screen._compositor.render_strips():
                    assert strip.text.isprintable()
                    for segment in strip:
                        if "evil" in segment.text and segment.style is not None:
                            assert "@click" not in segment.style.meta
            await top.press("escape", "escape", "slash", *"[/]")
            await top.until("filter: [/]")
            assert "1 Devices" in top.text()

    play(story)


ODD = [None, [], {}, [7], -1, float("nan"), 10**400, "text", True, 1]


def test_an_odd_answer_is_an_error_and_not_a_crash(
    client: PoolClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(client, "odd")
    client = PoolClient(client.url)  # the daemon goes on with the other one
    told = {rows: client.pages(f"/v1/{rows}", rows) for rows in ("devices", "leases")}
    answers = dict(told)
    monkeypatch.setattr(client, "pages", lambda _, rows: answers[rows])
    monkeypatch.setattr(client, "ask", lambda *_, **__: {"requests": [], "now_ms": 1})
    feed.read(client)
    for rows in told:
        (row, *_) = told[rows]
        for name, value in row.items():
            # An older manager does not tell the use of devices.
            use = name in ("memory_used_bytes", "sessions", "busy_sessions")
            for odd in ODD:
                number = use or type(value) in (int, float)
                if odd is not True and odd == 1 and number:
                    continue  # that may well be
                if type(odd) is type(value) and odd in ("text", [], True):
                    continue
                answers[rows] = [{**row, name: odd}]
                with (
                    contextlib.nullcontext()
                    if use and odd is None
                    else pytest.raises(OutboardError, match="is not understood")
                ):
                    feed.read(client)
            answers[rows] = [{key: row[key] for key in row if key != name}]
            with contextlib.nullcontext() if use else pytest.raises(OutboardError):
                feed.read(client)
        answers[rows] = told[rows]
    for odd in ("text", None, 7):
        answers["leases"] = [odd]
        with pytest.raises(OutboardError, match="is not understood"):
            feed.read(client)


@pytest.mark.parametrize("way", ["unix", "tls"])
def test_other_ways_to_the_manager(way: str, tmp_path: Path) -> None:
    keys = make_keys(tmp_path) if way == "tls" else {}
    manager = Manager(tmp_path / "m", "", keys.get("m1"))
    client = manager.client(keys["ada"]) if keys else manager.local()
    other = manager.local()

    async def story() -> None:
        async with watching(client) as top:
            await top.until(": live,")
            with running(other, "n5"):
                await top.until("1 device: 1 ")
                assert top.lines(" n5/0 ")

    try:
        play(story)
    finally:
        assert manager.stop() == 0


STREAM = (
    ": comment\n\nevent: change\r\nid: 7\r\ndata: {\"rev\":7}\r\n\r\n"
    "id: 8\rdata: ä\rdata:b\r\r: alive\n\nid: bad\0id\ndata\n\nevent: no data\n\n"
    "data: mixed\r\n\ndata: next\n\r\nid: 9\ndata: cut"
).encode()  # fmt: skip
EVENTS = [
    Event("7", "change", '{"rev":7}'),
    Event("8", "message", "ä\nb"),
    Event("8", "message", ""),
    Event("8", "message", "mixed"),
    Event("8", "message", "next"),
]


def test_events_are_the_same_however_they_are_cut() -> None:
    size = len(STREAM)
    cuts = [[a, b] for a in range(size + 1) for b in range(a, size + 1)]
    cuts.append(list(range(size)))
    for ends in cuts:
        pieces = [STREAM[a:b] for a, b in zip([0, *ends], [*ends, size], strict=True)]
        decoder = Decoder()
        assert [event for piece in pieces for event in decoder.feed(piece)] == EVENTS, pieces


@pytest.mark.parametrize("piece", [b"x" * 1000, b"data: " + b"x" * 1000 + b"\n", b"data\n" * 1000])
def test_an_endless_line_of_events_is_refused(piece: bytes) -> None:
    decoder = Decoder()
    with pytest.raises(ValueError, match="more than"):
        for _ in range(1000):
            list(decoder.feed(piece))


def test_names_in_their_order() -> None:
    names = ["n1/2", "n1/10", "N2/0", "n10/0", "n", "1", "", "²", "9" * 200, "9" * 199 + "8"]
    assert sorted(names[:4], key=natural) == ["n1/2", "n1/10", "N2/0", "n10/0"]
    sorted(names, key=natural)  # any two can be compared
    assert printable("a\x1b\x07\u202e\u200b\n[b]ä") == "a?????[b]ä"


def in_terminal(words: list[str], keys: bytes, after: bytes, **variables: str) -> tuple[int, bytes]:
    """Runs a command in a terminal of its own; types `keys` once it has printed `after`."""
    main, other = pty.openpty()
    environment = clean_environment(TERM="xterm-256color", COLUMNS="80", LINES="24", **variables)
    process = subprocess.Popen(
        words, stdin=other, stdout=other, stderr=other, env=environment, start_new_session=True
    )
    os.close(other)
    written, typed, end = b"", False, time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < end:
            if select.select([main], [], [], 0.1)[0]:
                try:
                    written += os.read(main, 1 << 16)
                except OSError:  # the terminal of a process that has ended
                    break
            if not typed and after in written:
                typed = True
                os.write(main, keys)
        return process.wait(10), written
    finally:
        process.kill()
        os.close(main)


def test_in_a_terminal_without_colours(client: PoolClient) -> None:
    words = command_line("top", "--pool", client.url)
    status, written = in_terminal(words, b"q", b"n2/0", NO_COLOR="1")
    assert status == 0, written[-2000:]
    for code in written.split(b"\x1b[")[1:]:
        numbers = code.partition(b"m")[0].split(b";")
        for at, number in enumerate(numbers):
            if number in (b"38", b"48") and numbers[at + 1 : at + 2] == [b"2"]:
                assert len(set(numbers[at + 2 : at + 5])) == 1, numbers  # a grey
            assert number not in {b"%d" % n for n in (*range(31, 37), *range(41, 47))}, numbers
    assert b"\x1b[?1049l" in written  # the terminal is as before


def test_what_is_missing_is_named(client: PoolClient, outboard: Outboard) -> None:
    result = outboard("top", "--pool", client.url)
    assert result.returncode == 1
    assert "needs a terminal" in result.stderr
    assert "outboard pool status" in result.stderr
    script = "import sys; sys.modules['textual'] = None; from outboard.start import main; main()"
    words = [sys.executable, "-P", "-c", script, "top", "--pool", client.url]
    status, written = in_terminal(words, b"", b"pip")
    assert status == 1
    assert b"pip install 'outboard[top]'" in written
    status, written = in_terminal(command_line("pool", "top", "--pool", "unix:/nowhere"), b"", b"?")
    assert status == 1
    assert b"does not answer" in written
    result = outboard("top", "--pool", client.url, "--interval", "0")
    assert result.returncode == 2
    assert "0.1s to 1h" in result.stderr
