"""The ASGI application: finds the route, checks the role, reads the body, writes the answer."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec

from outboard.pool.core.replies import Problem
from outboard.pool.serve.exchange import Browsers, Request, Response, Route, refusal
from outboard.pool.serve.manager import Manager, RefusedError
from outboard.pool.serve.metrics import Metrics
from outboard.pool.serve.peer import Peer
from outboard.pool.serve.problems import STATUS, ProblemError, printable
from outboard.pool.serve.public import reader_of
from outboard.pool.serve.routes import ROUTES

MOST_BODY_BYTES = 1 << 20
_MOST_PATHS, _LONGEST_PATH = 4096, 256  # of those whose place is kept
_LOCAL_HOSTS = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\]|outboard)(:\d{1,5})?")
_log = logging.getLogger("outboard.pool")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)


class _Place:
    """A path: its verbs and the decoders of their bodies."""

    def __init__(self, segments: tuple[str, ...]) -> None:
        self.varies = tuple(segment.startswith("{") for segment in segments)
        self.segments = segments
        self.routes: dict[str, tuple[Route, msgspec.json.Decoder[Any] | None]] = {}

    def names(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """Returns the parts that vary if the path is this place."""
        for part, segment, varies in zip(parts, self.segments, self.varies, strict=True):
            if not varies and part != segment:
                return None
        return tuple(unquote(p) for p, varies in zip(parts, self.varies, strict=True) if varies)


class App:
    """`manager` None: this process does not lead yet, and `refuse` says why."""

    def __init__(self, metrics: Metrics, version: str, refuse: Callable[[], ProblemError]) -> None:
        self.manager: Manager | None = None
        self._metrics, self._version, self._refuse = metrics, version, refuse
        self._places: dict[int, list[_Place]] = {}
        found: dict[str, _Place] = {}
        for route in ROUTES:
            segments = tuple(route.path.strip("/").split("/"))
            place = found.get(route.path)
            if place is None:
                place = found[route.path] = _Place(segments)
                self._places.setdefault(len(segments), []).append(place)
            decoder = msgspec.json.Decoder(route.body) if route.body else None
            place.routes[route.method] = (route, decoder)
        self._known = lru_cache(_MOST_PATHS)(self._search)  # daemons always ask the same

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            response = await self._respond(scope, receive)
        except ProblemError as error:
            response = refusal(error.problem)
        except RefusedError as error:
            response = refusal(error.problem)
        except _Gone:
            return
        except Exception:
            _log.exception("a request failed")
            text = "the manager failed at this request (a mistake in it) see its log"
            response = refusal(Problem(STATUS["failed"], "failed", text))
        self._metrics.answered(response.status)
        _log_request(scope, response)
        await _send(scope, response, send)

    async def _respond(self, scope: Scope, receive: Receive) -> Response:
        peer: Peer = scope["state"]["peer"]
        method = scope["method"]
        headers = dict(scope["headers"])
        _check_browser(peer, method, headers)
        place, names = self._find(scope["raw_path"].decode("latin-1"))
        found = place.routes.get("GET" if method == "HEAD" else method)
        if found is None or (method == "HEAD" and not found[0].has_head):
            known = ", ".join(place.routes)
            raise ProblemError("wrong-method", f"{method} does not fit this path; use {known}")
        route, decoder = found
        if not peer.holder:
            peer = self._reader(route, peer, headers)
        elif not peer.roles:
            text = "this certificate has no role here (it is of no client) use one of a client"
            raise ProblemError("not-yours", text)
        if route.role is not None and not peer.may(route.role):
            text = f"{peer.holder} may not do this (it is for the role {route.role})"
            raise ProblemError("not-yours", f"{text}; see docs/operations.md")
        if self.manager is None:
            if route.standby is None:
                raise self._refuse()
            return await route.standby(self._metrics, self._version)
        raw = await _body(receive, headers)
        body = _decode(decoder, raw) if decoder else None
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        request = Request(peer, names, query, body, scope["state"].get("transport"))
        return await route.handler(self.manager, request)

    def _reader(self, route: Route, browser: Peer, headers: dict[bytes, bytes]) -> Peer:
        """Returns for whom a browser without a certificate asks."""
        if route.browsers is Browsers.NONE:
            raise ProblemError("no-certificate", "this address has only the page; give a --key")
        if self.manager is None:
            raise self._refuse()
        if route.browsers is Browsers.ALL:
            return browser
        return reader_of(self.manager, headers)

    def _find(self, path: str) -> tuple[_Place, tuple[str, ...]]:
        return self._known(path) if len(path) <= _LONGEST_PATH else self._search(path)

    def _search(self, path: str) -> tuple[_Place, tuple[str, ...]]:
        parts = tuple(path.split("/")[1:])
        for place in self._places.get(len(parts), ()):
            names = place.names(parts)
            if names is not None:
                return place, names
        raise ProblemError("unknown", "there is nothing at this path; /openapi.json lists all")


class _Gone(Exception):  # noqa: N818
    """The client has closed the connection before its request was whole."""


def _check_browser(peer: Peer, method: str, headers: dict[bytes, bytes]) -> None:
    """Refuses what a page of another site could make a browser on this machine send."""
    if b"origin" in headers and method not in ("GET", "HEAD"):
        text = "the request is from a web page (it has an origin) use the command line"
        raise ProblemError("not-yours", text)
    if peer.local and (host := headers.get(b"host")) is not None:
        text = host.decode("latin-1").lower()
        if not _LOCAL_HOSTS.fullmatch(text):
            text = "the request names another host (it came without TLS) use localhost"
            raise ProblemError("not-yours", text)


async def _body(receive: Receive, headers: dict[bytes, bytes]) -> bytes:
    length = headers.get(b"content-length", b"")
    text = f"the body is too large (at most {MOST_BODY_BYTES} bytes) send less"
    if length.isdigit() and int(length[:20]) > MOST_BODY_BYTES:
        raise ProblemError("too-large", text)
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BODY_BYTES:
            raise ProblemError("too-large", text)
    return body


def _decode(decoder: msgspec.json.Decoder[Any], raw: bytes) -> Any:
    try:
        return decoder.decode(raw or b"{}")
    except msgspec.ValidationError as error:
        text = f"the body is refused ({printable(str(error))}) see /openapi.json"
        raise ProblemError("invalid", text) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = f"the body is no JSON ({printable(str(error))}) send an object"
        raise ProblemError("bad-request", text) from error


async def _send(scope: Scope, response: Response, send: Send) -> None:
    headers = [*_HEADERS, *response.headers]
    if response.body or response.stream is not None:
        headers.append((b"content-type", response.type.encode()))
    if response.stream is None:
        if response.status != 204:
            headers.append((b"content-length", str(len(response.body)).encode()))
        start = {"type": "http.response.start", "status": response.status, "headers": headers}
        await send(start)
        body = b"" if scope["method"] == "HEAD" else response.body
        await send({"type": "http.response.body", "body": body})
        return
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    async for part in response.stream:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _log_request(scope: Scope, response: Response) -> None:
    usual = response.status < 500 or response.status == 503  # of a manager that does not lead
    level = logging.DEBUG if usual else logging.WARNING
    peer: Peer = scope["state"]["peer"]
    if response.status in (401, 403) and peer.holder:  # strangers could fill the disk
        level = logging.INFO
    if not _log.isEnabledFor(level):
        return
    facts = {
        "method": scope["method"],
        "path": printable(scope["raw_path"].decode("latin-1"), 200),
        "status": response.status,
        "holder": printable(peer.holder),
        "address": peer.address,
    }
    if response.status >= 400 and response.body:
        facts["detail"] = json.loads(response.body).get("detail", "")
    _log.log(level, "request", extra={"facts": facts})
