"""Signs of life, metrics, the description of the interface, and the page."""

from __future__ import annotations

from outboard.pool.serve.answers import Alive
from outboard.pool.serve.exchange import Request, Response, answer
from outboard.pool.serve.manager import Manager
from outboard.pool.serve.metrics import Metrics
from outboard.pool.serve.problems import ProblemError


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
