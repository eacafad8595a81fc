"""The bodies of requests. Unknown fields are ignored. Field names give the units."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from outboard.pool.core.commands import DeviceFacts, DeviceReport, SessionReport, UseReport
from outboard.pool.core.records import MOST_USE, Admin, Near, Priority, Selector, Spread, Use

MOST = 1 << 53  # integers are exact in every JSON reader
LONGEST_S = 10 * 365 * 86_400
MOST_DEVICES = 1 << 14
MOST_EPOCH = 1 << 61

Id = Annotated[str, Meta(pattern="^[A-Za-z0-9._-]{1,64}$", description="An id.")]
DeviceId = Annotated[str, Meta(pattern="^[A-Za-z0-9._:/@ -]{1,128}$", description="A device's id.")]
Name = Annotated[str, Meta(min_length=1, max_length=64)]
Text = Annotated[str, Meta(max_length=256)]
Count = Annotated[int, Meta(ge=1, le=MOST_DEVICES)]
Number = Annotated[int, Meta(ge=0, le=MOST)]
Counter = Annotated[int, Meta(ge=0, le=MOST_USE)]
Epoch = Annotated[int, Meta(ge=0, le=MOST_EPOCH)]
Seconds = Annotated[float, Meta(ge=0, le=LONGEST_S)]
Positive = Annotated[float, Meta(ge=0, le=1e30)]
WaitS = Annotated[float, Meta(ge=0, le=30)]
Labels = Annotated[dict[Annotated[str, Meta(max_length=64)], Text], Meta(max_length=32)]


class ClassBody(msgspec.Struct):
    """The devices that a request accepts. What is left out accepts all."""

    kind: Text = ""
    model: Text = ""
    min_memory_bytes: Number = 0
    min_gflops: Positive = 0.0
    labels: Labels = {}

    def selector(self) -> Selector:
        return Selector(
            self.kind, self.model, self.min_memory_bytes, float(self.min_gflops), dict(self.labels)
        )


class NearBody(msgspec.Struct):
    """The place of the client, and its mean call, for the choice of a near device."""

    machine: Text
    subnet: Text = ""
    labels: Labels = {}
    bytes: Annotated[int, Meta(ge=1, le=MOST)] = 96_000_000
    flop: Annotated[float, Meta(ge=1, le=1e30)] = 16e9

    def near(self) -> Near:
        return Near(self.machine, self.subnet, dict(self.labels), self.bytes, float(self.flop))


class LeaseBody(msgspec.Struct):
    """A request for devices: all of them at once, or none."""

    count: Count = 1
    accepts: ClassBody = msgspec.field(default_factory=ClassBody, name="class")
    exclusive: bool = True
    share: Annotated[int, Meta(ge=1, le=1000, description="Per mille of each device.")] = 1000
    memory_bytes: Annotated[
        Number, Meta(description="Of each shared device; 0: in proportion to `share`.")
    ] = 0
    spread: Spread = Spread.ANY
    near: NearBody | None = None
    priority: Annotated[
        Priority, Meta(description="`high` is for the roles admin and batch; others get 403.")
    ] = Priority.NORMAL
    static: bool = False
    until_ms: Annotated[Number, Meta(description="End, pool time; 0: none.")] = 0
    max_hold_s: Seconds = 0
    ttl_s: Annotated[
        float,
        Meta(ge=0, le=86_400, description="Lease time. 0: no renewals; needs an end or batch."),
    ] = 30
    replace: bool = False
    wire: Annotated[list[Annotated[int, Meta(ge=0, le=65535)]], Meta(max_length=16)] = []
    group: Annotated[str, Meta(max_length=64)] = ""
    for_user: Annotated[str, Meta(max_length=64, description="Batch role: the job's user.")] = ""
    uid: Annotated[int, Meta(ge=-1, le=(1 << 32) - 2)] = -1
    wait_s: WaitS = 0


class GrowBody(msgspec.Struct):
    """More devices of the same request. A repeated `part` grows once, if it still waits, or is one
    of the last 64 others of the lease. At most 64 parts of a lease wait."""

    part: Id
    count: Count = 1
    wait_s: WaitS = 0


class LinkBody(msgspec.Struct):
    """A link that the client measured."""

    machine: Text
    daemon: Name
    rtt_us: Annotated[float, Meta(gt=0, le=1e9)]
    bytes_per_s: Annotated[float, Meta(gt=0, le=1e15)]


class RenewBody(msgspec.Struct):
    """Leases of one holder, and what it has seen."""

    ids: Annotated[list[Id], Meta(max_length=1024)]
    unreachable: Annotated[list[DeviceId], Meta(max_length=1024)] = []
    links: Annotated[list[LinkBody], Meta(max_length=64)] = []


class DeviceBody(msgspec.Struct):
    """A device, as its daemon knows it."""

    id: DeviceId
    kind: Text
    model: Text
    memory_bytes: Number
    gflops: Positive = 0.0
    epoch_seen: Epoch = 0

    def facts(self) -> DeviceFacts:
        return DeviceFacts(
            self.id, self.kind, self.model, self.memory_bytes, float(self.gflops), self.epoch_seen
        )


class DaemonBody(msgspec.Struct):
    """A daemon that starts. `instance` is random for each start."""

    instance: Id
    devices: Annotated[list[DeviceBody], Meta(max_length=1024)]
    wire: Annotated[list[Annotated[int, Meta(ge=0, le=65535)]], Meta(max_length=16)] = []
    addresses: Annotated[list[Text], Meta(max_length=16)] = []
    machine: Text = ""
    subnet: Text = ""
    labels: Labels = {}


class SessionBody(SessionReport, frozen=True):
    """An open session, or a closed one whose command still runs."""

    epoch: Epoch


class UseBody(msgspec.Struct, gc=False):
    """The use of a device by a lease since the daemon's start. The lease may have ended."""

    epoch: Epoch
    compute_ns: Counter = 0
    waited_ns: Counter = 0
    bytes_in: Counter = 0
    bytes_out: Counter = 0

    def report(self) -> UseReport:
        use = Use(self.compute_ns, self.waited_ns, self.bytes_in, self.bytes_out)
        return UseReport(self.epoch, use)


