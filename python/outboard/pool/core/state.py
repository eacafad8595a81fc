"""The state of the pool: stored tables, what lives in memory only, and indices over both."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from outboard.pool.core.records import (
    WHOLE,
    Account,
    Admin,
    Ban,
    Daemon,
    Device,
    Handle,
    Lease,
    Quota,
    Reservation,
    Use,
)


class Allocation(StrEnum):
    FREE = "free"
    EXCLUSIVE = "exclusive"
    SHARED = "shared"
    FENCING = "fencing"
    UNCONFIRMED = "unconfirmed"


class Health(StrEnum):
    OK = "ok"
    SUSPECT = "suspect"
    LOST = "lost"
    BROKEN = "broken"


class Place(NamedTuple):
    """`kind`: machine, subnet, or one of NEIGHBOUR_LABELS."""

    kind: str
    name: str


NOW = 0
FOREVER = 1 << 62
NEIGHBOUR_LABELS = ("switch", "rack")


class ClassKey(NamedTuple):
    """Devices of a class are alike."""

    kind: str
    model: str
    memory_bytes: int
    gflops: float


@dataclass(slots=True)
class NodeTable:
    """Devices by node, and nodes by the number of their devices here, so that a choice need not
    look at all of them. Change it by its functions only."""

    nodes: dict[str, dict[str, None]] = field(default_factory=dict)
    _by_count: dict[int, dict[str, None]] = field(default_factory=dict)

    def add(self, node: str, device: str) -> None:
        devices = self.nodes.setdefault(node, {})
        if device not in devices:
            devices[device] = None
            self._moved(node, len(devices) - 1, len(devices))

    def remove(self, node: str, device: str) -> None:
        devices = self.nodes.get(node)
        if devices is None or device not in devices:
            return
        del devices[device]
        self._moved(node, len(devices) + 1, len(devices))
        if not devices:
            del self.nodes[node]

    def count(self, node: str) -> int:
        return len(self.nodes.get(node, ()))

    def fewest_first(self) -> Iterator[tuple[int, str]]:
        """Yields count and name of each node. The table must not change meanwhile."""
        for count in sorted(self._by_count):
            for node in self._by_count[count]:
                yield count, node

    def _moved(self, node: str, before: int, after: int) -> None:
        if before:
            del self._by_count[before][node]
            if not self._by_count[before]:
                del self._by_count[before]
        if after:
            self._by_count.setdefault(after, {})[node] = None


@dataclass(slots=True)
class EndTable:
    """Devices by the pool time when they will be free, ms. Change it by its functions only."""

    _ends_ms: dict[str, int] = field(default_factory=dict)
    _sorted: list[tuple[int, str]] = field(default_factory=list)

    def put(self, device: str, end_ms: int) -> None:
        if self._ends_ms.get(device) != end_ms:
            self.remove(device)
            self._ends_ms[device] = end_ms
            insort(self._sorted, (end_ms, device))

    def remove(self, device: str) -> None:
        end_ms = self._ends_ms.pop(device, None)
        if end_ms is not None:
            del self._sorted[bisect_left(self._sorted, (end_ms, device))]

    def first_ones(self) -> Iterator[tuple[int, str]]:
        """Yields end and device. The table must not change meanwhile."""
        return iter(self._sorted)

    def count_until(self, end_ms: int) -> int:
        return bisect_left(self._sorted, (end_ms + 1, ""))


@dataclass
class ClassIndex:
    """All devices of a class, those that are free, shared ones with room, and the ends of all that
    are healthy: NOW for free ones and for those whose last lease is over, FOREVER if nobody knows.
    """

    members: NodeTable = field(default_factory=NodeTable)
    free: NodeTable = field(default_factory=NodeTable)
    room: NodeTable = field(default_factory=NodeTable)
    ends: EndTable = field(default_factory=EndTable)


@dataclass(slots=True)
class LiveLease:
    """`end_ms`: moves with renewals. `handles`: open ones, by device and epoch."""

    end_ms: int
    handles: dict[tuple[str, int], None] = field(default_factory=dict)


@dataclass(slots=True)
class LiveUse:
    """The last reading of a daemon's counter of a lease. `stored_ms`: when it was last stored."""

    instance: str
    level: Use
    stored_ms: int


