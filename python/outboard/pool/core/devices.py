"""The commands of daemons and administrators: the tables of device states (docs/pool.md,
"Devices")."""

from __future__ import annotations

from msgspec.structs import replace

from outboard.pool.core import accounting
from outboard.pool.core.commands import (
    ClearDevice,
    DeregisterDaemon,
    DeviceFacts,
    DeviceReport,
    Heartbeat,
    RegisterDaemon,
    SetAdmin,
    SetDaemonAdmin,
)
from outboard.pool.core.handles import close_handle, deadline, end_handle, touch
from outboard.pool.core.records import Admin, Daemon, Device, Handle
from outboard.pool.core.replies import (
    Answer,
    Desired,
    DesiredDevice,
    DesiredLease,
    DevicesChanged,
    Done,
    Problem,
)
from outboard.pool.core.state import (
    LiveDaemon,
    LiveDevice,
    State,
    class_of,
    forget_daemon_places,
    forget_device,
    index_daemon_places,
    index_device,
)
from outboard.pool.core.transaction import Transaction

FAILED_SESSIONS = 3  # of a device within 60 s: it is broken
SELF_TESTS = 3  # in a row: it is ok again
_DAY_MS = 86_400_000


def desired(state: State, daemon: str) -> Desired:
    """Returns the whole state that a daemon must enforce."""
    devices = []
    for device in state.live_daemons[daemon].devices:
        leases = []
        for handle in state.live_devices[device].handles.values():
            if handle.lives:
                end_ms = deadline(state, state.leases[handle.lease])
                end_ms = min(end_ms, handle.reclaim_ms or end_ms)
                leases.append(DesiredLease(handle.epoch, end_ms, handle.memory_bytes, handle.share))
        record = state.devices[device]
        broken = record.broken_ms > 0
        closed = broken or record.admin is not Admin.OPEN
        devices.append(DesiredDevice(device, record.floor, tuple(leases), closed, broken))
    return Desired(state.rev, state.now_ms, tuple(devices), _may_restart(state, daemon))


def _may_restart(state: State, daemon: str) -> bool:
    """Returns whether an administrator waits for the daemon's restart, and nobody for its
    devices."""
    devices = state.live_daemons[daemon].devices
    wanted = any(state.devices[device].admin is Admin.RESTARTING for device in devices)
    return wanted and not any(state.live_devices[device].handles for device in devices)


def register(tx: Transaction, command: RegisterDaemon) -> Answer | None:
    """Returns a problem; None if the answer is the desired state."""
    state = tx.state
    known, live = state.daemons.get(command.name), state.live_daemons.get(command.name)
    again = known is not None and known.instance == command.instance
    if live is not None and not again and not live.lost:
        why = "another instance of this name is alive, or was until a few seconds ago"
        return Problem(409, "other-instance", f"the daemon is refused ({why}) wait, or stop it")
    for facts in command.devices:
        device = state.devices.get(facts.id)
        if device is not None and device.daemon != command.name:
            why = f"{device.daemon} has it"
            return Problem(409, "other-daemon", f"device {facts.id} is refused ({why}) retire it")
    _store_daemon(tx, command)
    if live is None:
        live = state.live_daemons[command.name] = LiveDaemon(tx.now_ms, lost=True)
    if not again:
        accounting.store_daemon(tx, command.name)
        live.seq = live.rev = 0
    for facts in command.devices:
        _register_device(tx, command.name, facts, again)
    _heard(tx, command.name, live)
    live.registered = True
    for name in live.devices:
        record = state.devices[name]
        # It has restarted; so has a device that it does not have any more.
        if record.admin is Admin.RESTARTING and not again:
            tx.put(replace(record, admin=Admin.OPEN))
        index_device(state, name)
    tx.desired_changed(command.name)
    return None


def _store_daemon(tx: Transaction, command: RegisterDaemon) -> None:
    daemon = Daemon(
        command.name,
        command.instance,
        command.wire,
        command.addresses,
        command.machine,
        command.subnet,
        command.labels,
    )
    known = tx.state.daemons.get(command.name)
    if known == daemon:
        return
    if known is not None:
        forget_daemon_places(tx.state, command.name)
    tx.put(daemon)
    index_daemon_places(tx.state, command.name)


