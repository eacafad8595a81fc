"""Kept connections to a server, by the standard library alone: `outboard run --pool` waits for all
that is imported here."""

from __future__ import annotations

import contextlib
import http.client
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

CONNECT_S = 5.0
_MOST_KEPT = 4
ConnectionProblem = (http.client.HTTPException, OSError)


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the Unix socket at `path`."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=CONNECT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class TlsConnection(http.client.HTTPConnection):
    """HTTP over TLS, to a server whose certificate has the name `name`, whatever its address."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, name: str) -> None:
        super().__init__(host, port, timeout=CONNECT_S)
        self._context, self._name = context, name

    def connect(self) -> None:
        super().connect()
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self._name)


class Connections:
    """Connections to one server, made when they are needed. Any thread. Functions raise
    `ConnectionProblem`."""

    def __init__(self, make: Callable[[], http.client.HTTPConnection]) -> None:
        self._make = make
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def ask(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str], read_s: float
    ) -> tuple[int, bytes]:
        """Returns status and body of the answer. `read_s`: the longest silence."""
        connection = self._take()
        try:
            response = _respond(connection, method, target, body, headers, read_s)
            status, raw = response.status, response.read()
        except BaseException:
            connection.close()
            raise
        self._keep(connection, response)
        return status, raw

    @contextlib.contextmanager
    def stream(
        self, target: str, headers: dict[str, str], read_s: float
    ) -> Iterator[http.client.HTTPResponse]:
        """Yields an answer whose body is read as it arrives."""
        with (
            contextlib.closing(self._make()) as connection,
            _respond(connection, "GET", target, None, headers, read_s) as response,
        ):
            yield response

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> http.client.HTTPConnection:
        """Returns an idle connection that the server has not closed, or a new one."""
        while True:
            with self._lock:
                if not self._idle:
                    return self._make()
                connection = self._idle.pop()
            if connection.sock is not None and not _readable(connection.sock):
                return connection
            connection.close()

    def _keep(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> None:
        with self._lock:
            if not response.will_close and len(self._idle) < _MOST_KEPT:
                self._idle.append(connection)
                return
        connection.close()


def _respond(
    connection: http.client.HTTPConnection,
    method: str,
    target: str,
    body: bytes | None,
    headers: dict[str, str],
    read_s: float,
) -> http.client.HTTPResponse:
    if connection.sock is None:
        connection.connect()  # within CONNECT_S
    connection.sock.settimeout(read_s)
    connection.request(method, target, body, headers)
    return connection.getresponse()


def _readable(one: socket.socket) -> bool:
    """Returns whether something waits on an idle connection: its end, or what nobody asked for."""
    poll = select.poll()
    poll.register(one, select.POLLIN)
    return bool(poll.poll(0))