@dataclass(slots=True)
class LiveDevice:
    """`confirmed`: its daemon said since its start that nothing below the floor is left."""

    confirmed: bool = False
    lost: bool = False  # until the floors are confirmed
    handles: dict[int, Handle] = field(default_factory=dict)  # open ones, by epoch
    share_left: int = WHOLE
    memory_left: int = 0
    uses: dict[int, LiveUse] = field(default_factory=dict)  # by epoch
    mended_rev: int = 0  # the revision that ended the state broken; earlier errors are over


@dataclass(slots=True)
class LiveDaemon:
    heard_ms: int
    registered: bool = False  # since the manager's start
    suspect: bool = False
    lost: bool = False
    seq: int = 0
    rev: int = 0
    devices: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Config:
    """Times in ms; sources: docs/pool.md, "Times"."""

    heartbeat_ms: int = 2_000
    suspect_ms: int = 6_000
    lost_ms: int = 10_000
    reclaim_ms: int = 10_000
    wanted_ttl_ms: int = 10_000  # the lease time of dynamic leases while somebody waits
    longest_ttl_ms: int = 120_000
    renewals_per_s: int = 500
    hold_for_head_ms: int = 60_000
    keep_over_ms: int = 7 * 86_400_000
    half_life_ms: int = 7 * 86_400_000
    backfill_depth: int = 100
    # The use of a lease is stored only this often, since each time is a durable commit. A manager
    # that starts anew hears from the daemon what it has not stored.
    store_use_ms: int = 60_000
    # Tests only: grants devices whose daemons have not confirmed that they are clean.
    grant_unconfirmed: bool = False


@dataclass
class State:
    """All tables. `apply` owns it and changes it in place (decision 0035)."""

    config: Config = field(default_factory=Config)
    # Stored.
    rev: int = 0
    now_ms: int = 0
    daemons: dict[str, Daemon] = field(default_factory=dict)
    devices: dict[str, Device] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    handles: dict[tuple[str, int], Handle] = field(default_factory=dict)  # open ones
    accounts: dict[str, Account] = field(default_factory=dict)
    quotas: dict[str, Quota] = field(default_factory=dict)
    reservations: dict[str, Reservation] = field(default_factory=dict)
    bans: dict[str, Ban] = field(default_factory=dict)
    # In memory only.
    live_leases: dict[str, LiveLease] = field(default_factory=dict)
    live_devices: dict[str, LiveDevice] = field(default_factory=dict)
    live_daemons: dict[str, LiveDaemon] = field(default_factory=dict)
    # Machine of a client -> daemon -> measurements (us, bytes per second).
    links: dict[str, dict[str, list[tuple[float, float]]]] = field(default_factory=dict)
    # Indices.
    classes: dict[ClassKey, ClassIndex] = field(default_factory=dict)
    places: dict[Place, dict[str, None]] = field(default_factory=dict)  # the daemons of each
    waiting: dict[tuple[str, str], None] = field(default_factory=dict)  # (lease, part)
    waiting_of: dict[str, int] = field(default_factory=dict)  # quota name -> requests
    held_of: dict[str, int] = field(default_factory=dict)  # quota name -> devices
    idle: dict[tuple[str, int], None] = field(default_factory=dict)  # living idle-class handles
    renewing: int = 0  # held leases that renew
    timers: list[tuple[int, str, str, int]] = field(default_factory=list)
    rank_dirty: bool = False  # something changed that may start a waiting request


def class_of(device: Device) -> ClassKey:
    return ClassKey(device.kind, device.model, device.memory_bytes, device.gflops)