def _register_device(tx: Transaction, daemon: str, facts: DeviceFacts, again: bool) -> None:
    state = tx.state
    told = (facts.kind, facts.model, facts.memory_bytes, facts.gflops)
    record = state.devices.get(facts.id) or Device(facts.id, daemon, *told)
    if told != class_of(record):
        # Its daemon has started anew: with another accelerator, or it has measured anew.
        forget_device(state, facts.id)
        if facts.id in state.live_devices:
            state.live_devices[facts.id].memory_left += facts.memory_bytes - record.memory_bytes
        kind, model, memory_bytes, gflops = told
        record = replace(record, kind=kind, model=model, memory_bytes=memory_bytes, gflops=gflops)
    # A manager restored from a backup learns here which epochs it gave since.
    epoch = max(record.epoch, facts.epoch_seen)
    live = state.live_devices.get(facts.id)
    if live is None:
        live = state.live_devices[facts.id] = LiveDevice(memory_left=facts.memory_bytes)
        state.live_daemons[daemon].devices.append(facts.id)
    floor = record.floor if any(h.lives for h in live.handles.values()) else epoch + 1
    record = replace(record, epoch=epoch, floor=max(record.floor, floor))
    if record != state.devices.get(facts.id):
        tx.put(record)
    if not again:
        live.confirmed = False


def _heard(tx: Transaction, name: str, live: LiveDaemon) -> None:
    if live.lost:
        tx.timer(tx.now_ms + tx.state.config.suspect_ms, "silence", name)
    changed = live.lost or live.suspect
    live.heard_ms, live.lost, live.suspect = tx.now_ms, False, False
    if changed:
        for device in live.devices:
            index_device(tx.state, device)


def heartbeat(tx: Transaction, command: Heartbeat) -> Answer | None:
    """Returns a problem, or None."""
    state = tx.state
    known, live = state.daemons.get(command.name), state.live_daemons.get(command.name)
    if known is None or live is None or not live.registered:
        text = "the manager does not know this daemon (it has started anew) register again"
        return Problem(409, "not-registered", text)
    if known.instance != command.instance:
        text = "the heartbeat is of another instance (it was replaced) register again"
        return Problem(409, "other-instance", text)
    if command.seq <= live.seq:
        return None  # a late or repeated message says nothing new
    live.seq, live.rev = command.seq, command.rev
    _heard(tx, command.name, live)
    for report in command.devices:
        if report.id in state.devices and state.devices[report.id].daemon == command.name:
            accounting.note(tx, report.id, command.instance, report.uses)
            _report(tx, report, command.rev)
    return None


def deregister(tx: Transaction, command: DeregisterDaemon) -> Answer:
    """The daemon has ended its sessions and stops: it counts as lost at once."""
    known, live = tx.state.daemons.get(command.name), tx.state.live_daemons.get(command.name)
    if known is None or live is None or known.instance != command.instance:
        return Done(204)
    accounting.store_daemon(tx, command.name)
    live.lost = True
    live.registered = False
    for device in live.devices:
        tx.state.live_devices[device].lost = True
        index_device(tx.state, device)
    return Done(204)


def _report(tx: Transaction, report: DeviceReport, rev: int) -> None:
    state, live = tx.state, tx.state.live_devices[report.id]
    sessions = {session.epoch for session in report.sessions}
    if sessions:
        for session in report.sessions:
            handle = live.handles.get(session.epoch)
            if session.busy and handle is not None and handle.lives:
                touch(state, state.leases[handle.lease], tx.now_ms)
    for handle in list(live.handles.values()):
        if not handle.lives and rev >= handle.end_rev and handle.epoch not in sessions:
            close_handle(tx, handle)
    if not live.confirmed or live.lost:
        record = state.devices[report.id]
        strange = sessions - live.handles.keys()
        if report.floor >= record.floor and not strange:
            live.confirmed, live.lost = True, False
            index_device(state, report.id)
    if report.fatal or report.failed_sessions >= FAILED_SESSIONS:
        # A daemon that has not heard of the end of the state broken tells of errors before it.
        if not state.devices[report.id].broken_ms and rev >= live.mended_rev:
            _break(tx, report.id)
    elif state.devices[report.id].broken_ms and report.self_tests_ok >= SELF_TESTS:
        _mend(tx, report.id, by_admin=False)


