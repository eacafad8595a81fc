"""The pool as a page: made here, and whole without scripts. It shows what its reader may see."""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from outboard.pool.core.records import LeaseState
from outboard.pool.core.state import State
from outboard.pool.serve.exchange import Request, Response
from outboard.pool.serve.manager import Manager
from outboard.pool.serve.minutes import MINUTE_MS, Minutes
from outboard.pool.serve.page.sparkline import Sparkline, sparkline
from outboard.pool.serve.reading import device_row, hidden, lease_row, queue_rows, sees_all

_MOST_ROWS = 500
_CHARTS = (
    ("Devices in use", "devices_in_use"),
    ("Leases held", "leases_held"),
    ("Requests that wait", "requests_waiting"),
)
_SIGNS = {"ok": "●", "suspect": "◐", "lost": "○", "broken": "✕"}  # shapes beside the words
_CSP = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = ((b"content-security-policy", _CSP), (b"x-frame-options", b"DENY"))

_environment = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def _size(number: int) -> str:
    value = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"


def _day(ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(ms / 1000))


def _minute(ms: int) -> str:
    return time.strftime("%H:%M", time.gmtime(ms / 1000))


def _moment(ms: int) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(ms / 1000)) if 0 < ms < 1 << 45 else "none"


_environment.filters.update(size=_size, day=_day, minute=_minute, moment=_moment)


async def render(manager: Manager, request: Request) -> Response:
    peer = request.peer

    def look(state: State) -> dict[str, Any]:
        names = sorted(state.devices)[:_MOST_ROWS]
        every = sees_all(peer)
        leases = [
            lease
            for lease in state.leases.values()
            if lease.state is not LeaseState.OVER and (every or lease.holder == peer.holder)
        ]
        return {
            "now_ms": state.now_ms,
            "rev": state.rev,
            "devices": [device_row(manager, state, name, peer) for name in names],
            "device_count": len(state.devices),
            "lease_count": len(leases),
            "leases": [lease_row(state, lease) for lease in leases[:_MOST_ROWS]],
            "queue": [hidden(row, peer, "somebody") for row in queue_rows(state)[:_MOST_ROWS]],
        }

    facts = await manager.do(look)
    minutes = manager.minutes
    # In a thread, so that other requests are answered meanwhile.
    text = await asyncio.to_thread(
        _environment.get_template("pool.html").render,
        **facts,
        charts=_charts(minutes),
        times_ms=[point.at_ms for point in minutes] or [facts["now_ms"]],
        pool=manager.name,
        version=manager.version,
        holder=peer.holder,
        signs=_SIGNS,
        refresh_s=int(request.number("refresh", 0, 0, 3600)),
    )
    return Response(200, text.encode(), "text/html; charset=utf-8", _HEADERS)


def _charts(minutes: Minutes) -> list[Sparkline]:
    """Returns nothing until there are two points."""
    if len(minutes) < 2:
        return []
    at = [point.at_ms // MINUTE_MS for point in minutes]
    return [
        sparkline(name, at, [getattr(point, field) for point in minutes]) for name, field in _CHARTS
    ]


@lru_cache
def static(name: str, kind: str) -> Response:
    content = Path(__file__).with_name("static").joinpath(name).read_bytes()
    return Response(200, content, f"{kind}; charset=utf-8", _HEADERS)