class ReportBody(msgspec.Struct, frozen=True, gc=False):
    """A device, as it is now."""

    id: DeviceId
    floor: Epoch
    sessions: Annotated[tuple[SessionBody, ...], Meta(max_length=4096)] = ()
    failed_sessions: Annotated[int, Meta(ge=0, le=1 << 30)] = 0
    fatal: bool = False
    self_tests_ok: Annotated[int, Meta(ge=0, le=1 << 30)] = 0
    busy: Annotated[float, Meta(ge=0, le=1)] = 0
    memory_used_bytes: Number = 0
    uses: Annotated[tuple[UseBody, ...], Meta(max_length=4096)] = ()

    def report(self) -> DeviceReport:
        return DeviceReport(
            self.id,
            self.floor,
            self.sessions,
            self.failed_sessions,
            self.fatal,
            self.self_tests_ok,
            tuple([use.report() for use in self.uses]),
        )


class HeartbeatBody(msgspec.Struct, gc=False):
    """`rev`: of the desired state in force; `seq` rises. The answer waits until something changes,
    `wait_s` at most; it may come a fifth of that time earlier."""

    instance: Id
    seq: Number
    rev: Number
    devices: Annotated[list[ReportBody], Meta(max_length=1024)]
    wait_s: Annotated[float, Meta(ge=0, le=10)] = 2


class DeviceChange(msgspec.Struct):
    """`clear` ends the state broken. `deadline_ms`: static holders leave a draining device then."""

    admin: Admin | None = None
    clear: bool = False
    deadline_ms: Number = 0


class DrainBody(msgspec.Struct):
    """`deadline_s`: static holders leave after this time; 0: when they end by themselves.
    `restart`: the daemon then ends, and its open devices are open again when it has started."""

    deadline_s: Seconds = 0
    restart: bool = False


class QuotaBody(msgspec.Struct):
    """Limits; 0: none."""

    devices: Annotated[int, Meta(ge=0, le=MOST_DEVICES)] = 0
    week_device_s: Annotated[float, Meta(ge=0, le=1e12)] = 0
    waiting: Annotated[int, Meta(ge=0, le=1 << 20)] = 0
    shares: Annotated[int, Meta(ge=0, le=1 << 20, description="Of a user; 0: unchanged.")] = 0


class ReservationBody(msgspec.Struct):
    """Devices that are kept for users from `start_ms` until `end_ms`."""

    count: Count
    users: Annotated[list[Name], Meta(max_length=256)]
    start_ms: Number
    end_ms: Number
    accepts: ClassBody = msgspec.field(default_factory=ClassBody, name="class")


class BanBody(msgspec.Struct):
    reason: Text = ""
