"""The answers to commands, and the notices for those who wait."""

from __future__ import annotations

from outboard.pool.core.records import LeaseState, Record


class Problem(Record, frozen=True):
    """A refusal: an HTTP status, a name in the field `type`, and a sentence."""

    status: int
    name: str
    detail: str


class Done(Record, frozen=True):
    status: int = 200


class DevicesChanged(Record, frozen=True):
    """`devices`: their ids."""

    devices: tuple[str, ...]


class HandleView(Record, frozen=True):
    """What a token says about one device of a lease, and the device's number in the lease."""

    device: str
    daemon: str
    epoch: int
    floor: int
    exclusive: bool
    share: int
    memory_bytes: int
    reclaim_ms: int
    seat: int


class LeaseView(Record, frozen=True):
    """`ttl_ms`: the lease time in force. `rev`: for the tokens of the handles."""

    status: int
    id: str
    state: LeaseState
    handles: tuple[HandleView, ...]
    end_ms: int
    ttl_ms: int
    rev: int
    wanted: bool
    reason: str = ""


class Renewal(Record, frozen=True):
    leases: tuple[LeaseView | Problem, ...]
    status: int = 200


class DesiredLease(Record, frozen=True):
    epoch: int
    end_ms: int
    memory_bytes: int
    share: int


class DesiredDevice(Record, frozen=True):
    """`closed`: broken, or not open to new holders; who has no lease must leave. `broken`: the
    daemon makes self-tests of it."""

    id: str
    floor: int
    leases: tuple[DesiredLease, ...]
    closed: bool = False
    broken: bool = False


class Desired(Record, frozen=True):
    """The whole desired state of a daemon. `restart`: it is to end, so that it starts again."""

    rev: int
    now_ms: int
    devices: tuple[DesiredDevice, ...]
    restart: bool = False
    status: int = 200


class LeaseChanged(Record, frozen=True):
    id: str


class DesiredChanged(Record, frozen=True):
    daemon: str


Answer = Problem | Done | DevicesChanged | LeaseView | Renewal | Desired
Notice = LeaseChanged | DesiredChanged
