"""What happens by time alone."""

from __future__ import annotations

import heapq

from outboard.pool.core import accounting
from outboard.pool.core.handles import deadline, end_handle, end_lease, watch_deadline
from outboard.pool.core.records import LeaseState
from outboard.pool.core.state import index_device
from outboard.pool.core.transaction import Transaction


def advance(tx: Transaction) -> None:
    """Handles all timers that are due. Timers are not removed when they lose their reason."""
    timers = tx.state.timers
    while timers and timers[0][0] <= tx.now_ms:
        _, kind, key, number = heapq.heappop(timers)
        if kind == "lease":
            _lease(tx, key, number)
        elif kind == "silence":
            _silence(tx, key)
        elif kind == "reclaim":
            handle = tx.state.handles.get((key, number))
            if handle is not None and handle.lives and 0 < handle.reclaim_ms <= tx.now_ms:
                end_handle(tx, handle, "reclaimed", queue_other=True)
        elif key in tx.state.leases:
            tx.delete_lease(key)


def _lease(tx: Transaction, key: str, held: int) -> None:
    lease = tx.state.leases.get(key)
    if lease is None or lease.state is not (LeaseState.HELD if held else LeaseState.QUEUED):
        return
    if deadline(tx.state, lease) > tx.now_ms:
        watch_deadline(tx, lease)
    else:
        end_lease(tx, lease, "expired" if held else "abandoned")


def _silence(tx: Transaction, key: str) -> None:
    state, live = tx.state, tx.state.live_daemons[key]
    silent_ms = tx.now_ms - live.heard_ms
    if silent_ms < state.config.suspect_ms:
        tx.timer(live.heard_ms + state.config.suspect_ms, "silence", key)
        return
    if silent_ms < state.config.lost_ms:
        live.suspect = True
        tx.timer(live.heard_ms + state.config.lost_ms, "silence", key)
    else:
        live.lost = True
        accounting.store_daemon(tx, key)
    for device in live.devices:
        state.live_devices[device].lost |= live.lost
        index_device(state, device)
