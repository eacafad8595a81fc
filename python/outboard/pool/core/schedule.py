"""Who of the waiting gets devices now: in order, with EASY backfill (docs/pool.md, "The order")."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from functools import cached_property

from outboard.pool.core import fair_share, placement, quota, reservation
from outboard.pool.core.devices import reclaim
from outboard.pool.core.handles import grant
from outboard.pool.core.records import Demand, Lease, LeaseState, Priority, Request
from outboard.pool.core.state import FOREVER, Health, State, health, hold_end, living_handles
from outboard.pool.core.transaction import Transaction


class Why(Enum):
    """Why a request waits."""

    QUOTA = "quota"
    RESERVATION = "reservation"
    FULL = "full"  # nothing is free that it accepts
    FEW = "few"  # too little is free that it accepts
    KEPT = "kept"  # for the first request that must wait
    LATER = "later"  # too many come before it


# These requests wait for reasons of their own, so others behind them are looked at all the same.
_OWN = (Why.QUOTA, Why.RESERVATION, Why.FULL)
_MOST_WORDS = 20  # of one list of reasons, as each costs a search of all devices


class Head:
    """The first request that must wait. Most of it is found when a request behind it asks, since
    mostly nothing is free for any of them."""

    def __init__(self, state: State, now_ms: int, lease: Lease, demand: Demand) -> None:
        self._state, self._now_ms = state, now_ms
        self._lease, self._request, self.demand = lease, lease.request, demand

    @cached_property
    def free(self) -> set[str]:
        """The free devices that it may get."""
        free = placement.candidates(self._state, self._request)
        return reservation.permitted(self._state, self._lease, free, self._now_ms)

    @cached_property
    def held(self) -> set[str]:
        """The free devices that are kept for it: it has waited for long, and nobody knows when
        enough will be free."""
        waited_ms = self._now_ms - self.demand.arrived_ms
        if waited_ms < self._state.config.hold_for_head_ms or self._shadow_ms != FOREVER:
            return set()
        return set(sorted(self.free)[: self.demand.count])

    def permits(self, lease: Lease, devices: list[str]) -> bool:
        """Returns whether the head starts as early with these devices granted."""
        if self._shadow_ms == FOREVER or hold_end(lease, self._now_ms) <= self._shadow_ms:
            return True
        state = self._state
        used = sum(placement.fits(state, device, self._request) for device in devices)
        if used > self._extra:
            return False
        self._extra -= used
        return True

    def reclaim_idle(self, tx: Transaction) -> None:
        """Gives notice to as many devices of the idle class as it lacks."""
        if self._state.idle and self.demand.priority is not Priority.IDLE:
            count = self.demand.count - len(self.free)
            _reclaim_idle(tx, self._lease, self.free, count)

    @cached_property
    def _shadow_ms(self) -> int:
        """When enough will be free; FOREVER: nobody knows."""
        if not self._request.exclusive:
            return FOREVER
        end_ms = placement.first_end(self._state, self._request, self.demand.count)
        return max(end_ms, self._now_ms)

    @cached_property
    def _extra(self) -> int:
        """How many more will be free then."""
        until = placement.count_until(self._state, self._request, self._shadow_ms)
        return until - self.demand.count


class Round:
    """One look at the waiting requests, in their order. Devices only become fewer within it, so a
    request waits if one like it had to.
    Cost: `backfill_depth` searches, and as many for requests that wait for reasons of their own;
    the others cost a few look-ups in tables."""

    def __init__(self, state: State, now_ms: int) -> None:
        self._state, self._now_ms = state, now_ms
        self.head: Head | None = None
        self._left = self._left_for_own = state.config.backfill_depth
        self._reservations = reservation.not_over(state, now_ms)
        self._kept: dict[Hashable, tuple[str, ...]] = {}  # by holder and end of the lease
        self._at_quota: set[tuple[str, str, int]] = set()
        self._within_quota: set[tuple[str, str, int]] = set()  # until something is granted
        self._waits: dict[Hashable, Why] = {}  # by what a request accepts, and by all it asks for
        self._there: dict[Hashable, bool] = {}
        self._words: dict[Hashable, str] = {}

    def why(self, lease: Lease, demand: Demand) -> str:
        """Returns in words why the request waits, as look() decides. Call it for all requests in
        their order, and with a state in which run() has granted what it can."""
        found, state, now_ms = self.look(lease, demand), self._state, self._now_ms
        if not isinstance(found, Why):
            return "it is granted next"
        if found is Why.QUOTA:
            return quota.limit(state, lease, demand.count, now_ms)
        if found is Why.LATER:
            return "many requests come before it, and the manager does not look at it yet"
        if found is Why.KEPT and self.head is not None:
            count = self.head.demand.count
            first = f"{count} devices" if count > 1 else "a device"
            return f"what is free is kept for the request of {first} that waits before it"
        # A lease that has devices may lack others than one without.
        own = "" if lease.state is LeaseState.QUEUED else lease.id
        like = (found, own, self._like(lease, demand))
        if like not in self._words:
            if len(self._words) >= _MOST_WORDS:
                short = "too few devices are free"
                return "a reservation keeps devices" if found is Why.RESERVATION else short
            self._words[like] = (
                reservation.window(state, lease, now_ms)
                if found is Why.RESERVATION
                else placement.shortage(state, lease, demand.count)
            )
        return self._words[like]

    def look(self, lease: Lease, demand: Demand) -> list[str] | Why:
        """Returns devices that the request may get now, or why it waits."""
        if self._left <= 0:
            return Why.LATER
        found = self._decide(lease, demand)
        if self.head is None and found in (Why.FULL, Why.FEW) and self._may_come(lease, demand):
            self.head = Head(self._state, self._now_ms, lease, demand)
        if not isinstance(found, Why):
            self._within_quota.clear()
        return found

    def _may_come(self, lease: Lease, demand: Demand) -> bool:
        """Returns whether the pool has the devices at all. Nobody waits behind others."""
        asked = (_accepted(lease.request), lease.request.spread, demand.count)
        if asked not in self._there:
            there = placement.count_matching(self._state, lease.request, demand.count)
            self._there[asked] = there >= demand.count
        return self._there[asked]

    def _decide(self, lease: Lease, demand: Demand) -> list[str] | Why:
        state, request = self._state, lease.request
        if state.quotas and self._is_at_quota(lease, demand):
            return Why.QUOTA
        accepted = _accepted(request)
        if accepted in self._waits:
            return self._waits[accepted]
        like = self._like(lease, demand)
        queued = lease.state is LeaseState.QUEUED  # it has no devices that make it differ
        if queued and like in self._waits:
            return self._waits[like]
        if not placement.any_free(state, request):
            self._waits[accepted] = self._count(Why.FULL)
            return Why.FULL
        held = self.head.held if self.head else set()
        devices = _find(state, lease, demand, held, self._now_ms)
        if devices is None:
            why = self._count(self._reason(lease, demand, held))
            if queued:
                self._waits[like] = why
            return why
        self._left -= 1
        if self.head is not None and not self.head.permits(lease, devices):
            return Why.KEPT
        return devices

    def _like(self, lease: Lease, demand: Demand) -> Hashable:
        """Returns a key of all that a request of a lease without devices asks for."""
        kept: tuple[str, ...] = ()
        if self._reservations:
            facts = (lease.holder, hold_end(lease, self._now_ms))
            if facts not in self._kept:
                self._kept[facts] = reservation.kept_from(
                    self._state, self._reservations, lease, self._now_ms
                )
            kept = self._kept[facts]
        return _accepted(lease.request), demand.count, lease.request.spread, kept

    def _is_at_quota(self, lease: Lease, demand: Demand) -> bool:
        asked = (lease.holder, lease.request.group, demand.count)
        if asked in self._at_quota:
            return True
        if asked in self._within_quota:
            return False
        if quota.allows(self._state, lease, demand.count, self._now_ms):
            self._within_quota.add(asked)
            return False
        self._at_quota.add(asked)
        return True

    def _reason(self, lease: Lease, demand: Demand, held: set[str]) -> Why:
        """Returns why nothing was found, although something is free. Nobody waits behind a request
        from which only a reservation keeps the devices."""
        state, now_ms = self._state, self._now_ms
        if state.reservations and _find(state, lease, demand, held, now_ms, True) is not None:
            return Why.RESERVATION
        if held and _find(state, lease, demand, set(), now_ms) is not None:
            return Why.KEPT
        return Why.FEW

    def _count(self, why: Why) -> Why:
        """Counts a search."""
        if why in _OWN and self._left_for_own > 0:
            self._left_for_own -= 1
        else:
            self._left -= 1
        return why


def _accepted(request: Request) -> Hashable:
    """Returns a key of the devices that a request accepts."""
    wanted = request.selector
    return (
        wanted.kind,
        wanted.model,
        wanted.min_memory_bytes,
        wanted.min_gflops,
        tuple(sorted(wanted.labels.items())) if wanted.labels else None,
        request.wire,
        None if request.exclusive else (request.share, request.memory_bytes),
    )


def run(tx: Transaction) -> None:
    """Grants what can be granted."""
    state = tx.state
    if not state.rank_dirty:
        return
    now = Round(state, tx.now_ms)
    for lease_id, demand in fair_share.order(state, tx.now_ms):
        lease, no_head = state.leases[lease_id], now.head is None
        found = now.look(lease, demand)
        if found is Why.LATER:
            break
        if not isinstance(found, Why):
            grant(tx, lease, demand, found)
        if now.head is not None:
            if no_head:
                now.head.reclaim_idle(tx)
            if not placement.anything_free(state):
                break
    state.rank_dirty = False


def reasons(state: State) -> list[tuple[str, Demand, str]]:
    """Returns lease and demand of all waiting requests in their order, and why they wait."""
    now = Round(state, state.now_ms)
    queue = fair_share.order(state, state.now_ms)
    return [(i, demand, now.why(state.leases[i], demand)) for i, demand in queue]


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


def _reclaim_idle(tx: Transaction, lease: Lease, free: set[str], count: int) -> None:
    """Gives notice to `count` devices of the idle class that the lease may get. Notices given
    before count, too."""
    state = tx.state
    kept: set[str] = set()
    for reserved, number in reservation.allowance(state, lease, tx.now_ms):
        if len(free & reserved) >= number:
            kept |= reserved
    idle = [
        state.handles[key]
        for key in state.idle
        if key[0] not in free
        and key[0] not in kept
        and placement.fits(state, key[0], lease.request)
        and health(state, key[0]) is Health.OK
    ]
    # Those with a notice first, then the youngest.
    idle.sort(key=lambda h: (h.reclaim_ms == 0, -h.granted_ms, h.device, h.epoch))
    for handle in idle[: max(0, count)]:
        reclaim(tx, handle, tx.now_ms + state.config.reclaim_ms)
