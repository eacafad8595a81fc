"""Asks the manager of a pool. `outboard run --pool` imports this, so it needs no package."""

from __future__ import annotations

import contextlib
import json
import os
import ssl
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from outboard.errors import OutboardError
from outboard.pool.connections import (
    CONNECT_S,
    ConnectionProblem,
    Connections,
    TlsConnection,
    UnixConnection,
)

MANAGER_NAME = "manager.outboard.internal"  # as in outboard.keys, which needs cryptography
_ANSWER_S = 15.0  # beside the time that an answer was asked to wait
_NEXT_S = 5.0  # the same, where another manager can be asked
# A manager that is gone is replaced after 5 s, and the next one loads the state.
_CHANGE_S = 12.0
_CHANGE_PAUSE_S = 0.3
_LONGEST_PROBLEM = 1 << 16  # bytes of a refusal that are read


class PoolError(OutboardError):
    """The manager refuses. `name`: of the problem."""

    def __init__(self, status: int, name: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.name = status, name


class UnreachableError(OutboardError):
    """There is no answer: nobody knows whether the manager has done it."""


class Rows(NamedTuple):
    """All rows of a pool that the asking user may see, as docs/pool-openapi.json describes them."""

    now_ms: int
    devices: list[Any]
    leases: list[Any]
    queue: list[Any]

    def present_devices(self) -> list[Any]:
        """Returns the devices without those that were retired: these are gone for ever."""
        return [row for row in self.devices if row["admin"] != "retired"]


class PoolClient:
    """The manager of a pool, or several of which one leads. Any thread."""

    def __init__(self, url: str, key: Path | None = None) -> None:
        """`url`: http://127.0.0.1:7780, https://HOST:PORT with a key, or unix:PATH; or several with
        commas between them. `key`: a folder with client.pem, or daemon.pem. Raises OutboardError.
        """
        self.url = url.rstrip("/")
        self._managers = [
            (one, _connections(one, key)) for one in (u.rstrip("/") for u in self.url.split(","))
        ]
        self._at = 0  # of the manager that answered last

    @property
    def answering(self) -> str:
        """The URL of the manager that answered last."""
        return self._managers[self._at][0]

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: dict[str, Any] | None = None,
        wait_s: float = 0,
    ) -> Any:
        """Returns the answer; None if it is empty. Raises PoolError or UnreachableError."""
        given = {k: v for k, v in (query or {}).items() if v not in (None, "")}
        target = path + ("?" + urlencode(given) if given else "")
        status, raw = self.raw(method, target, body, wait_s)
        if status >= 400:
            raise _refused(status, raw)
        return json.loads(raw) if raw else None

    def raw(
        self, method: str, target: str, body: Any = None, wait_s: float = 0
    ) -> tuple[int, bytes]:
        """Returns status and body of the answer. Asks the next manager if one does not answer or
        does not lead, and all of them again while another one takes the lead."""
        data = None if body is None else json.dumps(body).encode()
        until = time.monotonic() + _CHANGE_S
        while True:
            alive: tuple[int, bytes] | None = None
            for _ in self._managers:
                at = self._at
                try:
                    status, raw = self._ask_one(at, method, target, data, wait_s)
                except UnreachableError as error:
                    silent = error
                else:
                    refused = status == 503 and passes(_refused(status, raw))
                    if len(self._managers) == 1 or not refused:
                        return status, raw
                    alive = status, raw
                if self._at == at:  # unless another thread has moved on
                    self._at = (at + 1) % len(self._managers)
            if alive is None:
                raise silent
            if time.monotonic() >= until:
                return alive
            time.sleep(_CHANGE_PAUSE_S)

    @contextlib.contextmanager
    def stream(
        self, target: str, headers: dict[str, str], silence_s: float
    ) -> Iterator[HTTPResponse]:
        """Yields an answer whose body is read as it arrives, of the manager that answered last.
        Reading raises UnreachableError when the connection breaks, or nothing has come for
        `silence_s`."""
        at = self._at
        _, connections = self._managers[at]
        with self._answering(at), connections.stream(target, headers, silence_s) as response:
            if response.status >= 400:
                raise _refused(response.status, response.read(_LONGEST_PROBLEM))
            yield response

    def _ask_one(
        self, at: int, method: str, target: str, data: bytes | None, wait_s: float
    ) -> tuple[int, bytes]:
        answer_s = _ANSWER_S if len(self._managers) == 1 else _NEXT_S
        headers = {"content-type": "application/json"}
        _, connections = self._managers[at]
        with self._answering(at):
            return connections.ask(method, target, data, headers, answer_s + wait_s)

    @contextlib.contextmanager
    def _answering(self, at: int) -> Iterator[None]:
        url, _ = self._managers[at]
        try:
            yield
        except ConnectionProblem as error:
            raise UnreachableError(
                f"the manager at {url} does not answer ({_why(error)}) is it running there? "
                "`outboard pool serve`"
            ) from error

    def pages(self, path: str, rows: str, query: dict[str, Any] | None = None) -> list[Any]:
        """Returns the rows of all pages of a list."""
        found: list[Any] = []
        after = ""
        while True:
            page = self.ask("GET", path, query={**(query or {}), "after": after})
            found += page[rows]
            after = page["next"]
            if not after:
                return found

    def now_ms(self) -> int:
        """Returns pool time."""
        return int(self.ask("GET", "/v1/devices", query={"limit": 1})["now_ms"])

    def rows(self) -> Rows:
        """Returns all rows. They are not of one moment: each list is a question of its own."""
        devices = self.pages("/v1/devices", "devices")
        leases = self.pages("/v1/leases", "leases")
        queue = self.ask("GET", "/v1/queue")["requests"]
        return Rows(self.now_ms(), devices, leases, queue)

    def living_leases(self) -> list[Any]:
        """Returns the leases that wait for devices or hold some."""
        rows = self.pages("/v1/leases", "leases")
        return [row for row in rows if row["state"] in ("queued", "held")]

    def close(self) -> None:
        for _, connections in self._managers:
            connections.close()


