"""Writes the history of a simulated pool, in the form that tests/cluster/check_history.py reads."""

from __future__ import annotations

from typing import Any

import msgspec

from outboard.pool.core.commands import Command
from outboard.pool.core.replies import Answer, LeaseView
from outboard.pool.core.state import State
from outboard.pool.core.transaction import Change
from outboard.pool.simulation.clock import Clock
from outboard.pool.simulation.gate_model import Token
from outboard.pool.simulation.manager import NAME
from outboard.pool.simulation.oracle import Oracle


def plain(value: object) -> Any:
    """Returns what reading the value from a line of a log gives."""
    return msgspec.json.decode(msgspec.json.encode(value))


class Recorder(Oracle):
    """An oracle that also takes notes. `t`: virtual time, of which several events may share one."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(confirms=True)
        self.events: list[dict[str, Any]] = []
        self._clock = clock
        self._rev = 0

    def applied(self, command: Command, answer: Answer, state: State) -> None:
        self._rev = state.rev
        self._note(
            "apply",
            manager=NAME,
            rev=state.rev,
            now_ms=self._clock.now_ms,
            type=type(command).__name__,
            command=plain(command),
            answer=plain(answer),
        )

    def committed(self, changes: list[Change]) -> None:
        super().committed(changes)
        self._note("commit", manager=NAME, rev=self._rev)

    def restarted(self, state: State) -> None:
        super().restarted(state)
        self._note("start", manager=NAME, rev=state.rev)

    def holder_heard(self, answer: Answer, asked_ms: int) -> None:
        if isinstance(answer, LeaseView):
            handles = [[view.device, view.epoch] for view in answer.handles]
            self._note("answer", lease=answer.id, rev=answer.rev, asked=asked_ms, handles=handles)

    def floor_known(self, device: str, floor: int) -> None:
        super().floor_known(device, floor)
        self._note("floor", device=device, floor=floor)

    def daemon_died(self, devices: list[str]) -> None:
        super().daemon_died(devices)
        for device in devices:
            self._note("died", device=device)

    def began(self, token: Token) -> None:
        super().began(token)
        self._note("begin", device=token.device, epoch=token.epoch, exclusive=token.exclusive)

    def ended(self, token: Token) -> None:
        super().ended(token)
        self._note("end", device=token.device, epoch=token.epoch)

    def _note(self, event: str, **facts: Any) -> None:
        self.events.append({"t": self._clock.now_ms, "event": event, **facts})
