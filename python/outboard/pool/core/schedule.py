"""Who of the waiting gets devices now: in order, with EASY backfill (docs/pool.md, "The order")."""

from __future__ import annotations

from functools import cached_property

from outboard.pool.core import fair_share, placement, quota, reservation
from outboard.pool.core.devices import reclaim
from outboard.pool.core.handles import grant
from outboard.pool.core.records import Demand, Lease, Priority, Request
from outboard.pool.core.state import FOREVER, Health, State, health, hold_end, living_handles
from outboard.pool.core.transaction import Transaction


class _Head:
    """The first request that must wait. Most of it is found when a request behind it asks, since
    mostly nothing is free for any of them."""

    def __init__(self, tx: Transaction, lease: Lease, demand: Demand) -> None:
        self._tx, self._request, self._demand = tx, lease.request, demand

    @cached_property
    def free(self) -> set[str]:
        return placement.candidates(self._tx.state, self._request)

    @cached_property
    def held(self) -> set[str]:
        """The free devices that are kept for it: it has waited for long, and nobody knows when
        enough will be free."""
        waited_ms = self._tx.now_ms - self._demand.arrived_ms
        if waited_ms < self._tx.state.config.hold_for_head_ms or self._shadow_ms != FOREVER:
            return set()
        return set(sorted(self.free)[: self._demand.count])

    def permits(self, lease: Lease, devices: list[str], now_ms: int) -> bool:
        """Returns whether the head starts as early with these devices granted."""
        if self._shadow_ms == FOREVER or hold_end(lease, now_ms) <= self._shadow_ms:
            return True
        state = self._tx.state
        used = sum(placement.fits(state, device, self._request) for device in devices)
        if used > self._extra:
            return False
        self._extra -= used
        return True

    def reclaim_idle(self) -> None:
        """Gives notice to as many devices of the idle class as it lacks."""
        if self._tx.state.idle and self._demand.priority is not Priority.IDLE:
            _reclaim_idle(self._tx, self._request, self.free, self._demand.count - len(self.free))

    @cached_property
    def _shadow_ms(self) -> int:
        """When enough will be free; FOREVER: nobody knows."""
        if not self._request.exclusive:
            return FOREVER
        end_ms = placement.first_end(self._tx.state, self._request, self._demand.count)
        return max(end_ms, self._tx.now_ms)

    @cached_property
    def _extra(self) -> int:
        """How many more will be free then."""
        until = placement.count_until(self._tx.state, self._request, self._shadow_ms)
        return until - self._demand.count


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
            head = _Head(tx, lease, demand)
            head.reclaim_idle()
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


def _reclaim_idle(tx: Transaction, request: Request, free: set[str], count: int) -> None:
    """Gives notice to `count` devices of the idle class. Notices given before count, too."""
    state = tx.state
    idle = [
        state.handles[key]
        for key in state.idle
        if key[0] not in free
        and placement.fits(state, key[0], request)
        and health(state, key[0]) is Health.OK
    ]
    # Those with a notice first, then the youngest.
    idle.sort(key=lambda h: (h.reclaim_ms == 0, -h.granted_ms, h.device, h.epoch))
    for handle in idle[: max(0, count)]:
        reclaim(tx, handle, tx.now_ms + state.config.reclaim_ms)
