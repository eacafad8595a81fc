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
from functools import partial
from pathlib import Path
from typing import NamedTuple

import uvicorn
import uvloop
from uvicorn.server import ServerState

from outboard.errors import OutboardError
from outboard.pool.core.state import Config
from outboard.pool.serve import openapi
from outboard.pool.serve.app import App
from outboard.pool.serve.guests import GuestListener, GuestProtocol
from outboard.pool.serve.history import History
from outboard.pool.serve.listening import listen, name_of, server_tls
from outboard.pool.serve.logins import Logins
from outboard.pool.serve.manager import Manager
from outboard.pool.serve.metrics import Metrics
from outboard.pool.serve.notify import notify
from outboard.pool.serve.problems import STARTING, ProblemError
from outboard.pool.serve.protocol import ManagerProtocol
from outboard.pool.serve.settings import Settings
from outboard.pool.serve.standby import Standby, share_keys, shared_name
from outboard.pool.serve.waits import Waits
from outboard.pool.serve.writer import Writer
from outboard.pool.store.base import Store, StoreError
from outboard.pool.store.etcd_gateway import EtcdAddress, EtcdSilentError
from outboard.pool.store.leadership import DeposedError
from outboard.pool.store.memory import MemoryStore
from outboard.pool.store.sqlite import SqliteStore
from outboard.pool.tokens import Signer, pool_name

STORE_FAILED = 4  # the exit status after a commit that failed: the store must be repaired first
PLACE_LOST = 5  # another manager leads, or etcd does not answer: to be started again
_KEEP_ALIVE_S = 150  # holders renew each 40 s at most
_DRAIN_S = 3.0
_HANDSHAKE_S = 10.0
_ROTATION_CHECK_S = 3600
# The writer must not wait the usual 5 ms for the interpreter while requests are decoded.
_SWITCH_S = 0.0005

_log = logging.getLogger("outboard.pool")


class Options(NamedTuple):
    """`state`: the folder of the state and of the keys that sign tokens; None: in memory. `etcd`:
    where the state is instead. `url`: of this manager, for clients that ask one which does not
    lead; empty: that of the first listening socket on the network. `page`: where browsers without a
    certificate connect; empty: nowhere. `page_url`: what they call that; empty: the same.
    `history`: where all that happens is written, for tests."""

    listen: tuple[str, ...]
    key: Path | None
    state: Path | None
    settings: Settings
    version: str
    heartbeat_ms: int = 2_000
    etcd: EtcdAddress | None = None
    url: str = ""
    page: str = ""
    page_url: str = ""
    history: Path | None = None


def serve(options: Options) -> int:
    """Serves until SIGTERM or SIGINT. Returns the exit status."""
    tls = server_tls(options.key) if options.key else None
    mode = int(options.settings.socket_mode, 8)
    sockets = [listen(address, mode, tls is not None) for address in options.listen]
    doors = [Door(one, tls if one.family != socket.AF_UNIX else None) for one in sockets]
    page = _page_door(options)
    folder = options.state
    if folder is not None:
        _make_private(folder)
    store = _open_store(folder) if options.etcd is None else None
    standby = None
    if options.etcd is not None:
        standby = Standby(options.etcd, options.url or _own_url(doors))
    root = _root(options.key)
    process = _Process(options, store, standby, Signer(folder), pool_name(folder, root), root)
    sys.setswitchinterval(_SWITCH_S)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(process.run(doors, page))


class Door(NamedTuple):
    """A listening socket. `tls`: None for plain connections of this machine."""

    socket: socket.socket
    tls: ssl.SSLContext | None

    @property
    def url(self) -> str:
        return name_of(self.socket, self.tls is not None)


def _page_door(options: Options) -> Door | None:
    """Returns the door for browsers without a certificate, if there is one."""
    if not options.page:
        return None
    if options.key is None:
        raise OutboardError(
            "--page is for managers with a key (without one, every --listen address has the page) "
            "leave it out, or give --key"
        )
    tls = server_tls(options.key)
    tls.verify_mode = ssl.CERT_NONE
    return Door(listen(options.page, 0, True), tls)


def _own_url(doors: list[Door]) -> str:
    for door in doors:
        if door.socket.family != socket.AF_UNIX:
            url = door.url
            for anywhere in ("0.0.0.0", "[::]"):
                url = url.replace(f"//{anywhere}:", f"//{socket.getfqdn()}:")
            return url
    return ""


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


