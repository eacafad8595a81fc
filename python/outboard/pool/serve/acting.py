"""The verbs of administrators."""

from __future__ import annotations

import asyncio

from outboard.pool.core.commands import (
    BanUser,
    ClearDevice,
    DeleteReservation,
    SetAdmin,
    SetDaemonAdmin,
    SetQuota,
    SetReservation,
    SetShares,
    UnbanUser,
)
from outboard.pool.core.records import Admin, Quota, Reservation
from outboard.pool.core.replies import DevicesChanged
from outboard.pool.serve.answers import Changed
from outboard.pool.serve.bodies import (
    BanBody,
    DeviceChange,
    DrainBody,
    QuotaBody,
    ReservationBody,
)
from outboard.pool.serve.exchange import (
    Request,
    Response,
    answer,
    check_device,
    check_id,
    check_name,
    nothing,
)
from outboard.pool.serve.manager import Manager
from outboard.pool.serve.problems import ProblemError
from outboard.pool.serve.settings import holder_named
from outboard.pool.store.base import StoreError


async def change_device(manager: Manager, request: Request) -> Response:
    name, body = check_device(request.names[0]), request.body
    assert isinstance(body, DeviceChange)
    if body.clear:
        await manager.do(ClearDevice(request.peer.holder, name))
    if body.admin is not None:
        await manager.do(SetAdmin(request.peer.holder, name, body.admin, body.deadline_ms))
    return answer(Changed([name]))


async def cordon(manager: Manager, request: Request) -> Response:
    return await _each_device(manager, request, Admin.CORDONED, 0)


async def uncordon(manager: Manager, request: Request) -> Response:
    return await _each_device(manager, request, Admin.OPEN, 0)


async def drain(manager: Manager, request: Request) -> Response:
    body = request.body
    assert isinstance(body, DrainBody)
    at_ms = manager.now_ms() + int(body.deadline_s * 1000) if body.deadline_s else 0
    if body.restart:
        # Others stay as an administrator has left them.
        open_ones = (Admin.OPEN, Admin.RESTARTING)
        return await _each_device(manager, request, Admin.RESTARTING, at_ms, open_ones)
    return await _each_device(manager, request, Admin.DRAINING, at_ms)


async def _each_device(
    manager: Manager,
    request: Request,
    admin: Admin,
    deadline_ms: int,
    of: tuple[Admin, ...] = (Admin.OPEN, Admin.CORDONED, Admin.DRAINING, Admin.RESTARTING),
) -> Response:
    name = check_name(request.names[0])

    command = SetDaemonAdmin(request.peer.holder, name, admin, deadline_ms, of)
    changed: DevicesChanged = await manager.do(command)
    return answer(Changed(list(changed.devices)))


async def set_quota(manager: Manager, request: Request) -> Response:
    name, body = _quota_name(request.names[0]), request.body
    assert isinstance(body, QuotaBody)
    quota = Quota(name, body.devices, int(body.week_device_s * 1000), body.waiting)
    await manager.do(SetQuota(request.peer.holder, quota))
    if body.shares and name.startswith("user:"):
        user = name.removeprefix("user:")
        await manager.do(SetShares(request.peer.holder, user, body.shares))
    return answer(quota)


def _quota_name(text: str) -> str:
    check_name(text)
    kind, colon, name = text.partition(":")
    if not colon or kind not in ("user", "group") or not name:
        raise ProblemError("invalid", "that is no name of a quota; give user:NAME or group:NAME")
    return f"user:{holder_named(name)}" if kind == "user" else text


async def set_reservation(manager: Manager, request: Request) -> Response:
    name, body = check_id(request.names[0]), request.body
    assert isinstance(body, ReservationBody)
    users = tuple(holder_named(check_name(user)) for user in body.users)
    reserved = Reservation(
        name, body.accepts.selector(), body.count, users, body.start_ms, body.end_ms
    )
    await manager.do(SetReservation(request.peer.holder, reserved))
    return answer(reserved)


async def delete_reservation(manager: Manager, request: Request) -> Response:
    await manager.do(DeleteReservation(request.peer.holder, check_id(request.names[0])))
    return nothing()


async def ban(manager: Manager, request: Request) -> Response:
    user, body = holder_named(check_name(request.names[0])), request.body
    assert isinstance(body, BanBody)
    await manager.do(BanUser(request.peer.holder, user, body.reason))
    return answer(Changed([user]))


async def unban(manager: Manager, request: Request) -> Response:
    user = holder_named(check_name(request.names[0]))
    await manager.do(UnbanUser(request.peer.holder, user))
    return nothing()


async def backup(manager: Manager, request: Request) -> Response:
    """Returns a copy of the store."""
    try:
        make = await manager.do(lambda state: manager.store.backup())
        copy = await asyncio.get_running_loop().run_in_executor(manager.reader, make)
    except StoreError as error:
        raise ProblemError("storage", f"there is no backup ({error})") from error
    return Response(200, copy, "application/vnd.sqlite3")
