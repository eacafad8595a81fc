"""Grants and ends of handles, and what they mean for their leases and devices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from msgspec.structs import replace

from outboard.pool.core import fair_share
from outboard.pool.core.accounting import with_use
from outboard.pool.core.records import (
    WHOLE,
    Account,
    Admin,
    Demand,
    Handle,
    Lease,
    LeaseState,
    Priority,
)
from outboard.pool.core.state import (
    FOREVER,
    LiveLease,
    State,
    hold_end,
    index_device,
    living_handles,
    open_handles,
    quota_names,
)
from outboard.pool.core.transaction import Transaction

REPLACES = "replace:"  # begins the names of parts that wait in place of a lost device


def lease_time(state: State, lease: Lease) -> int:
    """Returns the lease time in force, ms: longer where many renew, shorter where others wait."""
    ttl = lease.request.ttl_ms
    if ttl == 0:
        return 0
    config = state.config
    if state.waiting and not lease.request.static and lease.state is LeaseState.HELD:
        ttl = min(ttl, config.wanted_ttl_ms)
    # Holders renew each third of the lease time.
    stretched = 3 * 1000 * state.renewing // config.renewals_per_s
    return max(ttl, min(config.longest_ttl_ms, stretched))


def touch(state: State, lease: Lease, now_ms: int) -> None:
    """Moves the end of a lease whose holder gave a sign of life."""
    live = state.live_leases[lease.id]
    live.end_ms = max(live.end_ms, now_ms + lease_time(state, lease))


def deadline(state: State, lease: Lease) -> int:
    """Returns when a lease ends unless its holder renews; FOREVER if it has no end."""
    if lease.state is LeaseState.HELD:
        hard = hold_end(lease, state.now_ms)
    else:
        hard = lease.request.until_ms or FOREVER
    return min(hard, state.live_leases[lease.id].end_ms) if lease.request.ttl_ms else hard


def watch_deadline(tx: Transaction, lease: Lease) -> None:
    """Sets the timer of the lease's present state (handled in timers.py)."""
    at_ms = deadline(tx.state, lease)
    if at_ms < FOREVER:
        tx.timer(at_ms, "lease", lease.id, int(lease.state is LeaseState.HELD))


def enqueue(tx: Transaction, lease: Lease, demand: Demand) -> Lease:
    """Adds a demand to a lease, new or known, and to the queue."""
    lease = replace(lease, waiting=(*lease.waiting, demand))
    tx.state.live_leases.setdefault(lease.id, LiveLease(0))
    tx.put(lease)
    tx.state.waiting[lease.id, demand.part] = None
    for name in quota_names(lease.holder, lease.request.group):
        tx.state.waiting_of[name] = tx.state.waiting_of.get(name, 0) + 1
    tx.state.rank_dirty = True
    return lease


def dequeue(tx: Transaction, lease: Lease, part: str) -> Lease:
    parts = lease.parts
    if part in parts:  # the manager forgets those first that were served first
        parts = (*(one for one in parts if one != part), part)
    waiting = tuple(demand for demand in lease.waiting if demand.part != part)
    lease = replace(lease, waiting=waiting, parts=parts)
    tx.put(lease)
    del tx.state.waiting[lease.id, part]
    for name in quota_names(lease.holder, lease.request.group):
        tx.state.waiting_of[name] -= 1
    return lease


def grant(tx: Transaction, lease: Lease, demand: Demand, devices: list[str]) -> None:
    """Gives the demand its devices, with new epochs."""
    state, request, now_ms = tx.state, lease.request, tx.now_ms
    first = lease.state is LeaseState.QUEUED
    lease = dequeue(tx, lease, demand.part)
    if first:
        lease = replace(lease, state=LeaseState.HELD, held_ms=now_ms)
        state.renewing += request.ttl_ms > 0
        touch(state, lease, now_ms)
        lease = replace(lease, end_ms=state.live_leases[lease.id].end_ms)
        tx.put(lease)
        watch_deadline(tx, lease)
    for device, seat in zip(sorted(devices), free_seats(state, lease, demand.seat), strict=False):
        record = state.devices[device]
        epoch = max(record.epoch + 1, record.floor)
        floor = epoch if request.exclusive else record.floor
        tx.put(replace(record, epoch=epoch, floor=floor))
        share = WHOLE if request.exclusive else request.share
        memory = request.memory_on(record.memory_bytes)
        facts = (device, epoch, lease.id, request.exclusive, share, memory, now_ms)
        handle = Handle(*facts, seat=seat)
        tx.put(handle)
        live = state.live_devices[device]
        if request.priority is Priority.IDLE:
            state.idle[handle.device, handle.epoch] = None
        live.share_left -= share
        live.memory_left -= memory
        index_device(state, device)
        tx.desired_changed(record.daemon)
        _account(tx, lease, share, 1)
    tx.audit(lease.holder, "grant", lease.id, " ".join(devices))
    tx.lease_changed(lease.id)


