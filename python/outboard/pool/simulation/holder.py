"""A simulated client: acquires, connects, computes, grows, releases, or just dies."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from outboard.pool.core.commands import Command, GetLease, Grow, PutLease, Release, Renew, Shrink
from outboard.pool.core.records import LeaseState, Priority, Request, Spread
from outboard.pool.core.replies import Answer, HandleView, LeaseView, Problem, Renewal
from outboard.pool.simulation.clock import Clock
from outboard.pool.simulation.daemon import MEMORY, Connection, Daemon
from outboard.pool.simulation.gate_model import Refusal, Token
from outboard.pool.simulation.manager import NAME as MANAGER
from outboard.pool.simulation.manager import Manager
from outboard.pool.simulation.network import Network
from outboard.pool.simulation.oracle import Oracle

LONGEST_HOLD_MS = 60_000
LONGEST_COMMAND_MS = 5_000
_TTL_MS = 30_000
_DISCONNECT = 0.4  # of the commands are the last ones of their connections


class Holder:
    """One lease after the other. A dead one says nothing more; its commands still end."""

    def __init__(
        self,
        name: str,
        clock: Clock,
        random: Random,
        network: Network,
        manager: Manager,
        daemons: dict[str, Daemon],
        oracle: Oracle,
    ) -> None:
        self.name = name
        self._clock, self._random, self._network = clock, random, network
        self._manager, self._daemons, self._oracle = manager, daemons, oracle
        self._leases = 0
        self.may_start = True
        self._begin()

    def die(self) -> None:
        """The program ends without a word. Another one takes its place, if it may start."""
        self._begin()

    def _begin(self) -> None:
        self._leases += 1
        self._id = f"{self.name}.{self._leases}"
        self._request = self._choose()
        self._view: LeaseView | None = None
        self._sessions: dict[tuple[str, int], Connection] = {}
        self._until_ms = 0
        self._later(self._random.randrange(1, 3_000), self._poll)

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Does it, unless this lease is over for the holder by then."""
        mine = self._leases
        self._clock.after(delay_ms, lambda: action() if mine == self._leases else None)

    def _choose(self) -> Request:
        random = self._random
        exclusive = random.random() < 0.6
        kind = random.random()
        return Request(
            count=random.choice((1, 1, 1, 2, 3)),
            exclusive=exclusive,
            share=1000 if exclusive else random.choice((250, 500, 600)),
            memory_bytes=0 if exclusive else random.choice((0, 0, 100, 300, MEMORY)),
            spread=random.choice((Spread.ANY, Spread.ANY, Spread.DISTINCT_NODES)),
            priority=Priority.IDLE if kind < 0.15 else Priority.NORMAL,
            max_hold_ms=LONGEST_HOLD_MS,
            until_ms=self._clock.now_ms + 600_000 if kind > 0.9 else 0,
            ttl_ms=0 if kind > 0.9 else _TTL_MS,
            static=kind > 0.9,
            replace=random.random() < 0.5,
        )

    def _ask(self, command: Command) -> None:
        mine, asked_ms = self._leases, self._clock.now_ms

        def hear(value: Answer) -> None:
            self._oracle.holder_heard(value, asked_ms)
            self._take(mine, value)

        def answer(value: Answer) -> None:
            self._network.send(MANAGER, self.name, lambda: hear(value))

        self._network.send(self.name, MANAGER, lambda: self._manager.handle(command, answer))

    def _poll(self) -> None:
        """Acquires, renews or asks, again and again, as if each answer could be lost."""
        if self._view is None:
            if not self.may_start:
                self._later(5_000, self._poll)
                return
            self._ask(PutLease(self._id, self.name, self._request))
        elif self._view.state is LeaseState.QUEUED:
            self._ask(GetLease(self._id, self.name))
        else:
            self._ask(Renew(self.name, (self._id,), self._unreachable()))
        self._later(self._random.choice((2_000, 3_000, 8_000)), self._poll)

    def _unreachable(self) -> tuple[str, ...]:
        views = self._view.handles if self._view else ()
        return tuple(v.device for v in views if not self._daemons[v.daemon].alive)

    def _take(self, mine: int, answer: Answer) -> None:
        if mine != self._leases:
            return
        if isinstance(answer, Renewal):
            answer = answer.leases[0]
        if isinstance(answer, Problem):
            if answer.name in ("lease-over", "can-never-fit", "unknown"):
                self._begin()
        elif isinstance(answer, LeaseView) and (self._view is None or answer.rev >= self._view.rev):
            first = self._view is None or self._view.state is LeaseState.QUEUED
            self._view = answer
            if first and answer.state is LeaseState.HELD:
                self._until_ms = self._clock.now_ms + self._random.randrange(100, 15_000)
                self._later(1, self._work)

    def _work(self) -> None:
        view, random = self._view, self._random
        if view is None:
            return
        chance = random.random()
        if self._clock.now_ms >= self._until_ms:
            for _ in range(3):  # as if the first was lost
                self._ask(Release(self._id, self.name))
            self._begin()
            return
        if chance < 0.01:
            self._ask(Grow(self._id, self.name, f"part{random.randrange(2)}", 1))
        elif chance < 0.05 and view.handles:
            handle = random.choice(view.handles)
            self._ask(Shrink(self._id, self.name, handle.device))
            # Another thread of the program has not heard of it.
            self._later(random.randrange(1, 4_000), lambda: self._use(handle, view))
        if view.handles:
            self._use(random.choice(view.handles), view)
        self._later(random.randrange(50, 1_500), self._work)

    def _use(self, handle: HandleView, view: LeaseView) -> None:
        """Runs a command on a device, over a session that it opens if there is none."""
        daemon, key, mine = (
            self._daemons[handle.daemon],
            (handle.device, handle.epoch),
            self._leases,
        )
        token = Token(
            handle.daemon,
            handle.device,
            self.name,
            handle.epoch,
            handle.floor,
            handle.exclusive,
            handle.share,
            handle.memory_bytes,
            view.end_ms,
            view.rev,
        )
        lasts_ms = self._random.randrange(1, LONGEST_COMMAND_MS)

        def arrive() -> None:
            if not daemon.alive:
                self._sessions.pop(key, None)
                return
            session = self._sessions.get(key) if mine == self._leases else None
            if session is None:
                # Also late copies of messages of leases that are over come here.
                opened = daemon.open(token, self.name)
                if isinstance(opened, Refusal):
                    return
                session = opened
            if mine != self._leases:
                daemon.command(session, lasts_ms)
                daemon.close(session)
                return
            self._sessions[key] = session
            if not daemon.command(session, lasts_ms):
                del self._sessions[key]
            elif self._random.random() < _DISCONNECT:
                daemon.close(session)
                del self._sessions[key]

        self._network.send(self.name, handle.daemon, arrive)
