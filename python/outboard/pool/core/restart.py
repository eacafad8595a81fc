"""Makes the parts of the state that live in memory only, from the stored tables."""

from __future__ import annotations

from msgspec.structs import replace

from outboard.pool.core.handles import free_seats, touch, watch_deadline
from outboard.pool.core.records import Admin, Handle, LeaseState, Priority
from outboard.pool.core.state import (
    LiveDaemon,
    LiveDevice,
    LiveLease,
    index_daemon_places,
    index_device,
    quota_names,
)
from outboard.pool.core.transaction import Transaction


def start(tx: Transaction) -> None:
    """The manager starts: leases get their time anew, and devices wait for their daemons."""
    state = tx.state
    state.live_leases, state.live_devices, state.live_daemons = {}, {}, {}
    state.classes, state.waiting, state.waiting_of, state.held_of = {}, {}, {}, {}
    state.timers, state.links, state.places, state.idle, state.renewing = [], {}, {}, {}, 0
    # Sorted, since the order of an index decides between equals, and each store has another one.
    for name in sorted(state.daemons):
        index_daemon_places(state, name)
    for name in state.daemons:
        state.live_daemons[name] = LiveDaemon(tx.now_ms)
        tx.timer(tx.now_ms + state.config.suspect_ms, "silence", name)
    for device in state.devices.values():
        state.live_devices[device.id] = LiveDevice(memory_left=device.memory_bytes)
        state.live_daemons[device.daemon].devices.append(device.id)
    _leases(tx)
    _handles(tx)
    for device_id in sorted(state.devices):
        index_device(state, device_id)


def resume(tx: Transaction) -> None:
    """The manager heard nobody for a while: nobody was silent then. Those who are alive get as much
    time to say so as after a start."""
    state = tx.state
    for daemon in state.live_daemons.values():
        if not daemon.lost:
            daemon.heard_ms = tx.now_ms
    for lease in state.leases.values():
        if lease.state in (LeaseState.QUEUED, LeaseState.HELD):
            touch(state, lease, tx.now_ms)


def _leases(tx: Transaction) -> None:
    state = tx.state
    for lease in state.leases.values():
        state.live_leases[lease.id] = LiveLease(lease.end_ms)
        state.renewing += lease.state is LeaseState.HELD and lease.request.ttl_ms > 0
        for demand in lease.waiting:
            state.waiting[lease.id, demand.part] = None
            for name in quota_names(lease.holder, lease.request.group):
                state.waiting_of[name] = state.waiting_of.get(name, 0) + 1
    for lease in state.leases.values():
        if lease.state in (LeaseState.QUEUED, LeaseState.HELD):
            touch(state, lease, tx.now_ms)
            watch_deadline(tx, lease)
        elif lease.state is LeaseState.OVER:
            tx.timer(lease.over_ms + state.config.keep_over_ms, "forget", lease.id)


def _handles(tx: Transaction) -> None:
    state = tx.state
    unseated: dict[str, list[Handle]] = {}
    for key, handle in state.handles.items():
        lease, live = state.leases[handle.lease], state.live_devices[handle.device]
        live.handles[handle.epoch] = handle
        live.share_left -= handle.share
        live.memory_left -= handle.memory_bytes
        state.live_leases[lease.id].handles[key] = None
        if handle.lives and handle.seat < 0:
            unseated.setdefault(lease.id, []).append(handle)
        if handle.lives:
            if lease.request.priority is Priority.IDLE:
                state.idle[key] = None
            for name in quota_names(lease.holder, lease.request.group):
                state.held_of[name] = state.held_of.get(name, 0) + 1
            if handle.reclaim_ms and state.devices[handle.device].admin is not Admin.RETIRED:
                tx.timer(handle.reclaim_ms, "reclaim", handle.device, handle.epoch)
    # A manager of an older version has granted these, or has led meanwhile.
    for lease_id, handles in unseated.items():
        seats = free_seats(state, state.leases[lease_id])
        handles.sort(key=lambda handle: handle.device)
        for handle, seat in list(zip(handles, seats, strict=False)):
            tx.put(replace(handle, seat=seat))
