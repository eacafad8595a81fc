"""The verbs of clients and of batch systems."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from outboard.pool.core import fair_share
from outboard.pool.core.commands import (
    Command,
    GetLease,
    Grow,
    Link,
    PutLease,
    Release,
    Renew,
    ReportLinks,
    Revoke,
    Shrink,
)
from outboard.pool.core.records import LeaseState, Priority, Request
from outboard.pool.core.replies import HandleView, LeaseView, Problem, Renewal
from outboard.pool.core.state import FOREVER, State
from outboard.pool.serve.answers import (
    HandleAnswer,
    LeaseAnswer,
    RenewalAnswer,
    RenewedAnswer,
)
from outboard.pool.serve.bodies import MOST, GrowBody, LeaseBody, RenewBody
from outboard.pool.serve.exchange import Request as Exchange
from outboard.pool.serve.exchange import Response, answer, check_device, check_id, nothing
from outboard.pool.serve.manager import Manager
from outboard.pool.serve.peer import LOOPBACK, Peer
from outboard.pool.serve.problems import ProblemError
from outboard.pool.serve.settings import Role
from outboard.pool.serve.waits import passed
from outboard.pool.tokens import LONGEST_S, SESSIONS, Claims

_STALE_S = 8.0  # a poll that waits keeps its place in the queue so often


class Shown:
    """A lease as the writer's thread saw it."""

    __slots__ = ("addresses", "holder", "place", "seats", "view", "waiting")

    def __init__(self, state: State, view: LeaseView) -> None:
        self.view = view
        lease = state.leases[view.id]
        self.holder = lease.holder
        self.waiting = bool(lease.waiting)
        self.seats = lease.request.count  # more when it has grown
        self.addresses = {}
        for handle in view.handles:
            daemon = state.daemons[handle.daemon]
            self.addresses[handle.daemon] = (list(daemon.addresses), daemon.machine)
        self.place = 0
        if lease.state is LeaseState.QUEUED:
            order = fair_share.order(state, state.now_ms)
            self.place = next((n for n, (i, _) in enumerate(order, 1) if i == view.id), 0)


def _show(state: State, view: Any) -> Any:
    return Shown(state, view) if isinstance(view, LeaseView) else view


async def put(manager: Manager, exchange: Exchange) -> Response:
    body: LeaseBody = exchange.body
    lease_id, peer = check_id(exchange.names[0]), exchange.peer
    holder = _holder(manager, peer, lease_id, body)
    request = _request(manager, peer, holder, body)
    command = PutLease(lease_id, holder, request)
    with manager.metrics.acquire_seconds.time():
        shown = await manager.do(command, _show)
    look = _mine(peer, lease_id, lambda holder: GetLease(lease_id, holder))
    return await _poll(manager, exchange, shown, look, body.wait_s, body.uid)


def _holder(manager: Manager, peer: Peer, lease_id: str, body: LeaseBody) -> str:
    """Returns who will hold the lease; refuses what only the batch role may ask."""
    batch = peer.may(Role.BATCH)
    if not batch and (body.for_user or "." in lease_id):
        what = "leases for others" if body.for_user else "ids with a dot"
        text = f"{what} are the batch system's ({peer.holder} has no role batch) choose another id"
        raise ProblemError("not-yours", text)
    if not batch and body.ttl_s == 0 and not (body.until_ms or body.max_hold_s):
        text = "the lease has no end (no renewals and no end) give ttl_s, until_ms or max_hold_s"
        raise ProblemError("invalid", text)
    return manager.settings.batch_user(body.for_user) if body.for_user else peer.holder


def _highest(peer: Peer) -> Priority:
    """Returns the highest priority that the peer may ask for. All may ask for lower ones."""
    return Priority.HIGH if peer.may(Role.ADMIN) or peer.may(Role.BATCH) else Priority.NORMAL


