"""Who of the waiting gets devices now: in order, with EASY backfill (docs/pool.md, "The order")."""

from __future__ import annotations

from dataclasses import dataclass, field

from outboard.pool.core import fair_share, placement, quota, reservation
from outboard.pool.core.devices import reclaim
from outboard.pool.core.handles import grant
from outboard.pool.core.records import Demand, Handle, Lease, Priority
from outboard.pool.core.reservation import FOREVER, hold_end
from outboard.pool.core.state import Health, State, health, living_handles
from outboard.pool.core.transaction import Transaction


@dataclass
class _Head:
    """The first request that must wait. `shadow_ms`: when enough of `fitting` will be free;
    `extra`: how many more will be free then; `held`: free devices that are kept for it."""

    shadow_ms: int = FOREVER
    extra: int = 0
    fitting: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)

    def permits(self, lease: Lease, devices: list[str], now_ms: int) -> bool:
        """Returns whether the head starts as early with these devices granted."""
        if self.shadow_ms == FOREVER or hold_end(lease, now_ms) <= self.shadow_ms:
            return True
        used = sum(device in self.fitting for device in devices)
        if used > self.extra:
            return False
        self.extra -= used
        return True


def run(tx: Transaction) -> None:
    """Grants what can be granted."""
    state = tx.state
    if not state.rank_dirty:
        return
    state.rank_dirty = False
    head: _Head | None = None
    for lease_id, demand in fair_share.order(state, tx.now_ms)[: state.config.backfill_depth]:
        lease = state.leases[lease_id]
        if not quota.allows(state, lease, demand.count, tx.now_ms):
            continue
        devices = _find(state, lease, demand, head.held if head else set(), tx.now_ms)
        if devices is not None and (head is None or head.permits(lease, devices, tx.now_ms)):
            grant(tx, lease, demand, devices)
        elif head is None and not _waits_for_window(tx, lease, demand):
            head = _wait_for(tx, lease, demand)
    state.rank_dirty = False


def _waits_for_window(tx: Transaction, lease: Lease, demand: Demand) -> bool:
    """Returns whether only a reservation keeps the devices from the demand. Then nobody waits
    behind it."""
    if not tx.state.reservations:
        return False
    return _find(tx.state, lease, demand, set(), tx.now_ms, True) is not None


def _find(
    state: State,
    lease: Lease,
    demand: Demand,
    held: set[str],
    now_ms: int,
    ignore_reservations: bool = False,
) -> list[str] | None:
    """Returns devices for the demand that no reservation keeps from it."""
    without = set(held)
    taken = set()
    for handle in living_handles(state, lease.id):
        without.add(handle.device)  # one handle of a lease on a device is enough
        taken.add(state.devices[handle.device].daemon)
    limits = []
    if state.reservations and not ignore_reservations:
        limits = reservation.allowance(state, lease, now_ms)
    while True:
        devices = placement.choose(state, lease.request, demand.count, without, taken)
        if devices is None:
            return None
        surplus: set[str] = set()
        for reserved, number in limits:
            inside = [device for device in devices if device in reserved]
            if len(inside) > max(0, number):
                surplus |= reserved - set(inside[: max(0, number)])
        if not surplus:
            return devices
        without |= surplus


def _wait_for(tx: Transaction, lease: Lease, demand: Demand) -> _Head:
    """Reserves devices for the first request that does not fit."""
    state, request = tx.state, lease.request
    head = _Head()
    free = placement.candidates(state, request)
    fitting = placement.matching(state, request.selector, request.wire)
    head.fitting = {d for d in fitting if health(state, d) is Health.OK}
    if request.exclusive:
        ends = sorted(_free_at(state, d, tx.now_ms) for d in head.fitting - free)
        times = [tx.now_ms] * len(free) + ends
        if len(times) >= demand.count:
            head.shadow_ms = times[demand.count - 1]
        head.extra = sum(time <= head.shadow_ms for time in times) - demand.count
    waited = tx.now_ms - demand.arrived_ms
    if head.shadow_ms == FOREVER and waited >= state.config.hold_for_head_ms:
        head.held = set(sorted(free)[: demand.count])
    if demand.priority is not Priority.IDLE:
        _reclaim_idle(tx, head.fitting - free, demand.count - len(free))
    return head


def _free_at(state: State, device: str, now_ms: int) -> int:
    """Returns when all handles of a device will have ended by themselves."""
    handles = state.live_devices[device].handles.values()
    if not handles:
        return FOREVER  # cordoned, or not confirmed: nobody knows
    return max(hold_end(state.leases[h.lease], now_ms) if h.lives else now_ms for h in handles)


def _reclaim_idle(tx: Transaction, devices: set[str], count: int) -> None:
    """Gives notice to `count` devices of the idle class. Notices given before count, too."""
    idle: list[Handle] = []
    for device in devices:
        for handle in tx.state.live_devices[device].handles.values():
            request = tx.state.leases[handle.lease].request
            if handle.lives and request.priority is Priority.IDLE:
                idle.append(handle)
    # Those with a notice first, then the youngest.
    idle.sort(key=lambda h: (h.reclaim_ms == 0, -h.granted_ms, h.device, h.epoch))
    for handle in idle[: max(0, count)]:
        reclaim(tx, handle, tx.now_ms + tx.state.config.reclaim_ms)
