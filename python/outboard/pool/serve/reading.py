"""The verbs that only look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from outboard.pool.core import schedule
from outboard.pool.core.commands import StoreUse
from outboard.pool.core.handles import deadline
from outboard.pool.core.records import MOST_USE, Device, Lease, LeaseState
from outboard.pool.core.state import State, allocation, health, living_handles
from outboard.pool.serve.answers import (
    AuditPage,
    Bans,
    DeviceRow,
    Devices,
    LeaseRow,
    Leases,
    Queue,
    QueueRow,
    Quotas,
    Reservations,
    Usage,
    UsageRow,
)
from outboard.pool.serve.bodies import MOST
from outboard.pool.serve.exchange import Request, Response, answer, check_device
from outboard.pool.serve.manager import Manager
from outboard.pool.serve.peer import Peer
from outboard.pool.serve.problems import ProblemError
from outboard.pool.serve.settings import Role
from outboard.pool.store.base import UsageSum

PAGE = 1000
# The daemon's gate ignores a state with a lower revision; a new process of it takes any.
AHEAD = (
    "its daemon knows a newer state of this pool than this manager has (the manager began with an "
    "empty or older state?) restart the daemon, or bring that state back with `outboard pool "
    "restore`"
)
_ENDED = (LeaseState.ENDING, LeaseState.OVER)


def sees_all(peer: Peer) -> bool:
    return peer.may(Role.ADMIN) or peer.may(Role.MONITOR)


def _limit(request: Request) -> int:
    return int(request.number("limit", PAGE, 1, PAGE))


async def devices(manager: Manager, request: Request) -> Response:
    after, limit, peer = request.text("after"), _limit(request), request.peer

    def look(state: State) -> Devices:
        names = sorted(name for name in state.devices if name > after)
        rows = [device_row(manager, state, name, peer) for name in names[:limit]]
        more = rows[-1].id if len(names) > limit else ""
        return Devices(now_ms=state.now_ms, devices=rows, next=more)

    return answer(await manager.do(look))


async def device(manager: Manager, request: Request) -> Response:
    name, peer = check_device(request.names[0]), request.peer

    def look(state: State) -> Any:
        if name not in state.devices:
            return ProblemError("unknown", f"there is no device {name} (wrong id?)")
        return device_row(manager, state, name, peer)

    return answer(await manager.do(look))


def device_row(manager: Manager, state: State, name: str, peer: Peer | None) -> DeviceRow:
    """`peer`: sees who holds it if that is himself, or if he sees everything; None sees nothing."""
    record = state.devices[name]
    leases = [state.leases[h.lease] for h in state.live_devices[name].handles.values()]
    shown = [x for x in leases if peer is not None and (sees_all(peer) or x.holder == peer.holder)]
    daemon = state.daemons[record.daemon]
    use = manager.metrics.use_of(state, name)
    return DeviceRow(
        record.id,
        record.daemon,
        record.kind,
        record.model,
        record.memory_bytes,
        record.gflops,
        allocation(state, record.id),
        health(state, record.id),
        record.admin,
        [lease.holder for lease in shown],
        [lease.id for lease in shown],
        record.epoch,
        record.floor,
        why(state, record),
        list(daemon.addresses),
        use.memory_bytes if use else None,
        use.sessions if use else None,
        use.busy_sessions if use else None,
    )


def why(state: State, record: Device) -> str:
    """Returns in words why the device cannot be granted now, or why its daemon would refuse the
    lease; empty if it can."""
    live, daemon = state.live_devices[record.id], state.live_daemons[record.daemon]
    silent_s = (state.now_ms - daemon.heard_ms) / 1000
    if record.admin.value != "open":
        return f"it is {record.admin.value} by an administrator"
    if not daemon.registered:
        return "its daemon is not registered: it stopped, or has not spoken since the manager began"
    if daemon.lost or daemon.suspect:
        return f"its daemon has been silent for {silent_s:.0f} s"
    if record.broken_ms:
        again = "; it broke twice within a day, so an administrator must clear it"
        ago_s = (state.now_ms - record.broken_ms) / 1000
        return f"it broke {ago_s:.0f} s ago" + (again if record.stays_broken else "")
    if daemon.rev > state.rev:  # it takes no word from this state, and refuses its leases
        return AHEAD
    if not live.confirmed or live.lost:
        return "its daemon has not confirmed yet that nothing older is left on it"
    if live.handles and not any(handle.lives for handle in live.handles.values()):
        return "its last lease is over, and its daemon has not confirmed that yet"
    return "held" if live.share_left <= 0 else ""


async def leases(manager: Manager, request: Request) -> Response:
    after, limit, peer = request.text("after"), _limit(request), request.peer
    over = request.text("over") in ("1", "true")

    def look(state: State) -> Leases:
        rows = [
            lease_row(state, lease)
            for lease in state.leases.values()
            if lease.id > after
            and (over or lease.state is not LeaseState.OVER)
            and (sees_all(peer) or lease.holder == peer.holder or _batch(peer, lease))
        ]
        rows.sort(key=lambda row: row.id)
        return Leases(leases=rows[:limit], next=rows[limit - 1].id if len(rows) > limit else "")

    return answer(await manager.do(look))


def _batch(peer: Peer, lease: Lease) -> bool:
    return peer.may(Role.BATCH) and "." in lease.id


def lease_row(state: State, lease: Lease) -> LeaseRow:
    handles = living_handles(state, lease.id)
    return LeaseRow(
        lease.id,
        lease.holder,
        lease.request.group,
        lease.state,
        lease.request.exclusive,
        [handle.device for handle in handles],
        sum(demand.count for demand in lease.waiting),
        lease.request.priority,
        lease.arrived_ms,
        lease.end_ms if lease.state in _ENDED else min(deadline(state, lease), MOST),
        lease.reason,
    )


async def queue(manager: Manager, request: Request) -> Response:
    peer = request.peer

    def look(state: State) -> Queue:
        return Queue([hidden(row, peer) for row in queue_rows(state)])

    return answer(await manager.do(look))


def hidden(row: QueueRow, peer: Peer, name: str = "") -> QueueRow:
    """Hides who waits from all others, who see `name` in place of the holder."""
    if not (sees_all(peer) or row.holder == peer.holder):
        row.holder, row.lease = name, ""
        row.reason = row.reason.partition(":")[0]  # the rest may tell who it is
    return row


def queue_rows(state: State) -> list[QueueRow]:
    rows = []
    for place, (lease_id, demand, why) in enumerate(schedule.reasons(state), 1):
        lease = state.leases[lease_id]
        wanted = lease.request.selector
        kind = " ".join(word for word in (wanted.kind, wanted.model) if word) or "any kind"
        text = f"waits for {demand.count} of {kind}: {why}"
        row = QueueRow(
            place, lease.holder, lease_id, demand.count, demand.priority, demand.arrived_ms, text
        )
        rows.append(row)
    return rows


async def quotas(manager: Manager, request: Request) -> Response:
    mine = {f"user:{request.peer.holder}"}
    mine |= {f"group:{g}" for g in manager.settings.groups_of(request.peer.holder)}

    def look(state: State) -> Quotas:
        every = sees_all(request.peer)
        return Quotas([q for name, q in sorted(state.quotas.items()) if every or name in mine])

    return answer(await manager.do(look))


async def reservations(manager: Manager, request: Request) -> Response:
    def look(state: State) -> Reservations:
        every, holder = sees_all(request.peer), request.peer.holder
        rows = [r for _, r in sorted(state.reservations.items()) if every or holder in r.users]
        return Reservations(rows)

    return answer(await manager.do(look))


async def bans(manager: Manager, request: Request) -> Response:
    def look(state: State) -> Bans:
        every, holder = sees_all(request.peer), request.peer.holder
        return Bans([b for user, b in sorted(state.bans.items()) if every or user == holder])

    return answer(await manager.do(look))


async def usage(manager: Manager, request: Request) -> Response:
    by = request.text("by", "user")
    if by not in ("user", "group", "job", "lease"):
        raise ProblemError(
            "invalid", f"'{by[:40]}' is no way to sum (user, group, job, lease); give one"
        )
    since_ms = int(request.number("since_ms", 0, 0, MOST))
    holder = "" if sees_all(request.peer) else request.peer.holder
    column = "lease" if by == "job" else by
    await manager.do(StoreUse())
    rows: list[UsageSum] = await manager.do(
        lambda state: manager.store.usage(column, since_ms, manager.now_ms(), holder)
    )
    shown = [_usage_row(row) for row in rows]
    if by == "job":
        shown = _jobs(shown)
    if request.text("format") == "csv":
        numbers = ["leases", "device_s", "compute_s", "waited_s", "bytes_in", "bytes_out"]
        lines = [",".join(["name", *numbers, *(["cluster", "job"] if by == "job" else [])])]
        for row in shown:
            values = [getattr(row, name) for name in numbers]
            cells = [f"{value:.3f}" if isinstance(value, float) else str(value) for value in values]
            jobs = [_csv(row.cluster), _csv(row.job)] if by == "job" else []
            lines.append(",".join([_csv(row.name), *cells, *jobs]))
        return Response(200, ("\r\n".join(lines) + "\r\n").encode(), "text/csv")
    return answer(Usage(by, since_ms, shown))


def _usage_row(row: UsageSum) -> UsageRow:
    use = row.use
    seconds = (row.device_ms / 1e3, use.compute_ns / 1e9, use.waited_ns / 1e9)
    return UsageRow(row.name, row.leases, *seconds, use.bytes_in, use.bytes_out)


def _jobs(leases: list[UsageRow]) -> list[UsageRow]:
    """Sums the leases of each batch job: SYSTEM.CLUSTER.JOB, and more for restarts. Leases of
    people and programs are the job "", which no batch system knows."""
    jobs: dict[str, UsageRow] = {}
    for lease in leases:
        system, cluster, job, *_ = (*lease.name.split(".", 3), "", "", "")
        name = f"{system}.{cluster}.{job}" if job else ""
        row = jobs.setdefault(name, UsageRow(name, 0, 0.0, 0.0, 0.0, 0, 0))
        for number in ("leases", "device_s", "compute_s", "waited_s", "bytes_in", "bytes_out"):
            setattr(row, number, min(MOST_USE, getattr(row, number) + getattr(lease, number)))
        if job:
            row.cluster, row.job = cluster, job
    return [jobs[name] for name in sorted(jobs)]


def _csv(text: str) -> str:
    """Quotes a field; one that a spreadsheet would take for a formula gets an apostrophe."""
    guarded = "'" + text if text[:1] in ("=", "+", "-", "@") else text
    return '"' + guarded.replace('"', '""') + '"'


async def audit(manager: Manager, request: Request) -> Response:
    after = int(request.number("after", 0, 0, MOST))
    limit = _limit(request)
    who = "" if sees_all(request.peer) else request.peer.holder
    wait_s = request.number("wait_s", 0, 0, 30)
    with manager.counted(request.peer):
        records = await manager.audits(after, limit, who)
        if not records and wait_s and not manager.stopping:
            await manager.waits.wait_any(wait_s)
            records = await manager.audits(after, limit, who)
    more = str(records[-1].rev) if len(records) >= limit else ""
    return answer(AuditPage(records=records, next=more))


async def events(manager: Manager, request: Request) -> Response:
    """Server-sent events: one for each commit, or for several that follow each other quickly."""

    async def stream() -> AsyncIterator[bytes]:
        yield b": outboard\n\n"
        seen = -1
        while not (manager.stopping or request.gone):
            rev = manager.waits.rev
            if rev != seen:
                seen = rev
                yield f'event: change\nid: {rev}\ndata: {{"rev":{rev}}}\n\n'.encode()
                await asyncio.sleep(0.25)
                continue  # there may have been a commit meanwhile
            await manager.waits.wait_any(10)
            if manager.waits.rev == seen:
                yield b": alive\n\n"

    return Response(200, b"", "text/event-stream", stream=stream())
