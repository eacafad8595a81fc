"""Watches a simulated pool for what must never happen, with books of its own.

I1 to I6 are the invariants of docs/pool.md. I1 and I3 are checked at each start of a command, I2
and I4 at each commit and answer, I5 and I6 whenever the simulation becomes calm. "Clean" is what
the manager's confirmation promises: a granted device has nothing left of earlier leases.
"""

from __future__ import annotations

from outboard.pool.core.commands import Command
from outboard.pool.core.records import Device, Handle
from outboard.pool.core.replies import Answer, Desired, LeaseView
from outboard.pool.core.state import State
from outboard.pool.core.transaction import Change
from outboard.pool.simulation.gate_model import Token


class ViolationError(AssertionError):
    """An invariant does not hold."""


def require(condition: bool, invariant: str, *facts: object) -> None:
    if not condition:
        raise ViolationError(f"{invariant}: {' '.join(map(str, facts))}")


class Oracle:
    """`confirms`: the manager grants confirmed devices only, so that I2 applies."""

    def __init__(self, confirms: bool) -> None:
        self._confirms = confirms
        self._running: dict[str, list[Token]] = {}
        self._floors: dict[str, int] = {}
        self._exclusive: dict[str, int] = {}
        self._epochs: dict[str, int] = {}
        self._open: dict[tuple[str, int], str] = {}
        self._ended: dict[tuple[str, int], int] = {}
        self.commands = 0
        self.grants = 0

    def floor_known(self, device: str, floor: int) -> None:
        """The device's daemon has seen a floor."""
        if floor > self._floors.get(device, 0):
            self._floors[device] = floor

    def desired_known(self, desired: Desired) -> None:
        for device in desired.devices:
            self.floor_known(device.id, device.floor)

    def daemon_died(self, devices: list[str]) -> None:
        """Commands end with their daemon. A new one knows no floors."""
        for device in devices:
            self._running.pop(device, None)
            self._floors.pop(device, None)

    def began(self, token: Token) -> None:
        device, floor = token.device, self._floors.get(token.device, 0)
        require(token.epoch >= floor, "I3", device, "starts epoch", token.epoch, "floor", floor)
        if self._confirms:
            key = (device, token.epoch)
            require(key in self._open, "clean", device, "starts a confirmed end", token.epoch)
        running = self._running.setdefault(device, [])
        running.append(token)
        self.commands += 1
        epochs = {other.epoch for other in running}
        if len(epochs) > 1:
            mixed = any(other.exclusive for other in running)
            require(not mixed, "I1", device, "runs epochs", sorted(epochs))
            share = sum({other.epoch: other.share for other in running}.values())
            require(share <= 1000, "I1", device, "runs shares of", share)

    def ended(self, token: Token) -> None:
        if token in self._running.get(token.device, []):
            self._running[token.device].remove(token)

    def committed(self, changes: list[Change]) -> None:
        for change in changes:
            if isinstance(change.record, Handle):
                self._handle(change.record)
            elif isinstance(change.record, Device):
                device = change.record
                known = self._epochs.get(device.id, 0)
                require(device.epoch >= known, "I2", device.id, "epoch falls", device.epoch)

    def _handle(self, handle: Handle) -> None:
        key = (handle.device, handle.epoch)
        if handle.open and key not in self._open:
            last = self._epochs.get(handle.device, 0)
            require(handle.epoch > last, "I2", handle.device, "epoch", handle.epoch, "after", last)
            self._epochs[handle.device] = handle.epoch
            others = [e for d, e in self._open if d == handle.device]
            if self._confirms and (handle.exclusive or handle.device in self._exclusive):
                require(not others, "I2", handle.device, handle.epoch, "overlaps", others)
                running = self._running.get(handle.device)
                require(not running, "clean", handle.device, "granted, but runs", running)
            self._open[key] = handle.lease
            self.grants += 1
        elif not handle.open:
            self._open.pop(key, None)
        if handle.exclusive and handle.open:
            self._exclusive[handle.device] = handle.epoch
        elif self._exclusive.get(handle.device) == handle.epoch:
            del self._exclusive[handle.device]
        if handle.end_rev:
            self._ended.setdefault(key, handle.end_rev)

    def answered(self, answer: Answer) -> None:
        """An answer leaves the manager: what it says must be stored."""
        if isinstance(answer, LeaseView):
            for view in answer.handles:
                key = (view.device, view.epoch)
                stored = self._open.get(key) == answer.id and key not in self._ended
                require(stored, "I4", "answered handle is not stored", key, answer.id)

    def applied(self, command: Command, answer: Answer, state: State) -> None:
        """The manager has applied a command. It commits and answers next."""

    def holder_heard(self, answer: Answer, asked_ms: int) -> None:
        """An answer reaches its holder, who asked at a time."""

    def restarted(self, state: State) -> None:
        """All grants that were answered are there after a start."""
        require(state.handles.keys() == self._open.keys(), "I4", "handles differ after a start")

    def all_free(self, state: State, dead: set[str]) -> None:
        """I5: long after all holders died, every device of a living daemon is free."""
        for handle in state.handles.values():
            daemon = state.devices[handle.device].daemon
            require(daemon in dead, "I5", "leaked", handle)
        alive = [x.id for x in state.leases.values() if x.state in ("queued", "held")]
        require(not alive, "I5", "leases of dead holders", alive)

    def all_served(self, state: State) -> None:
        """I6: with healthy devices and holders that end, nobody waits for ever."""
        require(not state.waiting, "I6", "still waiting", list(state.waiting))
