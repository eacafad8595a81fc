"""The use of leases: daemons count, and say the sums since their start with each heartbeat.

A sum is added when it is stored, less what was stored of the same start of the daemon. So nothing
counts twice, whatever starts anew and however often a sum arrives. If a daemon is killed, all that
it counted after its last heartbeat is lost.
"""

from __future__ import annotations

from msgspec.structs import replace

from outboard.pool.core.commands import StoreUse, UseReport
from outboard.pool.core.records import Handle, Use
from outboard.pool.core.replies import Answer, Done
from outboard.pool.core.state import LiveUse, State
from outboard.pool.core.transaction import Transaction

_LEAST_BETWEEN_MS = 1_000  # of two stores because somebody asks


def note(tx: Transaction, device: str, instance: str, reports: tuple[UseReport, ...]) -> None:
    """Takes the sums of a heartbeat. Those of leases that are unknown here are ignored."""
    live = tx.state.live_devices[device]
    for report in reports:
        handle = live.handles.get(report.epoch)
        if handle is None:
            continue
        use = live.uses.get(report.epoch)
        if use is None or use.instance != instance:
            use = live.uses[report.epoch] = LiveUse(instance, report.use, tx.now_ms)
        use.level = report.use
        if tx.now_ms - use.stored_ms >= tx.state.config.store_use_ms:
            _store(tx, handle)


def with_use(state: State, handle: Handle) -> Handle:
    """Returns the handle with all that is known of its use."""
    live = state.live_devices[handle.device].uses.get(handle.epoch)
    if live is None:
        return handle
    same = live.instance == handle.instance
    if same and live.level == handle.counted:
        return handle
    before = handle.counted if same else Use()
    use = handle.use.plus(live.level, before)
    return replace(handle, use=use, counted=live.level, instance=live.instance)


def store_daemon(tx: Transaction, daemon: str) -> None:
    """Stores all that a daemon has said: it stops, starts anew, or is lost."""
    for device in tx.state.live_daemons[daemon].devices:
        live = tx.state.live_devices[device]
        for epoch in list(live.uses):
            _store(tx, live.handles[epoch])
        live.uses.clear()


def store_all(tx: Transaction, command: StoreUse) -> Answer:
    for live in tx.state.live_devices.values():
        for epoch, use in live.uses.items():
            if tx.now_ms - use.stored_ms >= _LEAST_BETWEEN_MS:
                _store(tx, live.handles[epoch])
    return Done()


def _store(tx: Transaction, handle: Handle) -> None:
    tx.state.live_devices[handle.device].uses[handle.epoch].stored_ms = tx.now_ms
    counted = with_use(tx.state, handle)
    if counted is not handle:
        tx.put(counted)
