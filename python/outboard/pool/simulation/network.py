"""A network that drops, delays and repeats messages, and that can be cut between two hosts."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from outboard.pool.simulation.clock import Clock

_DROP = 0.02
_REPEAT = 0.02
_LATE = 0.01  # of the messages take up to _LATE_MS
_LATE_MS = 8_000
_USUAL_MS = 40


class Network:
    def __init__(self, clock: Clock, random: Random) -> None:
        self._clock, self._random = clock, random
        self._cuts: set[tuple[str, str]] = set()
        self.calm = False  # nothing is lost, late or cut

    def cut(self, source: str, target: str) -> None:
        """Nothing gets from the source to the target; the other way is cut by another call."""
        self._cuts.add((source, target))

    def heal(self) -> None:
        self._cuts.clear()

    def send(self, source: str, target: str, deliver: Callable[[], None]) -> None:
        """Delivers once, not at all, or several times, each after a time of its own."""
        random = self._random.random
        if self.calm:
            self._clock.after(1 + int(random() * 4), deliver)
            return
        if (source, target) in self._cuts:
            return
        if random() < _DROP:
            return
        copies = 2 if random() < _REPEAT else 1
        for _ in range(copies):
            longest = _LATE_MS if random() < _LATE else _USUAL_MS
            self._clock.after(1 + int(random() * longest), deliver)
