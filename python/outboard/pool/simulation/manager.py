"""The simulated manager: the real core over a store in memory, with crashes at any place."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from outboard.pool.core.apply import apply
from outboard.pool.core.commands import Command, Start, Tick
from outboard.pool.core.devices import desired
from outboard.pool.core.replies import Answer, DesiredChanged
from outboard.pool.core.state import Config, State
from outboard.pool.simulation.clock import Clock
from outboard.pool.simulation.oracle import Oracle
from outboard.pool.store.memory import MemoryStore

NAME = "manager"
_TICK_MS = 500

Push = Callable[[str, Answer], None]


class Manager:
    """`push`: carries a desired state to a daemon that polls for it."""

    def __init__(
        self, clock: Clock, random: Random, oracle: Oracle, config: Config, push: Push
    ) -> None:
        self._clock, self._random, self._oracle = clock, random, oracle
        self._config, self._push = config, push
        self.store = MemoryStore()
        self.state = State(config)
        self.alive = True
        self._life = 0
        self.crash_chance = 0.0  # of each command that changes something
        self.applied = 0
        self._restart()

    def handle(self, command: Command, reply: Callable[[Answer], None]) -> None:
        """Applies, commits, and only then answers. A crash may come before or after the commit."""
        if not self.alive:
            return
        outcome = apply(self.state, command, self._clock.now_ms)
        self.applied += 1
        self._oracle.applied(command, outcome.answer, self.state)
        if outcome.changes:
            crash = self._random.random()
            if crash < self.crash_chance / 2:
                self.crash()
                return
            self.store.commit(self.state.rev, self.state.now_ms, outcome.changes)
            self._oracle.committed(outcome.changes)
            if crash < self.crash_chance:
                self.crash()
                return
        self._oracle.answered(outcome.answer)
        reply(outcome.answer)
        for notice in outcome.notices:
            if isinstance(notice, DesiredChanged):
                self._push(notice.daemon, desired(self.state, notice.daemon))

    def crash(self) -> None:
        self.alive = False
        self._clock.after(self._random.randrange(100, 20_000), self._restart)

    def _restart(self) -> None:
        self._life += 1
        self.alive = True
        self.state = self.store.load(self._config)
        self._oracle.restarted(self.state)
        chance, self.crash_chance = self.crash_chance, 0.0
        self.handle(Start(), lambda answer: None)
        self.crash_chance = chance
        self._tick(self._life)

    def _tick(self, life: int) -> None:
        if self.alive and life == self._life:
            self.handle(Tick(), lambda answer: None)
            self._clock.after(_TICK_MS, lambda: self._tick(life))