def allocation(state: State, device: str) -> Allocation:
    """Returns the column of the device table that holds."""
    live = state.live_devices[device]
    if not live.handles:
        return Allocation.FREE if live.confirmed else Allocation.UNCONFIRMED
    living = [handle for handle in live.handles.values() if handle.lives]
    if not living:
        return Allocation.FENCING
    return Allocation.EXCLUSIVE if living[0].exclusive else Allocation.SHARED


def health(state: State, device: str) -> Health:
    record, live = state.devices[device], state.live_devices[device]
    daemon = state.live_daemons[record.daemon]
    if live.lost or daemon.lost:
        return Health.LOST
    if record.broken_ms:
        return Health.BROKEN
    return Health.SUSPECT if daemon.suspect else Health.OK


def open_handles(state: State, lease: str) -> Iterator[Handle]:
    """Yields the handles of a lease whose ends are not confirmed, living ones among them."""
    for key in state.live_leases[lease].handles:
        yield state.handles[key]


def living_handles(state: State, lease: str) -> list[Handle]:
    return [handle for handle in open_handles(state, lease) if handle.lives]


def forget_device(state: State, device: str) -> None:
    """Takes a device out of its class, before its facts change."""
    record = state.devices[device]
    index = state.classes.get(class_of(record), ClassIndex())
    for table in (index.members, index.free, index.room):
        table.remove(record.daemon, device)
    index.ends.remove(device)
    if not index.members.nodes:
        state.classes.pop(class_of(record), None)


def index_device(state: State, device: str) -> None:
    """Puts a device where placement finds it. Call it after each change of the device."""
    record, live = state.devices[device], state.live_devices[device]
    index = state.classes.setdefault(class_of(record), ClassIndex())
    node = record.daemon
    for table in (index.free, index.room):
        table.remove(node, device)
    index.ends.remove(device)
    if record.admin is Admin.RETIRED:
        index.members.remove(node, device)
        return
    index.members.add(node, device)
    if health(state, device) is not Health.OK:
        return
    usable = live.confirmed and state.live_daemons[node].registered and record.admin is Admin.OPEN
    index.ends.put(device, _end_ms(state, live, usable))
    if not usable:
        return
    where = allocation(state, device)
    if where is Allocation.FREE:
        index.free.add(node, device)
        state.rank_dirty = True
    elif where is Allocation.SHARED and live.share_left > 0:
        index.room.add(node, device)
        state.rank_dirty = True


def _end_ms(state: State, live: LiveDevice, usable: bool) -> int:
    """Returns when all handles of a device will have ended by themselves."""
    if not live.handles:
        return NOW if usable else FOREVER  # cordoned, or not confirmed: nobody knows
    leases = [state.leases[handle.lease] for handle in live.handles.values() if handle.lives]
    return max((hold_end(lease, state.now_ms) for lease in leases), default=NOW)


def hold_end(lease: Lease, now_ms: int) -> int:
    """Returns the latest end of devices granted now; FOREVER if none is known."""
    request = lease.request
    end_ms = request.until_ms or FOREVER
    if request.max_hold_ms:
        end_ms = min(end_ms, (lease.held_ms or now_ms) + request.max_hold_ms)
    return end_ms


def places_of(daemon: Daemon) -> list[Place]:
    named = [("machine", daemon.machine), ("subnet", daemon.subnet)]
    named += [(label, daemon.labels.get(label, "")) for label in NEIGHBOUR_LABELS]
    return [Place(kind, name) for kind, name in named if name]


def forget_daemon_places(state: State, name: str) -> None:
    """Takes a daemon out of its places, before they change."""
    for place in places_of(state.daemons[name]):
        daemons = state.places[place]
        del daemons[name]
        if not daemons:
            del state.places[place]


def index_daemon_places(state: State, name: str) -> None:
    for place in places_of(state.daemons[name]):
        state.places.setdefault(place, {})[name] = None


def quota_names(holder: str, group: str) -> list[str]:
    names = [f"user:{holder}"]
    return [*names, f"group:{group}"] if group else names
