"""The manager's process: starts, serves, and stops."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import ssl
import sys
from pathlib import Path
from typing import NamedTuple

import uvicorn
from uvicorn.server import ServerState

from outboard.errors import OutboardError
from outboard.pool.core.state import Config
from outboard.pool.serve import openapi
from outboard.pool.serve.app import App
from outboard.pool.serve.listening import listen, name_of, server_tls
from outboard.pool.serve.manager import Manager
from outboard.pool.serve.metrics import Metrics
from outboard.pool.serve.notify import notify
from outboard.pool.serve.protocol import ManagerProtocol
from outboard.pool.serve.settings import Settings
from outboard.pool.serve.waits import Waits
from outboard.pool.serve.writer import Writer
from outboard.pool.store.base import Store, StoreError
from outboard.pool.store.memory import MemoryStore
from outboard.pool.store.sqlite import SqliteStore
from outboard.pool.tokens import Signer, pool_name

STORE_FAILED = 4  # the exit status after a commit that failed
_KEEP_ALIVE_S = 150  # holders renew each 40 s at most
_DRAIN_S = 3.0
_HANDSHAKE_S = 10.0
_ROTATION_CHECK_S = 3600
# The writer must not wait the usual 5 ms for the interpreter while requests are decoded.
_SWITCH_S = 0.0005

_log = logging.getLogger("outboard.pool")


class Options(NamedTuple):
    listen: tuple[str, ...]
    key: Path | None
    state: Path | None  # None: in memory
    settings: Settings
    version: str
    heartbeat_ms: int = 2_000


def serve(options: Options) -> int:
    """Serves until SIGTERM or SIGINT. Returns the exit status."""
    tls = server_tls(options.key) if options.key else None
    mode = int(options.settings.socket_mode, 8)
    sockets = [listen(address, mode, tls is not None) for address in options.listen]
    folder = options.state
    if folder is not None:
        _make_private(folder)
    store = _open_store(folder)
    signer = Signer(folder)
    name = pool_name(folder, _root(options.key))
    sys.setswitchinterval(_SWITCH_S)
    return asyncio.run(_serve(options, sockets, tls, store, signer, name))


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.stat()
    except OSError as error:
        raise OutboardError(f"cannot make {folder} ({error.strerror})") from error
    if facts.st_mode & 0o077 or facts.st_uid != os.geteuid():
        raise OutboardError(
            f"{folder} is refused (others may enter it, or own it) run: chmod 700 {folder}"
        )


def _open_store(folder: Path | None) -> Store:
    if folder is None:
        return MemoryStore()
    file = folder / "pool.db"
    if file.exists() and file.stat().st_mode & 0o077:
        raise OutboardError(f"{file} is refused (others may read it) run: chmod 600 {file}")
    try:
        return SqliteStore(file)
    except StoreError as error:
        raise OutboardError(str(error)) from error


def _root(key: Path | None) -> bytes | None:
    if key is None:
        return None
    from cryptography.hazmat.primitives import serialization

    from outboard import keys

    return (
        keys.read_certificate(key, keys.POOL)
        .public_key()
        .public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


async def _serve(
    options: Options,
    sockets: list[socket.socket],
    tls: ssl.SSLContext | None,
    store: Store,
    signer: Signer,
    name: str,
) -> int:
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def fail(error: BaseException) -> None:
        _log.critical("the manager stops: its state cannot be kept", exc_info=error)
        if not stopped.done():
            stopped.set_result(STORE_FAILED)

    def stop() -> None:
        if not stopped.done():
            stopped.set_result(0)

    waits, metrics = Waits(), Metrics(options.version)
    config = Config(heartbeat_ms=options.heartbeat_ms)
    writer = Writer(store, config, loop, waits.deliver, fail, metrics.watch)
    manager = Manager(
        writer, waits, store, signer, options.settings, name, options.version, metrics
    )
    manager.description = openapi.text(options.version).encode()
    writer.start()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    servers = await _listen(manager, options.settings, sockets, tls)
    gc.collect()
    gc.freeze()  # a collection over all leases takes longer than a request may
    gc.set_threshold(20_000, 20, 100)
    for one in sockets:
        print(f"listening on {name_of(one, tls is not None)}", flush=True)
    _log.info("ready", extra={"facts": {"pool": name, "version": options.version}})
    notify("READY=1")
    upkeep = loop.create_task(_upkeep(signer))
    status = await stopped
    notify("STOPPING=1")
    upkeep.cancel()
    await _shut_down(manager, servers)
    if status == 0:
        writer.stop()
    _remove_files(sockets)
    return status


async def _listen(
    manager: Manager,
    settings: Settings,
    sockets: list[socket.socket],
    tls: ssl.SSLContext | None,
) -> list[_Listener]:
    config = uvicorn.Config(
        App(manager),
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="off",
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
    )
    config.load()
    loop, state = asyncio.get_running_loop(), ServerState()

    def protocol() -> ManagerProtocol:
        return ManagerProtocol(config, state, {"settings": settings}, loop)

    listeners = []
    for one in sockets:
        context = tls if one.family != socket.AF_UNIX else None
        server = await loop.create_server(
            protocol,
            sock=one,
            ssl=context,
            backlog=1024,
            ssl_handshake_timeout=_HANDSHAKE_S if context else None,
        )
        listeners.append(_Listener(server, state))
    return listeners


class _Listener(NamedTuple):
    server: asyncio.AbstractServer
    state: ServerState


async def _upkeep(signer: Signer) -> None:
    while True:
        await asyncio.sleep(_ROTATION_CHECK_S)
        if signer.rotate():
            _log.info("a new key signs tokens")


async def _shut_down(manager: Manager, listeners: list[_Listener]) -> None:
    """Answers what waits, then closes all connections."""
    for listener in listeners:
        listener.server.close()
    manager.stopping = True
    manager.waits.wake_all()
    state = listeners[0].state
    for connection in list(state.connections):
        connection.shutdown()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_S):
            while state.tasks:
                await asyncio.sleep(0.02)
    for task in list(state.tasks):
        task.cancel()
    for connection in list(state.connections):
        if isinstance(connection, ManagerProtocol):
            connection.transport.abort()


def _remove_files(sockets: list[socket.socket]) -> None:
    for one in sockets:
        if one.family == socket.AF_UNIX:
            with contextlib.suppress(OSError):
                os.unlink(one.getsockname())
