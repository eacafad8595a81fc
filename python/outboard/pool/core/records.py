"""The records that survive a restart of the manager. They are values: a change makes a new one."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

WHOLE = 1000  # a whole device in the units of `share`: per mille


class LeaseState(StrEnum):
    QUEUED = "queued"
    HELD = "held"
    ENDING = "ending"
    OVER = "over"


class Admin(StrEnum):
    OPEN = "open"
    CORDONED = "cordoned"
    DRAINING = "draining"
    RESTARTING = "restarting"  # draining until its daemon starts again, and then open
    RETIRED = "retired"


class Priority(StrEnum):
    # The first one is served first.
    HIGH = "high"
    NORMAL = "normal"
    IDLE = "idle"

    @property
    def rank(self) -> int:
        return _RANK[self]

    def before(self, other: Priority) -> bool:
        """Returns whether requests of this priority come before those of the other one."""
        return self.rank < other.rank


_RANK = {priority: rank for rank, priority in enumerate(Priority)}


class Spread(StrEnum):
    ANY = "any"
    ONE_NODE = "one-node"
    DISTINCT_NODES = "distinct-nodes"


class Record(msgspec.Struct, frozen=True, gc=False):
    """A value. No record reaches itself, so the garbage collector need not look at it."""


class Row(Record, frozen=True):
    """A record of one of TABLES."""


class Selector(Record, frozen=True):
    """The devices that a request accepts. Empty and 0 accept all."""

    kind: str = ""
    model: str = ""
    min_memory_bytes: int = 0
    min_gflops: float = 0.0
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class Near(Record, frozen=True):
    """The client's place, and the size of its mean call, for the choice of a near device."""

    machine: str
    subnet: str = ""  # the first three numbers of an IPv4 address
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    bytes: int = 3 * 8 * 2000 * 2000  # a double precision product of 2000
    flop: float = 2.0 * 2000**3


class Request(Record, frozen=True):
    """What a client asks for. Times are in ms of pool time."""

    count: int = 1
    selector: Selector = Selector()
    exclusive: bool = True
    share: int = WHOLE  # of each device, per mille; only for shared leases
    memory_bytes: int = 0  # of each device; only for shared leases; 0: in proportion to `share`
    spread: Spread = Spread.ANY
    near: Near | None = None
    priority: Priority = Priority.NORMAL
    static: bool = False  # taken before the start of a job
    until_ms: int = 0  # 0: no end
    max_hold_ms: int = 0  # 0: no limit
    ttl_ms: int = 30_000  # 0: batch, which does not renew
    replace: bool = False  # queue for another device when one fails
    wire: tuple[int, ...] = ()  # versions that the client speaks; empty: any
    group: str = ""

    def memory_on(self, device_bytes: int) -> int:
        """Returns the memory that the request gets on a device with so much. It is rounded down,
        so that the parts of several requests are never more than the device has."""
        if self.exclusive:
            return device_bytes
        return self.memory_bytes or device_bytes * self.share // WHOLE


class Demand(Record, frozen=True):
    """Devices that a lease waits for: all at once or none. `part` is chosen by the client.
    `seat`: of the device that is replaced; -1: none is."""

    part: str
    count: int
    priority: Priority
    arrived_ms: int
    arrived_rev: int  # who came first, if the times are equal
    seat: int = -1


class Lease(Row, frozen=True):
    id: str
    holder: str
    request: Request
    state: LeaseState
    arrived_ms: int
    held_ms: int = 0  # the time of the first grant
    end_ms: int = 0  # as of the last stored change; renewals are not stored
    over_ms: int = 0
    reason: str = ""
    waiting: tuple[Demand, ...] = ()
    parts: tuple[str, ...] = ()  # grown lately or waiting, so that a repeated grow does nothing


MOST_USE = 1 << 62  # no sum passes it, so that every store can keep it


