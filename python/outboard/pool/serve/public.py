"""Signs of life, metrics, the description of the interface, and the page."""

from __future__ import annotations

from outboard.pool.serve.answers import Alive, PageLink
from outboard.pool.serve.exchange import Request, Response, answer
from outboard.pool.serve.logins import LINK_S, SESSION_S
from outboard.pool.serve.manager import Manager
from outboard.pool.serve.metrics import Metrics
from outboard.pool.serve.peer import Peer
from outboard.pool.serve.problems import ProblemError

_HOW = "run `outboard pool page` for a link, which works once within a minute"


async def healthz(manager: Manager, request: Request) -> Response:
    return answer(Alive("ok", manager.version))


async def readyz(manager: Manager, request: Request) -> Response:
    if manager.stopping:
        raise ProblemError("starting", "the manager stops; ask again when it is back")
    await manager.do(lambda state: state.rev)
    return answer(Alive("ready", manager.version))


async def metrics(manager: Manager, request: Request) -> Response:
    found = manager.metrics
    return _metrics_response(await found.scrape(lambda: manager.do(found.fill)))


async def standby_healthz(metrics: Metrics, version: str) -> Response:
    return answer(Alive("standby", version))


async def standby_metrics(metrics: Metrics, version: str) -> Response:
    return _metrics_response(await metrics.scrape())


def _metrics_response(text: bytes) -> Response:
    return Response(200, text, "text/plain; version=0.0.4; charset=utf-8")


async def openapi(manager: Manager, request: Request) -> Response:
    return Response(200, manager.description)


async def page(manager: Manager, request: Request) -> Response:
    from outboard.pool.serve.page import render

    return await render(manager, request)


async def style(manager: Manager, request: Request) -> Response:
    from outboard.pool.serve.page import static

    return static("pool.css", "text/css")


async def script(manager: Manager, request: Request) -> Response:
    from outboard.pool.serve.page import static

    return static("pool.js", "text/javascript")


async def link(manager: Manager, request: Request) -> Response:
    if not manager.logins.url:
        text = (
            "the manager has no address for browsers without a certificate (--page ADDRESS of "
            "`outboard pool serve`); one without a key shows its page at each address"
        )
        raise ProblemError("unknown", text)
    return answer(PageLink(manager.logins.link(request.peer), LINK_S))


async def login(manager: Manager, request: Request) -> Response:
    secret = manager.logins.begin(request.text("code"))
    if secret is None:
        raise ProblemError("no-certificate", f"the link is old, or was used before; {_HOW}")
    # Not Strict: a link in a web mail would lead to the page without the cookie.
    facts = f"Path=/; Max-Age={SESSION_S:.0f}; Secure; HttpOnly; SameSite=Lax"
    cookie = f"{manager.logins.cookie}={secret}; {facts}"
    headers = ((b"set-cookie", cookie.encode()), (b"location", b"/"))
    return Response(303, headers=headers)


def reader_of(manager: Manager, headers: dict[bytes, bytes]) -> Peer:
    """Returns who has the session of a browser. Raises ProblemError."""
    for pair in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        name, _, secret = pair.strip().partition("=")
        if name == manager.logins.cookie and (reader := manager.logins.reader(secret)):
            return reader
    raise ProblemError("no-certificate", f"you have no session here, or it is over; {_HOW}")