def _request(manager: Manager, peer: Peer, holder: str, body: LeaseBody) -> Request:
    if body.priority.before(_highest(peer)):
        why = f"{peer.holder} has neither the role admin nor batch"
        text = f"priority {body.priority} is for administrators and batch systems ({why})"
        raise ProblemError("not-yours", f"{text} ask for {Priority.NORMAL} or {Priority.IDLE}")
    groups = manager.settings.groups_of(holder)
    if body.group and body.group not in groups:
        text = f"{holder} is not in the group {body.group} (pool.toml) choose another"
        raise ProblemError("not-yours", text)
    return Request(
        count=body.count,
        selector=body.accepts.selector(),
        exclusive=body.exclusive,
        share=body.share,
        memory_bytes=body.memory_bytes,
        spread=body.spread,
        near=body.near.near() if body.near else None,
        priority=body.priority,
        static=body.static,
        until_ms=body.until_ms,
        max_hold_ms=int(body.max_hold_s * 1000),
        ttl_ms=int(body.ttl_s * 1000),
        replace=body.replace,
        wire=tuple(body.wire),
        group=body.group or next(iter(groups), ""),
    )


async def get(manager: Manager, exchange: Exchange) -> Response:
    lease_id, peer = check_id(exchange.names[0]), exchange.peer
    wait_s = exchange.number("wait_s", 0, 0, 30)
    uid = int(exchange.number("uid", -1, -1, (1 << 32) - 2))
    look = _mine(peer, lease_id, lambda holder: GetLease(lease_id, holder))
    shown = await manager.do(look, _show)
    rank = _rank(exchange)
    return await _poll(manager, exchange, shown, look, wait_s, uid, rank)


def _rank(exchange: Exchange) -> tuple[int, int] | None:
    """Returns rank and devices per rank, if one rank of a job asks. 0: ranks share devices."""
    rank = int(exchange.number("rank", -1, -1, 1 << 24))
    return (rank, int(exchange.number("per_rank", 0, 0, 1 << 10))) if rank >= 0 else None


def _of_rank(shown: Shown, rank: tuple[int, int] | None) -> list[HandleView]:
    """Returns the handles of one rank. They stay the same when others of the lease change, unless
    ranks take turns on a lease that has grown."""
    handles = list(shown.view.handles)
    if rank is None or not handles:
        return handles
    number, each = rank
    if each:
        seats = range(number * each, (number + 1) * each)
        return [handle for handle in handles if handle.seat in seats]
    # They take turns. One whose device is away has another one.
    mine = number % max(shown.seats, 1 + max(handle.seat for handle in handles))
    return [h for h in handles if h.seat == mine] or [handles[number % len(handles)]]


async def _poll(
    manager: Manager,
    exchange: Exchange,
    shown: Shown,
    look: Callable[[State], Command],
    wait_s: float,
    uid: int,
    rank: tuple[int, int] | None = None,
) -> Response:
    """Answers at once, or when a lease that waits for devices has changed."""
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    while shown.waiting and (left := until - loop.time()) > 0 and not exchange.gone:
        with manager.watching(exchange.peer, shown.view.id) as change:
            shown = await manager.do(look, _show)
            if manager.stopping or not shown.waiting:
                break
            await passed(change, min(left, _STALE_S))
        shown = await manager.do(look, _show)
    status = 202 if shown.view.state is LeaseState.QUEUED else 200
    return answer(_answer(manager, shown, uid, rank), status)


async def renew(manager: Manager, exchange: Exchange) -> Response:
    body: RenewBody = exchange.body
    ids = tuple(check_id(one) for one in body.ids)
    lost = tuple(check_device(one) for one in body.unreachable)
    links = tuple(
        Link(link.machine, link.daemon, float(link.rtt_us), float(link.bytes_per_s))
        for link in body.links
    )
    # A program that ends waits for nothing. While the store is slow, the links are not worth it.
    if links and not ids:
        manager.start(ReportLinks(links))
        return answer(RenewalAnswer(manager.now_ms(), []))
    if links:
        await manager.do(ReportLinks(links))
    renewal: Renewal = await manager.do(Renew(exchange.peer.holder, ids, lost))
    now_ms = manager.now_ms()
    rows = [_renewed(i, one) for i, one in zip(ids, renewal.leases, strict=True)]
    return answer(RenewalAnswer(now_ms, rows))


