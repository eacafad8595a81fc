"""A model of the daemon's lease gate: what `LeaseGate` in C++ decides, in Python.

Both answer tests/pool/gate_vectors.json. Signatures and claims of tokens are checked before the
gate sees a token; here a token is its claims.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from outboard.pool.core.commands import DeviceReport, SessionReport
from outboard.pool.core.records import WHOLE, Record
from outboard.pool.core.replies import Desired, DesiredDevice, DesiredLease

EXPIRY_SLACK_MS = 1_000  # the error of the daemon's estimate of pool time is below
FUTURE_SLACK_MS = 600_000  # clocks that differ by 500 ppm need 14 days without word for so much
MOST_LEASES = 1_000  # of a device: the least share is 1 per mille


class Token(Record, frozen=True):
    """The claims of a lease token. `floor`: implied by it; `rev`: of the state that signed it.
    `uid`: who may present it over a Unix socket; -1: only a holder that is a uid itself."""

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
    pool: str = ""
    lease: str = ""
    uid: int = -1
    issued_ms: int = 0


class Refusal(StrEnum):
    STARTING = "starting"  # the daemon has not registered yet
    DENIED = "denied"  # the token is for somebody or something else, or makes no sense
    FENCED = "fenced"  # its lease is over
    EXPIRED = "expired"
    FENCING = "fencing"  # a command of an older epoch still runs: try again
    FULL = "full"  # memory, share or sessions
    HELD = "held"  # without a lease: leases have all devices, or they are closed


@dataclass(slots=True, kw_only=True)
class UnleasedSession:
    """A session without a lease."""

    id: int
    running: int = 0
    closed: bool = False  # no command starts any more
    busy: bool = False  # a command ran since the last report


@dataclass(slots=True, kw_only=True)
class Session(UnleasedSession):
    token: Token


@dataclass(slots=True)
class _Device:
    memory_bytes: int
    floor: int = 0
    listed: dict[int, DesiredLease] = field(default_factory=dict)
    sessions: dict[int, Session] = field(default_factory=dict)
    unleased: dict[int, UnleasedSession] = field(default_factory=dict)
    token_rev: int = -1  # the highest of good tokens: no older state knows their leases
    closed: bool = True  # to sessions without a lease


class LeaseGate:
    """The gate of one start of a daemon. Times are pool time as the daemon estimates it, ms."""

    def __init__(
        self,
        daemon: str,
        devices: dict[str, int],
        grace_ms: int = 600_000,
        contact_ms: int = 4_000,
        pool: str = "",
    ) -> None:
        """`devices`: memory in bytes. `contact_ms`: without word from the manager for so long,
        tokens that ended stay good until `grace_ms`."""
        self._daemon, self._pool = daemon, pool
        self._devices = {name: _Device(memory) for name, memory in devices.items()}
        self._grace_ms, self._contact_ms = grace_ms, contact_ms
        self._registered = False
        self._sessions: dict[int, tuple[UnleasedSession, _Device]] = {}
        self._next = 1
        self.rev = -1
        self._state_ms = -1
        self._heard_ms = 0

    def apply(self, desired: Desired, now_ms: int) -> bool:
        """Enforces a desired state, unless it is older than the one in force. A device that it does
        not list has no leases. False if it makes no sense: then it is no word from the manager."""
        if not self._makes_sense(desired):
            return False
        wanted = {device.id: device for device in desired.devices}
        self._registered = True
        self._heard_ms = max(self._heard_ms, now_ms)
        if (desired.rev, desired.now_ms) < (self.rev, self._state_ms):
            return True
        self.rev, self._state_ms = desired.rev, desired.now_ms
        for name, device in self._devices.items():
            told = wanted.get(name, DesiredDevice(name, 0, (), closed=True))
            device.listed = {lease.epoch: lease for lease in told.leases}
            device.floor = max(device.floor, told.floor)
            device.closed = told.closed
            for session in list(device.sessions.values()):
                if self._is_over(device, session.token):
                    self._close(device, session)
            if device.closed or self._is_held(device):
                self._close_unleased(device)
        return True

    def admit(self, token: Token, user: str, now_ms: int) -> int | Refusal:
        """Returns the id of a new session, or why there is none. A token that implies a higher
        floor raises it, even if the session must wait for a command of an older epoch."""
        device = self._devices.get(token.device)
        if not self._registered:
            return Refusal.STARTING
        mine = token.daemon == self._daemon and token.pool == self._pool
        if device is None or not mine or not _may_present(token, user):
            return Refusal.DENIED
        if not _is_sound(token) or token.issued_ms > now_ms + FUTURE_SLACK_MS:
            return Refusal.DENIED
        if self._is_over(device, token):
            return Refusal.FENCED
        if not self._in_time(device, token, now_ms):
            return Refusal.EXPIRED
        if not _terms_agree(device, token):
            return Refusal.DENIED
        device.token_rev = max(device.token_rev, token.rev)
        self._close_unleased(device)
        if token.floor > device.floor:
            device.floor = token.floor
            for session in list(device.sessions.values()):
                if session.token.epoch < device.floor:
                    self._close(device, session)
        if device.unleased or any(s.token.epoch < device.floor for s in device.sessions.values()):
            return Refusal.FENCING
        if not _has_room(device, token):
            return Refusal.FULL
        session = Session(id=self._next, token=token)
        device.sessions[session.id] = session
        return self._opened(device, session)

    def admit_unleased(self) -> int | Refusal:
        """Returns the id of a new session without a lease, or why there is none."""
        if not self._registered:
            return Refusal.STARTING
        free = [d for d in self._devices.values() if not d.closed and not self._is_held(d)]
        if not free:
            return Refusal.HELD
        device = min(free, key=lambda d: len(d.unleased))
        session = UnleasedSession(id=self._next)
        device.unleased[session.id] = session
        return self._opened(device, session)

    def _opened(self, device: _Device, session: UnleasedSession) -> int:
        self._sessions[session.id] = (session, device)
        self._next += 1
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
        for device in self._devices.values():
            for session in list(device.sessions.values()):
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

    def _makes_sense(self, desired: Desired) -> bool:
        mine = [device for device in desired.devices if device.id in self._devices]
        if len({device.id for device in mine}) < len(mine) or min(desired.rev, desired.now_ms) < 0:
            return False
        for device in mine:
            epochs = {lease.epoch for lease in device.leases}
            if len(epochs) < len(device.leases) or len(epochs) > MOST_LEASES:
                return False
        return True

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

    def _is_held(self, device: _Device) -> bool:
        """A lease has the device, as far as the gate knows."""
        return bool(device.listed or device.sessions) or device.token_rev > self.rev

    def _close_unleased(self, device: _Device) -> None:
        for session in list(device.unleased.values()):
            self._close(device, session)

    def _close(self, device: _Device, session: UnleasedSession) -> None:
        session.closed = True
        if not session.running:
            self._remove(device, session)

    def _remove(self, device: _Device, session: UnleasedSession) -> None:
        device.sessions.pop(session.id, None)
        device.unleased.pop(session.id, None)
        self._sessions.pop(session.id, None)


def _may_present(token: Token, user: str) -> bool:
    """Over a Unix socket the kernel knows no certificates, but a uid: the one that the holder has
    stated. A holder that is a uid can only be narrowed by it."""
    if user.startswith("uid ") and token.uid >= 0:
        stated = user == f"uid {token.uid}"
        return stated and (token.holder == user or not token.holder.startswith("uid "))
    return token.holder == user


def _is_sound(token: Token) -> bool:
    """A well signed token that does not make sense would break the rules of others."""
    floor = token.floor == token.epoch if token.exclusive else token.floor <= token.epoch
    return floor and 1 <= token.share <= WHOLE and token.sessions >= 1


def _terms_agree(device: _Device, token: Token) -> bool:
    """All tokens of an epoch say the same as each other, and as the manager's list."""
    listed = device.listed.get(token.epoch)
    if listed and (listed.memory_bytes, listed.share) != (token.memory_bytes, token.share):
        return False
    mine = (s.token for s in device.sessions.values() if s.token.epoch == token.epoch)
    return all(_terms(other) == _terms(token) for other in mine)


def _terms(token: Token) -> tuple[str, str, bool, int, int]:
    return (token.lease, token.holder, token.exclusive, token.share, token.memory_bytes)


def _has_room(device: _Device, token: Token) -> bool:
    leases = {s.token.epoch: s.token for s in device.sessions.values()}
    mine = [s for s in device.sessions.values() if s.token.epoch == token.epoch]
    leases[token.epoch] = token
    alone = len(leases) == 1 or not any(other.exclusive for other in leases.values())
    share = sum(other.share for other in leases.values())
    memory = sum(other.memory_bytes for other in leases.values())
    fits = share <= WHOLE and memory <= device.memory_bytes
    return alone and fits and len(mine) < token.sessions
