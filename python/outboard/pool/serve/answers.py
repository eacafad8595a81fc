"""The bodies of answers. Times are pool time in ms."""

from __future__ import annotations

import msgspec

from outboard.pool.core.records import (
    Admin,
    Audit,
    Ban,
    LeaseState,
    Priority,
    Quota,
    Reservation,
)
from outboard.pool.core.replies import DesiredDevice
from outboard.pool.core.state import Allocation, Health


class HandleAnswer(msgspec.Struct):
    """One device of a lease. `token` opens sessions on it. `reclaim_ms`: it will be taken then."""

    device: str
    daemon: str
    addresses: list[str]
    machine: str
    epoch: int
    exclusive: bool
    share: int
    memory_bytes: int
    reclaim_ms: int
    token: str


class LeaseAnswer(msgspec.Struct):
    """`ttl_s`: renew each third of it; 0: no renewals. `place`: in the queue, from 1."""

    id: str
    state: LeaseState
    holder: str
    handles: list[HandleAnswer]
    now_ms: int
    end_ms: int
    ttl_s: float
    rev: int
    wanted: bool
    place: int
    reason: str


class RenewedAnswer(msgspec.Struct, omit_defaults=True):
    """`problem`: the name of the refusal; the lease is then over or unknown."""

    id: str
    problem: str = ""
    detail: str = ""
    end_ms: int = 0
    ttl_s: float = 0
    wanted: bool = False
    reclaim_ms: dict[str, int] = {}


class RenewalAnswer(msgspec.Struct):
    now_ms: int
    leases: list[RenewedAnswer]


class LeaseRow(msgspec.Struct):
    id: str
    holder: str
    group: str
    state: LeaseState
    exclusive: bool
    devices: list[str]
    waiting: int
    priority: Priority
    arrived_ms: int
    end_ms: int
    reason: str


class DeviceRow(msgspec.Struct):
    """`busy_sessions`: those that ran a command between the last two heartbeats. It, `sessions` and
    `memory_used_bytes` are null if the daemon has not reported them, or is lost."""

    id: str
    daemon: str
    kind: str
    model: str
    memory_bytes: int
    gflops: float
    allocation: Allocation
    health: Health
    admin: Admin
    holders: list[str]
    leases: list[str]
    epoch: int
    floor: int
    why: str
    addresses: list[str]
    memory_used_bytes: int | None = None
    sessions: int | None = None
    busy_sessions: int | None = None


class QueueRow(msgspec.Struct):
    """A request that waits. Strangers see neither holder nor lease."""

    place: int
    holder: str
    lease: str
    count: int
    priority: Priority
    arrived_ms: int
    reason: str


class Page(msgspec.Struct, kw_only=True):
    """`next`: the cursor of the next page; empty: this is the last one."""

    next: str = ""


class Leases(Page, kw_only=True):
    leases: list[LeaseRow]


class Devices(Page, kw_only=True):
    now_ms: int
    devices: list[DeviceRow]


class Queue(msgspec.Struct):
    requests: list[QueueRow]


class Quotas(msgspec.Struct):
    quotas: list[Quota]


class Reservations(msgspec.Struct):
    reservations: list[Reservation]


class Bans(msgspec.Struct):
    bans: list[Ban]


class AuditPage(Page, kw_only=True):
    records: list[Audit]


class UsageRow(msgspec.Struct, omit_defaults=True):
    """`device_s`: seconds times devices times share, since the time that was asked for. The other
    sums are of the devices that were held since then, from their grants on: `compute_s` of
    computations, `waited_s` of these for their turns, and bytes to and from daemons, without copies
    through shared memory. `cluster` and `job`: of a batch system, where jobs are summed."""

    name: str
    leases: int
    device_s: float
    compute_s: float
    waited_s: float
    bytes_in: int
    bytes_out: int
    cluster: str = ""
    job: str = ""


class Usage(msgspec.Struct):
    by: str
    since_ms: int
    rows: list[UsageRow]


class PublicKey(msgspec.Struct):
    """A key that signs tokens: DER in base64."""

    kid: str
    der: str


class Registered(msgspec.Struct):
    now_ms: int
    rev: int
    pool: str
    keys: list[PublicKey]
    heartbeat_s: float
    devices: list[DesiredDevice]


class PageLink(msgspec.Struct):
    """A link to the page that works once within `seconds`."""

    url: str
    seconds: float


class DesiredAnswer(msgspec.Struct):
    """All that a daemon must enforce. `drain`: devices of it are draining. `restart`: it is to end
    with status 4, and whoever started it starts it again."""

    now_ms: int
    rev: int
    devices: list[DesiredDevice]
    drain: bool
    restart: bool


class Changed(msgspec.Struct):
    changed: list[str]


class Alive(msgspec.Struct):
    status: str
    version: str
