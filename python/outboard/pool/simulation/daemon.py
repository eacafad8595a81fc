"""A simulated daemon: the model of the gate, heartbeats, and commands that take time."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from outboard.pool.core.commands import DeviceFacts, DeviceReport, Heartbeat, RegisterDaemon
from outboard.pool.core.replies import Answer, Desired, Problem
from outboard.pool.simulation.clock import Clock
from outboard.pool.simulation.gate_model import LeaseGate, Refusal, Token
from outboard.pool.simulation.manager import NAME as MANAGER
from outboard.pool.simulation.manager import Manager
from outboard.pool.simulation.network import Network
from outboard.pool.simulation.oracle import Oracle

MEMORY = 1000
_HEARTBEAT_MS = 2_000


class Connection(NamedTuple):
    """A session of one start of a daemon."""

    life: int
    session: int
    token: Token


class Daemon:
    def __init__(
        self,
        name: str,
        devices: list[str],
        clock: Clock,
        random: Random,
        network: Network,
        manager: Manager,
        oracle: Oracle,
    ) -> None:
        self.name, self.devices = name, devices
        self._clock, self._random, self._network = clock, random, network
        self._manager, self._oracle = manager, oracle
        self._starts = 0
        self.alive = False
        self._failing: dict[str, int] = {}  # device -> pool time until which sessions fail
        self.start()

    def start(self) -> None:
        """A new process: it has forgotten everything."""
        self._starts += 1
        self.alive, self._seq, self._registered = True, 0, False
        self._gate = LeaseGate(self.name, dict.fromkeys(self.devices, MEMORY))
        self._beat(self._starts)

    def kill(self, down_ms: int) -> None:
        if self.alive:
            self.alive = False
            self._oracle.daemon_died(self.devices)
            self._clock.after(down_ms, self.start)

    def fail(self, device: str, for_ms: int) -> None:
        """Lets the sessions of a device fail for some time. Then its self-tests pass."""
        self._failing[device] = self._clock.now_ms + for_ms

    def desire(self, desired: Answer) -> None:
        """A desired state arrives, or the answer that the manager does not know this daemon."""
        if isinstance(desired, Problem):
            self._registered = False
        elif isinstance(desired, Desired) and self._registered:
            self._enforce(desired)

    def open(self, token: Token, user: str) -> Connection | Refusal:
        result = self._gate.admit(token, user, self._clock.now_ms)
        if result not in (Refusal.STARTING, Refusal.DENIED, Refusal.FENCED, Refusal.EXPIRED):
            self._oracle.floor_known(token.device, token.floor)
        return result if isinstance(result, Refusal) else Connection(self._starts, result, token)

    def command(self, connection: Connection, lasts_ms: int) -> bool:
        """Starts a command of `lasts_ms`; False if the session is fenced or its daemon has gone."""
        if connection.life != self._starts or not self._gate.begin(connection.session):
            return False
        session, token, life, gate = connection.session, connection.token, self._starts, self._gate
        self._oracle.began(token)

        def finish() -> None:
            if self.alive and life == self._starts:
                gate.end(session)
                self._oracle.ended(token)

        self._clock.after(lasts_ms, finish)
        return True

    def close(self, connection: Connection) -> None:
        if connection.life == self._starts:
            self._gate.close(connection.session)

    def _enforce(self, desired: Desired) -> None:
        self._gate.apply(desired, self._clock.now_ms)
        if desired.rev >= self._gate.rev:
            self._oracle.desired_known(desired)

    def _beat(self, life: int) -> None:
        if not self.alive or life != self._starts:
            return
        self._gate.tick(self._clock.now_ms)
        instance = f"{self.name}.{life}"
        if not self._registered:
            facts = tuple(DeviceFacts(d, "gpu", "model", MEMORY) for d in self.devices)
            self._ask(RegisterDaemon(self.name, instance, facts), self._welcome(life))
        else:
            self._seq += 1
            beat = Heartbeat(self.name, instance, self._seq, self._gate.rev, self._report())
            self._ask(beat, self._take_desired(life))
        self._clock.after(_HEARTBEAT_MS, lambda: self._beat(life))

    def _report(self) -> tuple[DeviceReport, ...]:
        reports = []
        for report in self._gate.report():
            fails = self._clock.now_ms < self._failing.get(report.id, 0)
            reports.append(
                replace(
                    report,
                    failed_sessions=3 if fails else 0,
                    self_tests_ok=0 if fails else 3,
                )
            )
        return tuple(reports)

    def _take_desired(self, life: int) -> Callable[[Answer], None]:
        return lambda answer: self.desire(answer) if self._is(life) else None

    def _welcome(self, life: int) -> Callable[[Answer], None]:
        def welcome(answer: Answer) -> None:
            if self._is(life) and isinstance(answer, Desired):
                self._registered = True
                self._enforce(answer)

        return welcome

    def _is(self, life: int) -> bool:
        return self.alive and life == self._starts

    def _ask(self, command: RegisterDaemon | Heartbeat, take: Callable[[Answer], None]) -> None:
        def answer(value: Answer) -> None:
            self._network.send(MANAGER, self.name, lambda: take(value))

        self._network.send(self.name, MANAGER, lambda: self._manager.handle(command, answer))
