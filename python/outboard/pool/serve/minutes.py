"""How much of the pool was in use, minute by minute: the page's history, in memory only."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from outboard.pool.core.records import LeaseState
from outboard.pool.core.state import Allocation, State, allocation

MINUTE_MS = 60_000
_KEPT = 24 * 60
_IN_USE = (Allocation.EXCLUSIVE, Allocation.SHARED)


class Minute(NamedTuple):
    """`at_ms`: pool time."""

    at_ms: int
    devices_in_use: int
    leases_held: int
    requests_waiting: int


def minute_of(state: State) -> Minute:
    """Counts as of now."""
    return Minute(
        state.now_ms,
        sum(allocation(state, device) in _IN_USE for device in state.devices),
        sum(lease.state is LeaseState.HELD for lease in state.leases.values()),
        len(state.waiting),
    )


class Minutes:
    """The last day, the oldest first. It has one point of a minute, and none of minutes in which
    nobody looked."""

    def __init__(self) -> None:
        self._points: deque[Minute] = deque(maxlen=_KEPT)

    def __len__(self) -> int:
        return len(self._points)

    def __iter__(self) -> Iterator[Minute]:
        return iter(self._points)

    def add(self, point: Minute) -> None:
        """Drops a second point of a minute, and what is older than a day."""
        minute = point.at_ms // MINUTE_MS
        if self._points and minute <= self._points[-1].at_ms // MINUTE_MS:
            return
        self._points.append(point)
        while minute - self._points[0].at_ms // MINUTE_MS >= _KEPT:
            self._points.popleft()


def until_next_s(now_ms: int) -> float:
    """Returns the seconds until the next minute of pool time begins."""
    return (MINUTE_MS - now_ms % MINUTE_MS) / 1000