def _renewed(lease_id: str, one: LeaseView | Problem) -> RenewedAnswer:
    if isinstance(one, Problem):
        return RenewedAnswer(lease_id, one.name, one.detail)
    reclaim = {h.device: h.reclaim_ms for h in one.handles if h.reclaim_ms}
    end_ms = min(one.end_ms, MOST)
    return RenewedAnswer(lease_id, "", "", end_ms, one.ttl_ms / 1000, one.wanted, reclaim)


async def grow(manager: Manager, exchange: Exchange) -> Response:
    body: GrowBody = exchange.body
    lease_id = check_id(exchange.names[0])
    part = check_id(body.part)
    highest = _highest(exchange.peer)
    make = _mine(exchange.peer, lease_id, lambda h: Grow(lease_id, h, part, body.count, highest))
    shown = await manager.do(make, _show)
    look = _mine(exchange.peer, lease_id, lambda h: GetLease(lease_id, h))
    return await _poll(manager, exchange, shown, look, body.wait_s, -1)


async def shrink(manager: Manager, exchange: Exchange) -> Response:
    lease_id, device = check_id(exchange.names[0]), check_device(exchange.names[1])
    await manager.do(_mine(exchange.peer, lease_id, lambda h: Shrink(lease_id, h, device)))
    return nothing()


async def release(manager: Manager, exchange: Exchange) -> Response:
    lease_id, peer = check_id(exchange.names[0]), exchange.peer

    def make(state: State) -> Command | Problem:
        lease = state.leases.get(lease_id)
        if peer.may(Role.ADMIN) and lease is not None and lease.holder != peer.holder:
            return Revoke(peer.holder, lease_id)
        return _mine(peer, lease_id, lambda holder: Release(lease_id, holder))(state)

    if exchange.text("early") == "1" and manager.start(make):
        return Response(202)
    await manager.do(make)
    return nothing()


def _mine(peer: Peer, lease_id: str, make: Callable[[str], Command]) -> Callable[[State], Command]:
    """Returns a function that makes a command in the name of the lease's holder, if the peer may
    act for him: he is the holder, an administrator, or, for a lease of a job, a batch system."""

    def resolve(state: State) -> Command:
        lease = state.leases.get(lease_id)
        others = peer.may(Role.ADMIN) or (peer.may(Role.BATCH) and "." in lease_id)
        return make(lease.holder if lease is not None and others else peer.holder)

    return resolve


def _answer(manager: Manager, shown: Shown, uid: int, rank: tuple[int, int] | None) -> LeaseAnswer:
    view, now_ms = shown.view, manager.now_ms()
    mine = _of_rank(shown, rank)
    handles = [_handle(manager, shown, handle, now_ms, uid) for handle in mine]
    return LeaseAnswer(
        view.id,
        view.state,
        shown.holder,
        handles,
        now_ms,
        min(view.end_ms, MOST),
        view.ttl_ms / 1000,
        view.rev,
        view.wanted,
        shown.place,
        view.reason,
    )


def _handle(
    manager: Manager, shown: Shown, handle: HandleView, now_ms: int, uid: int
) -> HandleAnswer:
    view = shown.view
    addresses, machine = shown.addresses[handle.daemon]
    now_s = now_ms // 1000
    end_s = now_s + LONGEST_S
    if view.end_ms < FOREVER:
        end_s = min(end_s, -(-view.end_ms // 1000))
    claims = Claims(
        manager.name,
        handle.daemon,
        handle.device,
        "" if shown.holder == LOOPBACK else shown.holder,
        view.id,
        handle.epoch,
        handle.floor,
        "x" if handle.exclusive else "s",
        handle.memory_bytes,
        handle.share,
        SESSIONS,
        "calls",
        now_s,
        end_s,
        view.rev,
        uid,
    )
    return HandleAnswer(
        handle.device,
        handle.daemon,
        addresses,
        machine,
        handle.epoch,
        handle.exclusive,
        handle.share,
        handle.memory_bytes,
        handle.reclaim_ms,
        manager.signer.sign(claims),
    )