def _break(tx: Transaction, device: str) -> None:
    record = tx.state.devices[device]
    again = bool(record.last_break_ms) and tx.now_ms - record.last_break_ms < _DAY_MS
    record = replace(record, broken_ms=tx.now_ms, last_break_ms=tx.now_ms, stays_broken=again)
    tx.put(record)
    tx.audit(record.daemon, "break", device)
    tx.desired_changed(record.daemon)
    index_device(tx.state, device)
    for handle in _living(tx.state, device):
        end_handle(tx, handle, "broken", queue_other=True)


def _mend(tx: Transaction, device: str, by_admin: bool) -> None:
    record = tx.state.devices[device]
    if record.stays_broken and not by_admin:
        return
    tx.put(replace(record, broken_ms=0, stays_broken=False))
    tx.state.live_devices[device].mended_rev = tx.rev
    tx.desired_changed(record.daemon)
    index_device(tx.state, device)


def clear(tx: Transaction, command: ClearDevice) -> Answer:
    if command.device not in tx.state.devices:
        return _unknown(command.device)
    _mend(tx, command.device, by_admin=True)
    tx.audit(command.actor, "clear", command.device)
    return Done()


def set_admin(tx: Transaction, command: SetAdmin) -> Answer:
    """Opens, cordons, drains or retires a device, or drains it for a restart of its daemon."""
    state = tx.state
    record = state.devices.get(command.device)
    if record is None:
        return _unknown(command.device)
    if record.admin is Admin.RETIRED and command.admin is not Admin.RETIRED:
        text = f"device {record.id} stays retired (its history has ended) register it by a new id"
        return Problem(409, "retired", text)
    _set_admin(tx, record, command)
    return Done()


def set_daemon_admin(tx: Transaction, command: SetDaemonAdmin) -> Answer:
    """Changes all devices of a daemon at once: it would restart too early otherwise."""
    live = tx.state.live_daemons.get(command.daemon)
    if live is None:
        text = f"there is no daemon {command.daemon} (wrong name?) see `outboard pool status`"
        return Problem(404, "unknown", text)
    devices = tx.state.devices
    found = tuple(device for device in live.devices if devices[device].admin in command.of)
    for device in found:
        _set_admin(tx, devices[device], command)
    return DevicesChanged(found)


def _set_admin(tx: Transaction, record: Device, command: SetAdmin | SetDaemonAdmin) -> None:
    state = tx.state
    tx.put(replace(record, admin=command.admin))
    tx.audit(command.actor, command.admin.value, record.id)
    tx.desired_changed(record.daemon)
    index_device(state, record.id)
    if command.admin is Admin.RETIRED:
        _retire(tx, record.id)
    if command.admin in (Admin.DRAINING, Admin.RESTARTING):
        for handle in _living(state, record.id):
            static = state.leases[handle.lease].request.static
            notice = tx.now_ms + state.config.reclaim_ms
            at_ms = command.deadline_ms if static else notice
            if at_ms:
                reclaim(tx, handle, at_ms)


def _retire(tx: Transaction, device: str) -> None:
    for handle in _living(tx.state, device):
        end_handle(tx, handle, "retired", queue_other=True)
    for handle in list(tx.state.live_devices[device].handles.values()):
        close_handle(tx, handle)


def reclaim(tx: Transaction, handle: Handle, at_ms: int) -> None:
    """Gives notice that a handle will be taken. On a draining device its lease may queue for
    another one first."""
    if handle.reclaim_ms and handle.reclaim_ms <= at_ms:
        return
    tx.put(replace(handle, reclaim_ms=at_ms))
    tx.timer(at_ms, "reclaim", handle.device, handle.epoch)
    tx.lease_changed(handle.lease)
    tx.desired_changed(tx.state.devices[handle.device].daemon)


def _living(state: State, device: str) -> list[Handle]:
    return [handle for handle in state.live_devices[device].handles.values() if handle.lives]


def _unknown(device: str) -> Problem:
    return Problem(404, "unknown", f"there is no device {device} (wrong id?) see the inventory")