class _Process:
    """What the process does from its start to its end."""

    def __init__(
        self,
        options: Options,
        store: Store | None,
        standby: Standby | None,
        signer: Signer,
        name: str,
        root: bytes | None,
    ) -> None:
        """`store` None: `standby` makes it when this manager leads."""
        self._options, self._store, self._standby = options, store, standby
        self._signer, self._name, self._root = signer, name, root
        self._metrics = Metrics(options.version)
        refuse = standby.problem if standby else partial(ProblemError, *STARTING)
        self._app = App(self._metrics, options.version, refuse)
        self._counting: asyncio.Task[None] | None = None
        self._history = History(options.history) if options.history else None
        self._stopped: asyncio.Future[int]

    async def run(self, doors: list[Door], page: Door | None) -> int:
        """Returns the exit status."""
        loop = asyncio.get_running_loop()
        self._stopped = loop.create_future()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        self._logins = Logins(self._options.page_url or _own_url([page])) if page else Logins()
        leading = loop.create_task(self._lead())
        if self._standby is None:
            await leading
        listeners = await _listen(self._app, self._options.settings, doors, page)
        for door in doors:
            print(f"listening on {door.url}", flush=True)
        if page:
            print(f"page for browsers at {page.url}", flush=True)
        notify("READY=1")
        upkeep = loop.create_task(self._upkeep())
        status = await self._stopped
        notify("STOPPING=1")
        upkeep.cancel()
        leading.cancel()
        if self._counting is not None:
            self._counting.cancel()
        manager = self._app.manager
        await _shut_down(manager, listeners)
        if status == 0 and manager is not None:
            await asyncio.to_thread(manager.writer.stop)
        elif self._standby is not None:
            await asyncio.to_thread(self._standby.leadership.resign)
        _remove_files([door.socket for door in doors])
        return status

    async def _lead(self) -> None:
        """Loads the state, and lets the interface answer. Waits for its turn before."""
        try:
            if self._standby is not None:
                self._store = await self._standby.lead()
                await asyncio.to_thread(self._share)
            assert self._store is not None
            self._app.manager = await self._manager(self._store)
        except Exception as error:
            if self._standby is None:
                raise
            self._fail(error)

    async def _manager(self, store: Store) -> Manager:
        loop, options, waits = asyncio.get_running_loop(), self._options, Waits()
        config = Config(heartbeat_ms=options.heartbeat_ms)
        facts = (store, config, loop, waits.deliver, self._fail, self._metrics.watch)
        writer = await asyncio.to_thread(Writer, *facts, self._history)
        manager = Manager(
            writer,
            waits,
            store,
            self._signer,
            options.settings,
            self._name,
            options.version,
            self._metrics,
            self._logins,
        )
        manager.description = openapi.text(options.version).encode()
        writer.start()
        self._counting = loop.create_task(manager.count_minutes())
        self._metrics.leads()
        # Nothing is answered during a collection. With 1,000 daemons whose requests wait, one takes
        # 0.1 s and finds next to nothing: reports, leases and requests form no cycles.
        gc.collect()
        gc.freeze()
        gc.set_threshold(200_000, 20, 100)
        _log.info("ready", extra={"facts": {"pool": self._name, "version": options.version}})
        return manager

    def _share(self) -> None:
        etcd = self._options.etcd
        assert etcd is not None
        assert self._standby is not None
        leadership = self._standby.leadership
        if self._root is None:
            self._name = shared_name(etcd, leadership, self._name)
        share_keys(etcd, leadership, self._signer)

    async def _upkeep(self) -> None:
        while True:
            await asyncio.sleep(_ROTATION_CHECK_S)
            if self._signer.rotate():
                _log.info("a new key signs tokens")
                if self._standby is not None and self._app.manager is not None:
                    with contextlib.suppress(StoreError):
                        await asyncio.to_thread(self._share)

    def _fail(self, error: BaseException) -> None:
        if self._stopped.done():  # each answer that waits finds out
            return
        if isinstance(error, StoreError):
            _log.critical("the manager stops: its state cannot be kept: %s", error)
        else:
            _log.critical("the manager stops: its state cannot be kept", exc_info=error)
        lost = isinstance(error, DeposedError | EtcdSilentError)
        self._stopped.set_result(PLACE_LOST if lost else STORE_FAILED)

    def _stop(self) -> None:
        if not self._stopped.done():
            self._stopped.set_result(0)


async def _listen(
    app: App, settings: Settings, doors: list[Door], page: Door | None
) -> list[_Listener]:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        proxy_headers=False,  # nobody says for another who he is
        ws="none",
        lifespan="off",
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
    )
    config.load()
    loop, state = asyncio.get_running_loop(), ServerState()
    facts = (config, state, {"settings": settings}, loop)
    listeners = []
    for door in doors:
        server = await loop.create_server(
            lambda: ManagerProtocol(*facts),
            sock=door.socket,
            ssl=door.tls,
            backlog=1024,
            ssl_handshake_timeout=_HANDSHAKE_S if door.tls else None,
        )
        listeners.append(_Listener(server, state))
    if page is not None:
        assert page.tls is not None
        guests = GuestListener(page.socket, page.tls, _HANDSHAKE_S, lambda: GuestProtocol(*facts))
        listeners.append(_Listener(guests, state))
    return listeners


class _Listener(NamedTuple):
    server: asyncio.AbstractServer | GuestListener
    state: ServerState


async def _shut_down(manager: Manager | None, listeners: list[_Listener]) -> None:
    """Answers what waits, then closes all connections."""
    for listener in listeners:
        listener.server.close()
    if manager is not None:
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
    if manager is not None:
        manager.reader.shutdown(wait=False, cancel_futures=True)
    for connection in list(state.connections):
        if isinstance(connection, ManagerProtocol):
            connection.transport.abort()


def _remove_files(sockets: list[socket.socket]) -> None:
    for one in sockets:
        if one.family == socket.AF_UNIX:
            with contextlib.suppress(OSError):
                os.unlink(one.getsockname())
