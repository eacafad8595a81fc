"""The one function that changes the pool's state."""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

from outboard.pool.core import (
    accounting,
    administration,
    devices,
    leases,
    restart,
    schedule,
    timers,
)
from outboard.pool.core import commands as c
from outboard.pool.core.replies import Answer, Done, Notice
from outboard.pool.core.state import State
from outboard.pool.core.transaction import Change, Transaction

_KEPT_LINKS = 9  # measurements per pair, of which the median counts
_KEPT_MACHINES = 4096  # of clients; whoever holds a lease may name any


class Outcome(NamedTuple):
    """`answer` may be sent when the changes are stored; the notices wake those who wait."""

    state: State
    changes: list[Change]
    answer: Answer
    notices: list[Notice]


def apply(state: State, command: c.Command, now_ms: int) -> Outcome:
    """Returns the state after a command at a pool time, and what has changed.

    The function owns `state`, changes it in place and returns it. The result depends on nothing
    but the arguments. What is due by time happens before the command, waiting requests are served
    after it.
    """
    state.now_ms = max(now_ms, state.now_ms)
    tx = Transaction(state, state.now_ms)
    if isinstance(command, c.Start):
        restart.start(tx)
    elif isinstance(command, c.Resume):
        restart.resume(tx)
    timers.advance(tx)
    answer = _dispatch(tx, command)
    schedule.run(tx)
    changes = tx.changes()
    if isinstance(answer, str):
        answer = leases.view(state, answer)
    elif answer is None and _tells_desired(command):
        answer = devices.desired(state, command.name)
    return Outcome(state, changes, answer or Done(), tx.notices())


def _tells_desired(command: c.Command) -> TypeGuard[c.RegisterDaemon | c.Heartbeat]:
    if isinstance(command, c.Heartbeat):
        return not command.waits
    return isinstance(command, c.RegisterDaemon)


def _dispatch(tx: Transaction, command: c.Command) -> Answer | str | None:
    """Returns an answer; or the id of a lease, or None, if the answer shows the state after it."""
    handler = _HANDLERS.get(type(command))
    return handler(tx, command) if handler else None  # type: ignore[operator]


def _tick(tx: Transaction, command: c.Tick) -> Answer:
    tx.state.rank_dirty = True  # windows of reservations and weeks of quotas begin by time
    return Done()


def _report_links(tx: Transaction, command: c.ReportLinks) -> Answer:
    links = tx.state.links
    for link in command.links:
        if link.daemon not in tx.state.daemons:
            continue
        if link.machine not in links and len(links) >= _KEPT_MACHINES:
            del links[next(iter(links))]
        kept = links.setdefault(link.machine, {}).setdefault(link.daemon, [])
        kept.append((link.rtt_us, link.bytes_per_s))
        del kept[:-_KEPT_LINKS]
    return Done()


_HANDLERS = {
    c.PutLease: leases.put,
    c.GetLease: leases.get,
    c.Renew: leases.renew,
    c.Grow: leases.grow,
    c.Shrink: leases.shrink,
    c.Release: leases.release,
    c.RegisterDaemon: devices.register,
    c.Heartbeat: devices.heartbeat,
    c.DeregisterDaemon: devices.deregister,
    c.ReportLinks: _report_links,
    c.SetAdmin: devices.set_admin,
    c.SetDaemonAdmin: devices.set_daemon_admin,
    c.ClearDevice: devices.clear,
    c.Revoke: administration.revoke,
    c.BanUser: administration.ban,
    c.UnbanUser: administration.unban,
    c.SetQuota: administration.set_quota,
    c.SetShares: administration.set_shares,
    c.SetReservation: administration.set_reservation,
    c.DeleteReservation: administration.delete_reservation,
    c.StoreUse: accounting.store_all,
    c.Tick: _tick,
}
