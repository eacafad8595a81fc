"""A request and a response, between the server and the handlers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from outboard.pool.core.replies import Problem
from outboard.pool.serve.peer import Peer
from outboard.pool.serve.problems import ProblemError, body_of
from outboard.pool.serve.settings import Role

if TYPE_CHECKING:
    from outboard.pool.serve.manager import Manager
    from outboard.pool.serve.metrics import Metrics

JSON = "application/json"
_encode = msgspec.json.Encoder().encode
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DEVICE = re.compile(r"[A-Za-z0-9._:/@ -]{1,128}")


class Response(NamedTuple):
    status: int
    body: bytes = b""
    type: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()
    stream: AsyncIterator[bytes] | None = None


class Request:
    """`names`: the parts of the path that vary. `body`: decoded, as the route says."""

    __slots__ = ("body", "names", "peer", "query", "transport")

    def __init__(
        self,
        peer: Peer,
        names: tuple[str, ...],
        query: dict[str, str],
        body: Any,
        transport: asyncio.Transport | None,
    ) -> None:
        self.peer, self.names, self.query = peer, names, query
        self.body, self.transport = body, transport

    @property
    def gone(self) -> bool:
        """Whether the peer has closed the connection."""
        return self.transport is not None and self.transport.is_closing()

    def text(self, name: str, default: str = "") -> str:
        return self.query.get(name, default)

    def number(self, name: str, default: float, least: float, most: float) -> float:
        text = self.query.get(name)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            why = f"{name} is from {least:g} to {most:g}"
            raise ProblemError("invalid", f"'{text[:40]}' is no {name} ({why}) give a number")
        return value


class Browsers(Enum):
    """Which browsers without a certificate get an answer, at the address of --page."""

    NONE = 0
    LOGGED_IN = 1
    ALL = 2


Handler = Callable[["Manager", Request], Awaitable[Response]]
# Answers while this manager does not lead, and has no state: from metrics and version.
StandbyHandler = Callable[["Metrics", str], Awaitable[Response]]


class Param(NamedTuple):
    """A query parameter."""

    name: str
    schema: dict[str, Any]
    help: str


class Route(NamedTuple):
    """A verb of the interface. `answers`: status -> type of the body."""

    method: str
    path: str
    handler: Handler
    role: Role | None  # None: anybody who may connect
    summary: str
    answers: dict[int, Any]
    body: type[msgspec.Struct] | None = None
    params: tuple[Param, ...] = ()
    problems: tuple[str, ...] = ()
    type: str = JSON
    also: str = ""  # another type of the same content
    browsers: Browsers = Browsers.NONE
    has_head: bool = True  # HEAD does as GET does
    standby: StandbyHandler | None = None  # None: a manager that does not lead refuses


def answer(value: Any, status: int = 200) -> Response:
    if isinstance(value, Problem):
        return refusal(value)
    return Response(status, _encode(value))


def nothing() -> Response:
    return Response(204)


def refusal(problem: Problem) -> Response:
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if problem.status in (429, 503):
        headers = ((b"retry-after", b"2"),)
    if problem.status == 413:
        headers = ((b"connection", b"close"),)
    return Response(problem.status, _encode(body_of(problem)), "application/problem+json", headers)


def check_id(text: str) -> str:
    """Checks an id: `$` of a pattern also matches before a newline."""
    if not _ID.fullmatch(text):
        raise ProblemError("invalid", "that is no id (1 to 64 of A-Z a-z 0-9 . _ -) change it")
    return text


def check_device(text: str) -> str:
    if not _DEVICE.fullmatch(text):
        raise ProblemError("invalid", "that is no device (letters, digits, . _ : / @ -) change it")
    return text


def check_name(text: str) -> str:
    if not (0 < len(text) <= 64 and text.isprintable()):
        raise ProblemError("invalid", "that is no name (1 to 64 printable characters) change it")
    return text
