"""Virtual time: events in the order of their times."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Clock:
    """Ties are broken by the order of `at()`, so that a seed gives one history."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000
        self.events = 0
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, time_ms: int, action: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._queue, (max(time_ms, self.now_ms), self._number, action))

    def after(self, delay_ms: int, action: Callable[[], None]) -> None:
        self.at(self.now_ms + delay_ms, action)

    def step(self) -> None:
        self.now_ms, _, action = heapq.heappop(self._queue)
        self.events += 1
        action()