def free_seats(state: State, lease: Lease, first: int = -1) -> Iterator[int]:
    """Yields numbers that no device of the lease has, beginning with `first` if that is one, and
    without those of devices that are being replaced."""
    taken = {handle.seat for handle in living_handles(state, lease.id)}
    if first >= 0 and first not in taken:
        yield first
        taken.add(first)
    kept = {demand.seat for demand in lease.waiting} - taken
    taken |= kept
    yield from (seat for seat in itertools.count() if seat not in taken)


def end_handle(tx: Transaction, handle: Handle, reason: str, queue_other: bool = False) -> None:
    """Ends a living handle: its epoch is no longer desired. The device returns when its daemon has
    confirmed. `queue_other`: queue for another device, if the lease asked for it."""
    state = tx.state
    handle = replace(handle, end_rev=tx.rev, reason=reason)
    tx.put(handle)
    state.idle.pop((handle.device, handle.epoch), None)
    record = state.devices[handle.device]
    epochs = [h.epoch for h in state.live_devices[handle.device].handles.values() if h.lives]
    floor = max(record.floor, min(epochs, default=record.epoch + 1))
    tx.put(replace(record, floor=floor))
    lease = state.leases[handle.lease]
    _account(tx, lease, -handle.share, -1)
    tx.desired_changed(record.daemon)
    tx.lease_changed(lease.id)
    index_device(state, handle.device)
    if queue_other and lease.request.replace and lease.state is LeaseState.HELD:
        part = f"{REPLACES}{handle.device}:{handle.epoch}"
        # A holder of class idle, which gave way to others, does not come back before them.
        priority = lease.request.priority
        priority = priority if priority is Priority.IDLE else Priority.HIGH
        enqueue(tx, lease, Demand(part, 1, priority, tx.now_ms, tx.rev, handle.seat))
    if state.config.grant_unconfirmed or record.admin is Admin.RETIRED:
        close_handle(tx, handle)
    _settle(tx, handle.lease, reason)


def close_handle(tx: Transaction, handle: Handle) -> None:
    """The daemon has confirmed the end of a handle, or its device was retired."""
    live = tx.state.live_devices[handle.device]
    tx.put(replace(with_use(tx.state, handle), open=False))
    live.uses.pop(handle.epoch, None)
    live.share_left += handle.share
    live.memory_left += handle.memory_bytes
    index_device(tx.state, handle.device)
    _settle(tx, handle.lease, handle.reason)


def end_lease(tx: Transaction, lease: Lease, reason: str) -> None:
    """Ends a queued or held lease."""
    for demand in lease.waiting:
        lease = dequeue(tx, lease, demand.part)
    tx.lease_changed(lease.id)
    if lease.state is LeaseState.QUEUED:
        _over(tx, replace(lease, reason=reason))
        return
    _ending(tx, lease, reason)
    for handle in living_handles(tx.state, lease.id):
        end_handle(tx, handle, reason)
    _settle(tx, lease.id, reason)


def _settle(tx: Transaction, lease_id: str, reason: str) -> None:
    """Moves a lease on whose last handle has ended, or was confirmed."""
    state = tx.state
    lease = state.leases[lease_id]
    if (
        lease.state is LeaseState.HELD
        and not lease.waiting
        and not any(handle.lives for handle in open_handles(state, lease_id))
    ):
        lease = _ending(tx, lease, reason)
    if lease.state is LeaseState.ENDING and not state.live_leases[lease_id].handles:
        _over(tx, lease)


def _ending(tx: Transaction, lease: Lease, reason: str) -> Lease:
    lease = replace(lease, state=LeaseState.ENDING, reason=reason)
    tx.state.renewing -= lease.request.ttl_ms > 0
    tx.put(lease)
    tx.audit(lease.holder, "end", lease.id, reason)
    tx.lease_changed(lease.id)
    return lease


def _over(tx: Transaction, lease: Lease) -> None:
    tx.put(replace(lease, state=LeaseState.OVER, over_ms=tx.now_ms))
    tx.timer(tx.now_ms + tx.state.config.keep_over_ms, "forget", lease.id)
    tx.lease_changed(lease.id)


def _account(tx: Transaction, lease: Lease, share: int, devices: int) -> None:
    """Counts `share` per mille of a device more for the holder, the group and everybody."""
    state = tx.state
    names = [lease.holder, fair_share.EVERYBODY]
    if lease.request.group:
        names.append(f"group:{lease.request.group}")
    for name in names:
        account: Account = fair_share.account_of(state, name, tx.now_ms)
        tx.put(replace(account, running=account.running + share))
    for name in quota_names(lease.holder, lease.request.group):
        state.held_of[name] = state.held_of.get(name, 0) + devices
    if devices < 0:
        state.rank_dirty = True  # a quota may have room again
