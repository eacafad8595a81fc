"""The verbs of daemons."""

from __future__ import annotations

import base64
import logging
from typing import Any

from outboard.pool.core.commands import DeregisterDaemon, Heartbeat, RegisterDaemon
from outboard.pool.core.devices import desired
from outboard.pool.core.records import Admin
from outboard.pool.core.replies import Desired
from outboard.pool.core.state import State
from outboard.pool.serve.answers import DesiredAnswer, PublicKey, Registered
from outboard.pool.serve.bodies import DaemonBody, HeartbeatBody
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
from outboard.pool.serve.reading import AHEAD

_log = logging.getLogger("outboard.pool")


def own_name(request: Request) -> str:
    """Returns the daemon of the path, if the peer is that daemon."""
    name = check_name(request.names[0])
    if request.peer.name and request.peer.name != name:
        text = f"{request.peer.holder} cannot speak for daemon {name} (names differ) use its key"
        raise ProblemError("not-yours", text)
    return name


async def register(manager: Manager, request: Request) -> Response:
    name, body = own_name(request), request.body
    assert isinstance(body, DaemonBody)
    check_id(body.instance)
    ids = [check_device(device.id) for device in body.devices]
    if len(set(ids)) != len(ids):
        raise ProblemError("invalid", f"the daemon {name} names a device twice; name it once")
    command = RegisterDaemon(
        name,
        body.instance,
        tuple(device.facts() for device in body.devices),
        tuple(body.wire),
        tuple(body.addresses),
        body.machine,
        body.subnet,
        dict(body.labels),
    )
    told: Desired = await manager.do(command)
    manager.waits.know(name, told.rev)
    manager.metrics.forget(name)
    keys = [
        PublicKey(kid, base64.b64encode(der).decode())
        for kid, der in manager.signer.public_keys().items()
    ]
    heartbeat_s = 2.0
    registered = Registered(
        told.now_ms, told.rev, manager.name, keys, heartbeat_s, list(told.devices)
    )
    return answer(registered)


async def heartbeat(manager: Manager, request: Request) -> Response:
    name, body = own_name(request), request.body
    assert isinstance(body, HeartbeatBody)
    reports = tuple([device.report() for device in body.devices])
    waits = body.wait_s > 0 and not manager.waits.daemon_changed(name, body.rev)
    beat = Heartbeat(name, body.instance, body.seq, body.rev, reports, waits)
    told = await manager.do(beat, _show, patient=True)
    manager.metrics.reported(name, body.devices, manager.now_ms())
    if waits:
        if not (manager.waits.daemon_changed(name, body.rev) or manager.stopping):
            with manager.waits.watching("daemon", name) as change:
                await manager.waits.spread.passed(change, body.wait_s)
        told = await manager.do(lambda state: _desired(state, name), patient=True)
    manager.waits.know(name, told.rev)
    _note_revision(manager, name, body.rev, told.rev)
    return answer(told)


def _note_revision(manager: Manager, name: str, known: int, own: int) -> None:
    """Logs once if the daemon knows a later revision than the manager's own state has."""
    if known <= own:
        manager.ahead.discard(name)
    elif name not in manager.ahead:
        manager.ahead.add(name)
        facts = {"daemon": name, "its_revision": known, "own_revision": own}
        text = f"the devices of daemon {name} cannot be used: {AHEAD}"
        _log.warning(text, extra={"facts": facts})


def _show(state: State, told: Any) -> Any:
    if not isinstance(told, Desired):
        return told
    drain = any(state.devices[d.id].admin is Admin.DRAINING for d in told.devices)
    return DesiredAnswer(told.now_ms, told.rev, list(told.devices), drain, told.restart)


def _desired(state: State, name: str) -> Any:
    return _show(state, desired(state, name))


async def deregister(manager: Manager, request: Request) -> Response:
    name = own_name(request)
    instance = check_id(request.text("instance", "-"))
    await manager.do(DeregisterDaemon(name, instance))
    return nothing()
