"""The commands that the manager obeys. Whoever makes one has checked who sent it."""

from __future__ import annotations

import msgspec

from outboard.pool.core.records import Admin, Priority, Quota, Record, Request, Reservation, Use


class PutLease(Record, frozen=True):
    """Acquires devices. A repeated command has the same effect as one."""

    id: str
    holder: str
    request: Request


class GetLease(Record, frozen=True):
    """Asks for the state of a lease. While it is queued, this keeps its place."""

    id: str
    holder: str


class Renew(Record, frozen=True):
    """`unreachable`: devices of the leases that the holder cannot reach."""

    holder: str
    ids: tuple[str, ...]
    unreachable: tuple[str, ...] = ()


class Grow(Record, frozen=True):
    """Asks for `count` more devices. `part` is chosen by the client: the same one grows once.
    `highest`: the highest priority that the client may ask for. The lease may have a higher one,
    which an administrator or a batch system has asked for."""

    id: str
    holder: str
    part: str
    count: int
    highest: Priority = Priority.NORMAL


class Shrink(Record, frozen=True):
    id: str
    holder: str
    device: str


class Release(Record, frozen=True):
    id: str
    holder: str


class DeviceFacts(Record, frozen=True):
    id: str
    kind: str
    model: str
    memory_bytes: int
    gflops: float = 0.0
    epoch_seen: int = 0


class RegisterDaemon(Record, frozen=True):
    """`instance` is random for each start of the daemon."""

    name: str
    instance: str
    devices: tuple[DeviceFacts, ...]
    wire: tuple[int, ...] = (5,)
    addresses: tuple[str, ...] = ()
    machine: str = ""
    subnet: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class SessionReport(Record, frozen=True):
    """An open session, or a closed one whose command still runs."""

    epoch: int
    busy: bool = False  # a command ran since the last heartbeat


class UseReport(Record, frozen=True):
    """The use of a device by a lease since the start of the daemon."""

    epoch: int
    use: Use


class DeviceReport(Record, frozen=True):
    """All of it is a level, not an event, so that repeated and lost heartbeats do no harm."""

    id: str
    floor: int
    sessions: tuple[SessionReport, ...] = ()
    failed_sessions: int = 0  # with a device error, in the last 60 s
    fatal: bool = False  # says the driver
    self_tests_ok: int = 0  # in a row, since it broke
    uses: tuple[UseReport, ...] = ()


class Link(Record, frozen=True):
    """What a client measured between its machine and a daemon."""

    machine: str
    daemon: str
    rtt_us: float
    bytes_per_s: float


class Heartbeat(Record, frozen=True):
    """`seq` rises with each heartbeat of an instance. `rev`: of the desired state in force.
    `waits`: the daemon is not to be told the desired state yet."""

    name: str
    instance: str
    seq: int
    rev: int
    devices: tuple[DeviceReport, ...]
    waits: bool = False


class DeregisterDaemon(Record, frozen=True):
    """The daemon stops: another instance need not wait until this one is lost."""

    name: str
    instance: str


class ReportLinks(Record, frozen=True):
    """Those to daemons that exist are kept."""

    links: tuple[Link, ...]


class SetAdmin(Record, frozen=True):
    """Sets the admin state of a device. `deadline_ms`: static holders leave then; 0: never."""

    actor: str
    device: str
    admin: Admin
    deadline_ms: int = 0


class SetDaemonAdmin(Record, frozen=True):
    """The same for all devices of a daemon whose admin state is one of `of`. `daemon`: its name."""

    actor: str
    daemon: str
    admin: Admin
    deadline_ms: int
    of: tuple[Admin, ...]


class ClearDevice(Record, frozen=True):
    actor: str
    device: str


class Revoke(Record, frozen=True):
    actor: str
    id: str


class BanUser(Record, frozen=True):
    actor: str
    user: str
    reason: str = ""


class UnbanUser(Record, frozen=True):
    actor: str
    user: str


class SetQuota(Record, frozen=True):
    actor: str
    quota: Quota


class SetShares(Record, frozen=True):
    actor: str
    user: str
    shares: int


class SetReservation(Record, frozen=True):
    actor: str
    reservation: Reservation


class DeleteReservation(Record, frozen=True):
    actor: str
    id: str


class StoreUse(Record, frozen=True):
    """Somebody asks for the use of leases: what is in memory only is stored first."""


class Start(Record, frozen=True):
    """The manager starts with a loaded state."""


class Resume(Record, frozen=True):
    """The manager goes on after a pause in which it heard nobody."""


class Tick(Record, frozen=True):
    """Time has passed."""


Command = (
    PutLease
    | GetLease
    | Renew
    | Grow
    | Shrink
    | Release
    | RegisterDaemon
    | Heartbeat
    | DeregisterDaemon
    | ReportLinks
    | SetAdmin
    | SetDaemonAdmin
    | ClearDevice
    | Revoke
    | BanUser
    | UnbanUser
    | SetQuota
    | SetShares
    | SetReservation
    | DeleteReservation
    | StoreUse
    | Start
    | Resume
    | Tick
)
