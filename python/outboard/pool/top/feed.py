"""Asks the manager again and again, in threads of its own: at each commit, and at least each few
seconds, because renewals and heartbeats change rows without a commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from outboard.errors import OutboardError
from outboard.pool.client import PoolClient, PoolError, UnreachableError
from outboard.pool.events import follow

_SHORTEST_S = 0.25  # between two readings, so that a burst of commits is shown once
_LEAST_REST = 4  # pauses are at least so many times a reading: a large pool is asked less often
_LONGEST_REST_S = 5.0  # the manager may have been stopped during a reading
_RETRY_S = 1.0
_MOST = 1 << 63

# The fields of rows that are shown, and their types: docs/pool-openapi.json. An older manager lacks
# those with "?".
_DEVICE = {
    **dict.fromkeys("id daemon kind model allocation health admin why".split(), "text"),
    **dict.fromkeys(("holders", "leases", "addresses"), "texts"),
    **dict.fromkeys(("memory_bytes", "gflops", "epoch", "floor"), "number"),
    **dict.fromkeys(("memory_used_bytes", "sessions", "busy_sessions"), "number?"),
}
_LEASE = {
    **dict.fromkeys("id holder group state priority reason".split(), "text"),
    **dict.fromkeys(("waiting", "arrived_ms", "end_ms"), "number"),
    "exclusive": "flag",
    "devices": "texts",
}
_REQUEST = {
    **dict.fromkeys(("holder", "lease", "priority", "reason"), "text"),
    **dict.fromkeys(("place", "count", "arrived_ms"), "number"),
}


class View(NamedTuple):
    """A pool at a moment. `at`, `read_s`: the time of day here, and the monotonic clock. Devices
    that were retired are left out."""

    now_ms: int
    at: str
    read_s: float
    devices: tuple[Any, ...]
    leases: tuple[Any, ...]
    queue: tuple[Any, ...]


class News(NamedTuple):
    """`view`: the last one that was read. `problem`: why there is none of now; `since`: when that
    began. `pushed`: the manager tells of commits at once."""

    view: View
    pushed: bool = False
    problem: str = ""
    since: str = ""


def read(client: PoolClient) -> View:
    """Asks for all rows. Raises OutboardError."""
    try:
        rows = client.rows()
        _check(rows.devices, _DEVICE)
        _check(rows.leases, _LEASE)
        _check(rows.queue, _REQUEST)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise OutboardError(
            f"the answer of the manager at {client.url} is not understood ({error!r}) has it "
            "another version?"
        ) from error
    shown = map(tuple, (rows.present_devices(), rows.leases, rows.queue))
    return View(rows.now_ms, time.strftime("%H:%M:%S"), time.monotonic(), *shown)


def _check(rows: list[Any], types: dict[str, str]) -> None:
    """Checks all fields that screens read, so that an odd answer fails here. Raises ValueError or
    LookupError."""
    for row in rows:
        for name, kind in types.items():
            value = row.get(name) if kind == "number?" else row[name]
            if kind == "text":
                good = type(value) is str
            elif kind == "texts":
                good = type(value) is list and all(type(text) is str for text in value)
            elif kind == "flag":
                good = type(value) is bool
            else:
                good = type(value) in (int, float) and 0 <= value < _MOST
                good = good or (kind == "number?" and value is None)
            if not good:
                raise ValueError(f"{name} is no {kind.removesuffix('?')}")


class Feed:
    """Two threads, from start() until stop(): one reads all rows and calls `tell` with each News,
    the other follows the events and wakes the first.

    Threads: start() and stop() any, once each. `tell` is called by the reading thread only, maybe
    once more after stop(), which waits for neither thread: they may be in a question to a manager.
    """

    def __init__(
        self, client: PoolClient, tell: Callable[[News], Any], interval_s: float, first: View
    ) -> None:
        self._client, self._tell, self._interval_s = client, tell, interval_s
        self._changed = threading.Event()
        self._ended = threading.Event()
        self._pushed = False
        self._news = News(first)

    def start(self) -> None:
        for work in (self._read_again, self._follow):
            threading.Thread(target=work, daemon=True, name=f"top {work.__name__}").start()

    def stop(self) -> None:
        self._ended.set()
        self._changed.set()

    def _read_again(self) -> None:
        while not self._ended.is_set():
            self._changed.clear()
            begin = time.monotonic()
            self._news = self._next()
            self._tell(self._news)
            rest_s = max(_SHORTEST_S, _LEAST_REST * (time.monotonic() - begin))
            rest_s = min(rest_s, _LONGEST_REST_S)
            self._ended.wait(_RETRY_S if self._news.problem else rest_s)
            if not self._news.problem:
                self._changed.wait(max(0.0, self._interval_s - rest_s))

    def _next(self) -> News:
        try:
            return News(read(self._client), self._pushed)
        except OutboardError as error:
            since = self._news.since or time.strftime("%H:%M:%S")
            return News(self._news.view, False, error.message, since)

    def _follow(self) -> None:
        seen = ""
        while not self._ended.is_set():
            try:
                for event in follow(self._client, self._heard):
                    if event.id != seen:
                        seen = event.id
                        self._changed.set()
            except (PoolError, UnreachableError):
                pass  # the other thread meets the same manager, and says what is wrong
            if self._pushed:
                self._pushed = False
                self._changed.set()
            self._ended.wait(_RETRY_S)

    def _heard(self) -> bool:
        if not self._pushed:
            self._pushed = True
            self._changed.set()
        return not self._ended.is_set()
