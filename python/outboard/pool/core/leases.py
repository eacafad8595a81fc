"""The commands of clients: the table of lease states (docs/pool.md, "Leases")."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from outboard.pool.core import placement, quota
from outboard.pool.core.commands import GetLease, Grow, PutLease, Release, Renew, Shrink
from outboard.pool.core.handles import (
    REPLACES,
    deadline,
    end_handle,
    end_lease,
    enqueue,
    lease_time,
    touch,
    watch_deadline,
)
from outboard.pool.core.records import WHOLE, Demand, Lease, LeaseState, Request
from outboard.pool.core.replies import Answer, Done, HandleView, LeaseView, Problem, Renewal
from outboard.pool.core.state import Health, LiveLease, State, health, living_handles
from outboard.pool.core.transaction import Transaction

FIRST_PART = ""  # the part of the request that made the lease
# A grow is repeated when its answer is lost, so soon that its holder has not grown the lease this
# often since. With names of 64 characters, waiting and kept parts take less than 25 KiB of the
# lease's row; etcd refuses requests above 1.5 MiB.
MOST_WAITING_PARTS = 64
KEPT_PARTS = 64
_ENDED = (LeaseState.ENDING, LeaseState.OVER)


def view(state: State, lease_id: str) -> LeaseView:
    """Returns what the holder of a queued or held lease is told."""
    lease = state.leases[lease_id]
    handles = []
    for handle in sorted(living_handles(state, lease_id), key=lambda h: (h.device, h.epoch)):
        device = state.devices[handle.device]
        floor = handle.epoch if handle.exclusive else min(device.floor, handle.epoch)
        handles.append(
            HandleView(
                handle.device,
                device.daemon,
                handle.epoch,
                floor,
                handle.exclusive,
                handle.share,
                handle.memory_bytes,
                handle.reclaim_ms,
                handle.seat,
            )
        )
    status = 202 if lease.state is LeaseState.QUEUED else 200
    return LeaseView(
        status,
        lease.id,
        lease.state,
        tuple(handles),
        deadline(state, lease),
        lease_time(state, lease),
        state.rev,
        bool(state.waiting),
        lease.reason,
    )


def put(tx: Transaction, command: PutLease) -> Answer | str:
    """Returns the problem, or the id of a lease to show when the step is done."""
    state = tx.state
    known = state.leases.get(command.id)
    if known is not None:
        if known.holder != command.holder:
            return _unknown(command.id)
        if known.request != command.request:
            text = "the lease exists with another request (ids are for one request) choose an id"
            return Problem(409, "other-body", text)
        if known.state in _ENDED:
            return _over(known)
        if known.state is LeaseState.QUEUED:
            touch(state, known, tx.now_ms)
        return known.id
    if problem := _refusal(state, command.holder, command.request, command.request.count, 0):
        return problem
    request = command.request
    lease = Lease(command.id, command.holder, request, LeaseState.QUEUED, tx.now_ms)
    state.live_leases[lease.id] = LiveLease(0)
    touch(state, lease, tx.now_ms)
    lease = replace(lease, end_ms=state.live_leases[lease.id].end_ms)
    lease = enqueue(
        tx, lease, Demand(FIRST_PART, request.count, request.priority, tx.now_ms, tx.rev)
    )
    watch_deadline(tx, lease)
    return lease.id


def get(tx: Transaction, command: GetLease) -> Answer | str:
    lease = tx.state.leases.get(command.id)
    if lease is None or lease.holder != command.holder:
        return _unknown(command.id)
    if lease.state in _ENDED:
        return _over(lease)
    touch(tx.state, lease, tx.now_ms)
    return lease.id


def renew(tx: Transaction, command: Renew) -> Answer:
    """Renews leases of one holder. Devices that it cannot reach and that are lost are given up."""
    state = tx.state
    for lease_id in command.ids:
        lease = state.leases.get(lease_id)
        if lease is None or lease.holder != command.holder or lease.state in _ENDED:
            continue
        touch(state, lease, tx.now_ms)
        for handle in living_handles(state, lease_id):
            unreachable = handle.device in command.unreachable
            # A job without a replacement gets this device back when its daemon does.
            if lease.request.static and not lease.request.replace:
                continue
            if unreachable and health(state, handle.device) is Health.LOST:
                end_handle(tx, handle, "lost", queue_other=True)
    return Renewal(tuple(_renewed(state, command.holder, i) for i in command.ids))


def _renewed(state: State, holder: str, lease_id: str) -> LeaseView | Problem:
    lease = state.leases.get(lease_id)
    if lease is None or lease.holder != holder:
        return _unknown(lease_id)
    return _over(lease) if lease.state in _ENDED else view(state, lease_id)


def grow(tx: Transaction, command: Grow) -> Answer | str:
    lease = _held(tx.state, command.id, command.holder)
    if isinstance(lease, Problem) or command.part in lease.parts:
        return lease if isinstance(lease, Problem) else lease.id
    if not command.part or command.part.startswith(REPLACES):
        return Problem(
            422, "invalid", "the part has no name of its own (it is reserved) choose one"
        )
    held = len(living_handles(tx.state, lease.id)) + sum(d.count for d in lease.waiting)
    if problem := _refusal(tx.state, lease.holder, lease.request, command.count, held):
        return problem
    waiting = {demand.part for demand in lease.waiting if not demand.part.startswith(REPLACES)}
    if len(waiting) >= MOST_WAITING_PARTS:
        why = f"{MOST_WAITING_PARTS} parts of the lease wait already"
        text = f"the lease does not grow ({why}) try again when one of them was served"
        return Problem(429, "too-many-waiting", text)
    lease = replace(lease, parts=(*_kept_parts(lease, waiting), command.part))
    priority = max(lease.request.priority, command.highest, key=lambda priority: priority.rank)
    demand = Demand(command.part, command.count, priority, tx.now_ms, tx.rev)
    return enqueue(tx, lease, demand).id


def _kept_parts(lease: Lease, waiting: set[str]) -> Iterator[str]:
    """Yields the names of parts that wait, and of the last KEPT_PARTS others."""
    served = [part for part in lease.parts if part not in waiting]
    forgotten = set(served[:-KEPT_PARTS])
    yield from (part for part in lease.parts if part not in forgotten)


def shrink(tx: Transaction, command: Shrink) -> Answer | str:
    lease = _held(tx.state, command.id, command.holder)
    if isinstance(lease, Problem):
        return lease
    for handle in living_handles(tx.state, lease.id):
        if handle.device == command.device:
            end_handle(tx, handle, "shrunk")
            break
    return Done(204)  # also for a handle that has ended already: a repeated command


def release(tx: Transaction, command: Release) -> Answer:
    lease = tx.state.leases.get(command.id)
    if lease is None or lease.holder != command.holder:
        return _unknown(command.id)
    if lease.state not in _ENDED:
        end_lease(tx, lease, "released")
    return Done(204)


def _held(state: State, lease_id: str, holder: str) -> Lease | Problem:
    lease = state.leases.get(lease_id)
    if lease is None or lease.holder != holder:
        return _unknown(lease_id)
    if lease.state in _ENDED:
        return _over(lease)
    if lease.state is LeaseState.QUEUED:
        text = f"lease {lease_id} has no devices yet (it is queued) wait until it is held"
        return Problem(409, "not-held", text)
    return lease


def _refusal(state: State, holder: str, request: Request, count: int, held: int) -> Problem | None:
    if holder in state.bans:
        why = state.bans[holder].reason or "by an administrator"
        return Problem(403, "banned", f"{holder} gets no leases ({why}) ask the administrator")
    if count < 1 or not 1 <= request.share <= WHOLE or request.ttl_ms < 0:
        text = "count, share or lease time is out of range (count >= 1, 1 <= share <= 1000) change"
        return Problem(422, "invalid", text)
    if request.memory_bytes < 0 or request.max_hold_ms < 0:
        text = "the memory or the longest time is negative (bytes, ms) give 0 or more"
        return Problem(422, "invalid", text)
    if request.until_ms and request.until_ms <= state.now_ms:
        text = "the lease would end before it begins (until_ms is in the past) give a later time"
        return Problem(422, "invalid", text)
    most = placement.count_matching(state, request, count + held)
    if count + held > most:
        text = f"{count + held} devices will never be free (the pool has {most} of the kind) ask"
        return Problem(409, "can-never-fit", f"{text} for fewer")
    return quota.refusal(state, holder, request, count, held)


def _unknown(lease_id: str) -> Problem:
    return Problem(404, "unknown", f"there is no lease {lease_id} of this holder (wrong id?)")


def _over(lease: Lease) -> Problem:
    text = f"lease {lease.id} is over ({lease.reason}) acquire another with a new id"
    return Problem(410, "lease-over", text)
