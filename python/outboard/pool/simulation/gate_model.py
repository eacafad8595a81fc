"""A model of the daemon's lease gate: what `LeaseGate` in C++ decides, in Python.

Both answer tests/pool/gate_vectors.json. Signatures and claims of tokens are checked before the
gate sees a token; here a token is its claims.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from outboard.pool.core.commands import DeviceReport, SessionReport
from outboard.pool.core.records import WHOLE, Record
from outboard.pool.core.replies import Desired, DesiredLease

EXPIRY_SLACK_MS = 1_000  # the error of the daemon's estimate of pool time is below


class Token(Record, frozen=True):
    """The claims of a lease token. `floor`: implied by it; `rev`: of the state that signed it."""

    daemon: str
    device: str
    holder: str
    epoch: int
    floor: int
    exclusive: bool
    share: int
    memory_bytes: int
    exp_ms: int
    rev: int
    sessions: int = 64


class Refusal(StrEnum):
    STARTING = "starting"  # the daemon has not registered yet
    DENIED = "denied"  # the token is for somebody or something else
    FENCED = "fenced"  # its lease is over
    EXPIRED = "expired"
    FENCING = "fencing"  # a command of an older epoch still runs: try again
    FULL = "full"  # memory, share or sessions


@dataclass(slots=True)
class Session:
    id: int
    token: Token
    running: int = 0
    closed: bool = False  # no command starts any more
    busy: bool = False  # a command ran since the last report


@dataclass(slots=True)
class _Device:
    memory_bytes: int
    floor: int = 0
    listed: dict[int, DesiredLease] = field(default_factory=dict)
    sessions: dict[int, Session] = field(default_factory=dict)


class LeaseGate:
    """The gate of one start of a daemon. Times are pool time as the daemon estimates it, ms."""

    def __init__(
        self,
        daemon: str,
        devices: dict[str, int],
        grace_ms: int = 600_000,
        contact_ms: int = 4_000,
    ) -> None:
        """`devices`: memory in bytes. `contact_ms`: without word from the manager for so long,
        tokens that ended stay good until `grace_ms`."""
        self._daemon = daemon
        self._devices = {name: _Device(memory) for name, memory in devices.items()}
        self._grace_ms, self._contact_ms = grace_ms, contact_ms
        self._registered = False
        self._sessions: dict[int, tuple[Session, _Device]] = {}
        self._next = 1
        self.rev = -1
        self._state_ms = -1
        self._heard_ms = 0

    def apply(self, desired: Desired, now_ms: int) -> None:
        """Enforces a desired state, unless it is older than the one in force."""
        self._registered = True
        self._heard_ms = max(self._heard_ms, now_ms)
        if (desired.rev, desired.now_ms) < (self.rev, self._state_ms):
            return
        self.rev, self._state_ms = desired.rev, desired.now_ms
        for wanted in desired.devices:
            device = self._devices.get(wanted.id)
            if device is None:
                continue  # it was there when an earlier instance registered
            device.listed = {lease.epoch: lease for lease in wanted.leases}
            device.floor = max(device.floor, wanted.floor)
            for session in list(device.sessions.values()):
                if self._is_over(device, session.token):
                    self._close(device, session)

    def admit(self, token: Token, user: str, now_ms: int) -> int | Refusal:
        """Returns the id of a new session, or why there is none. A token that implies a higher
        floor raises it, even if the session must wait for a command of an older epoch."""
        device = self._devices.get(token.device)
        if not self._registered:
            return Refusal.STARTING
        if device is None or token.daemon != self._daemon or token.holder != user:
            return Refusal.DENIED
        if self._is_over(device, token):
            return Refusal.FENCED
        if not self._in_time(device, token, now_ms):
            return Refusal.EXPIRED
        if token.floor > device.floor:
            device.floor = token.floor
            for session in list(device.sessions.values()):
                if session.token.epoch < device.floor:
                    self._close(device, session)
        if any(s.token.epoch < device.floor for s in device.sessions.values()):
            return Refusal.FENCING
        if not _has_room(device, token):
            return Refusal.FULL
        session = Session(self._next, token)
        self._next += 1
        device.sessions[session.id] = session
        self._sessions[session.id] = (session, device)
        return session.id

    def begin(self, session_id: int) -> bool:
        """Starts a command; False if the session is fenced."""
        if session_id not in self._sessions or self._sessions[session_id][0].closed:
            return False
        session = self._sessions[session_id][0]
        session.running += 1
        session.busy = True
        return True

    def end(self, session_id: int) -> None:
        """A command has ended."""
        session, device = self._sessions[session_id]
        session.running -= 1
        if session.closed and not session.running:
            self._remove(device, session)

    def close(self, session_id: int) -> None:
        """The client has gone."""
        if session_id in self._sessions:
            session, device = self._sessions[session_id]
            self._close(device, session)

    def tick(self, now_ms: int) -> None:
        """Closes sessions whose leases ended, unless the manager is silent."""
        for session, device in list(self._sessions.values()):
            if not self._in_time(device, session.token, now_ms):
                self._close(device, session)

    def report(self) -> tuple[DeviceReport, ...]:
        """Returns the devices' part of a heartbeat."""
        reports = []
        for name, device in self._devices.items():
            sessions = []
            for session in device.sessions.values():
                sessions.append(SessionReport(session.token.epoch, session.busy))
                session.busy = session.running > 0
            reports.append(DeviceReport(name, device.floor, tuple(sessions)))
        return tuple(reports)

    def _is_over(self, device: _Device, token: Token) -> bool:
        """Below the floor, or the manager has revoked it after it signed the token."""
        if token.epoch < device.floor:
            return True
        return token.rev <= self.rev and token.epoch not in device.listed

    def _in_time(self, device: _Device, token: Token, now_ms: int) -> bool:
        listed = device.listed.get(token.epoch)
        end_ms = max(token.exp_ms, listed.end_ms) if listed else token.exp_ms
        if now_ms <= end_ms + EXPIRY_SLACK_MS:
            return True
        return self._contact_ms < now_ms - self._heard_ms < self._grace_ms

    def _close(self, device: _Device, session: Session) -> None:
        session.closed = True
        if not session.running:
            self._remove(device, session)

    def _remove(self, device: _Device, session: Session) -> None:
        device.sessions.pop(session.id, None)
        self._sessions.pop(session.id, None)


def _has_room(device: _Device, token: Token) -> bool:
    epochs = {s.token.epoch: s.token for s in device.sessions.values()}
    mine = [s for s in device.sessions.values() if s.token.epoch == token.epoch]
    epochs[token.epoch] = token
    share = sum(other.share for other in epochs.values())
    memory = sum(other.memory_bytes for other in epochs.values())
    fits = share <= WHOLE and memory <= device.memory_bytes
    return fits and len(mine) < token.sessions