class Use(Record, frozen=True):
    """The use of a device by a lease: bytes to and from the daemon, times of computations, and of
    their waits for turns."""

    compute_ns: int = 0
    waited_ns: int = 0
    bytes_in: int = 0
    bytes_out: int = 0

    def plus(self, now: Use, before: Use) -> Use:
        """Returns the sum with what was counted between two readings of one counter."""
        more = (
            max(0, now.compute_ns - before.compute_ns),
            max(0, now.waited_ns - before.waited_ns),
            max(0, now.bytes_in - before.bytes_in),
            max(0, now.bytes_out - before.bytes_out),
        )
        mine = (self.compute_ns, self.waited_ns, self.bytes_in, self.bytes_out)
        return Use(*(min(MOST_USE, a + b) for a, b in zip(mine, more, strict=True)))


class Handle(Row, frozen=True):
    """One device of a lease, from its grant until its daemon has confirmed its end.

    `use` is the sum over all starts of its daemon. `counted` of the start `instance` is part of it.
    `seat`: its number in the lease, by which ranks have their devices; a device in place of a lost
    one has its number. -1: a manager of an older version has granted it.
    """

    device: str
    epoch: int
    lease: str
    exclusive: bool
    share: int
    memory_bytes: int
    granted_ms: int
    open: bool = True
    end_rev: int = 0  # the revision that ended it; 0: it lives
    reason: str = ""
    reclaim_ms: int = 0  # it will be taken at this time; 0: it will not
    use: Use = Use()
    counted: Use = Use()
    instance: str = ""
    seat: int = -1

    @property
    def lives(self) -> bool:
        return self.end_rev == 0


class Device(Row, frozen=True):
    """One accelerator. `floor`: the least epoch that its daemon serves."""

    id: str
    daemon: str
    kind: str
    model: str
    memory_bytes: int
    gflops: float
    epoch: int = 0  # the highest drawn so far
    floor: int = 1
    admin: Admin = Admin.OPEN
    broken_ms: int = 0  # 0: not broken
    stays_broken: bool = False  # until an admin clears it
    last_break_ms: int = 0


class Daemon(Row, frozen=True):
    name: str
    instance: str
    wire: tuple[int, ...]
    addresses: tuple[str, ...]
    machine: str
    subnet: str
    labels: dict[str, str]


class Account(Row, frozen=True):
    """The use of devices by one user, or by all of them (name ""). Uses are device-ms."""

    name: str
    shares: int = 1
    used: float = 0.0  # fades with a half-life
    week: int = 0  # the number of the week of `week_used`
    week_used: float = 0.0
    at_ms: int = 0  # both are as of this time
    running: int = 0  # devices held since then, per mille


class Quota(Row, frozen=True):
    """Limits of a user (`user:NAME`) or of a group (`group:NAME`). 0: no limit."""

    name: str
    devices: int = 0
    week_device_ms: int = 0
    waiting: int = 0


class Reservation(Row, frozen=True):
    """`count` devices that are kept for users from `start_ms` until `end_ms`."""

    id: str
    selector: Selector
    count: int
    users: tuple[str, ...]
    start_ms: int
    end_ms: int


class Ban(Row, frozen=True):
    user: str
    reason: str


class Audit(Record, frozen=True):
    rev: int
    at_ms: int
    actor: str
    verb: str
    object: str
    detail: str = ""


Key = str | tuple[str, int]


class Table(NamedTuple):
    """`name`: in State and in stores. `fields`: of a record, which together are its key."""

    name: str
    record: type[Row]
    fields: tuple[str, ...]
    key: Callable[[Any], Key]


def _table(name: str, record: type[Row], *fields: str) -> Table:
    return Table(name, record, fields, attrgetter(*fields))


# All that survives a restart, beside acts, which are written once and never read by the core.
TABLES = (
    _table("daemons", Daemon, "name"),
    _table("devices", Device, "id"),
    _table("leases", Lease, "id"),
    _table("handles", Handle, "device", "epoch"),
    _table("accounts", Account, "name"),
    _table("quotas", Quota, "name"),
    _table("reservations", Reservation, "id"),
    _table("bans", Ban, "user"),
)
TABLE_OF = {table.record: table for table in TABLES}