def name_in_path(name: str) -> str:
    return quote(name, safe="")


def new_id() -> str:
    """Returns an id for a lease, as `secrets` would, whose import takes 5 ms."""
    return os.urandom(16).hex()


def _connections(url: str, key: Path | None) -> Connections:
    if url.startswith("unix:"):
        path = url.removeprefix("unix:")
        return Connections(lambda: UnixConnection(path))
    try:
        parsed = urlsplit(url)
        host, port = parsed.hostname or "", parsed.port or 7780
    except ValueError:
        host, port = "", 0
    if not host or parsed.scheme not in ("http", "https"):
        raise OutboardError(
            f"'{url}' is no address of a manager (http:, https:, unix:) write for example "
            "https://pool:7780 or unix:/run/pool.sock"
        )
    if parsed.scheme == "http":
        return Connections(lambda: HTTPConnection(host, port, timeout=CONNECT_S))
    if key is None:
        raise OutboardError(f"{url} needs a key (it is on the network) give --key FOLDER")
    context = client_tls(key)
    return Connections(lambda: TlsConnection(host, port, context, MANAGER_NAME))


def client_tls(folder: Path) -> ssl.SSLContext:
    """Returns TLS 1.3 with the key in `folder`, to the manager of its pool only."""
    role = "client" if (folder / "client.pem").exists() else "daemon"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        if os.stat(folder / f"{role}.key").st_mode & 0o077:
            raise OutboardError(f"{folder}/{role}.key is refused (others may read it) chmod 600 it")
        context.load_cert_chain(folder / f"{role}.pem", folder / f"{role}.key")
        context.load_verify_locations(folder / "pool.pem")
    except (OSError, ssl.SSLError) as error:
        raise OutboardError(f"{folder} cannot be used as a key ({error})") from error
    return context


def passes(error: OutboardError) -> bool:
    """Returns whether the same question may be answered later, or by another manager."""
    if isinstance(error, PoolError):
        return error.status == 503 and error.name in ("not-leader", "starting", "storage")
    return isinstance(error, UnreachableError)


def _refused(status: int, raw: bytes) -> PoolError:
    try:
        body = json.loads(raw)
        name = str(body["type"]).rpartition(":")[2]
        return PoolError(status, name, str(body["detail"]))
    except (ValueError, KeyError, TypeError):
        text = f"the manager answers with status {status} and no reason; is it one of Outboard?"
        return PoolError(status, "", text)


def _why(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text or type(error).__name__
