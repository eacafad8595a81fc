"""Connections of browsers without a certificate: few at a time, so that strangers cannot take the
descriptors of the manager."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable

from outboard.pool.serve.protocol import ManagerProtocol

MOST_GUESTS = 256
KEEP_ALIVE_S = 15  # between two requests, and for a guest that does not take its answer
_MOST_PIPELINED = 8  # requests that wait for the answer to another one
_PAUSE_S = 1.0  # after an error of the system, such as too many open files
_log = logging.getLogger("outboard.pool")


class GuestProtocol(ManagerProtocol):
    """One connection. `over` is done when it has ended."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)
        self.timeout_keep_alive = KEEP_ALIVE_S
        self.over: asyncio.Future[None] = self.loop.create_future()
        self._taking: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        try:
            self._stop_waiting()
            super().connection_lost(exc)
        finally:
            if not self.over.done():
                self.over.set_result(None)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if len(self.pipeline) > _MOST_PIPELINED:
            self.transport.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._taking is None:
            self._taking = self.loop.call_later(KEEP_ALIVE_S, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_waiting()
        super().resume_writing()

    def _stop_waiting(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None


class GuestListener:
    """Takes connections from a listening socket until it is closed. While there are MOST_GUESTS,
    whether they have said something or not, others wait in the queue of the socket."""

    def __init__(
        self,
        listening: socket.socket,
        tls: ssl.SSLContext,
        handshake_s: float,
        protocol: Callable[[], GuestProtocol],
        most: int = MOST_GUESTS,
    ) -> None:
        self._socket, self._tls, self._handshake_s = listening, tls, handshake_s
        self._protocol = protocol
        self._room = asyncio.Semaphore(most)
        self._guests: set[asyncio.Task[None]] = set()
        listening.setblocking(False)
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    def close(self) -> None:
        """Takes no more connections. Those that exist are the protocol's to end."""
        self._accepting.cancel()
        self._socket.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._room.acquire()
            try:
                connection, _ = await loop.sock_accept(self._socket)
            except OSError as error:
                self._room.release()
                _log.warning("cannot take a connection of a browser (%s)", error)
                await asyncio.sleep(_PAUSE_S)
                continue
            guest = loop.create_task(self._serve(connection))
            self._guests.add(guest)
            guest.add_done_callback(self._guests.discard)

    async def _serve(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        protocol = self._protocol()  # uvloop returns another one than this
        try:
            # A handshake that fails is the stranger's affair.
            with contextlib.suppress(OSError):
                await loop.connect_accepted_socket(
                    lambda: protocol,
                    connection,
                    ssl=self._tls,
                    ssl_handshake_timeout=self._handshake_s,
                )
                await protocol.over
        finally:
            self._room.release()
