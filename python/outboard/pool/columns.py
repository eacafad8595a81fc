"""The columns of devices, leases and waiting requests, in the words that people read.

`outboard pool status` prints them, and `outboard top` shows them live.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Row = Mapping[str, Any]  # as the manager's interface describes it: docs/pool-openapi.json
_FOREVER_MS = 1 << 45
_UNKNOWN = "-"


class Column(NamedTuple):
    """`text`: the cell of a row at a moment of pool time, as it came: show it through printable().
    `order`: the key to sort rows by; without one, they are sorted by the text."""

    title: str
    text: Callable[[Row, int], str]
    order: Callable[[Row], Any] | None = None
    width: int = 28  # characters at most, where a row must fit a screen

    def key(self, row: Row, now_ms: int) -> Any:
        return natural(self.text(row, now_ms)) if self.order is None else self.order(row)


def printable(text: str) -> str:
    """Returns `text` without control characters, and without those that change the direction."""
    return "".join(c if c.isprintable() else "?" for c in text)


@functools.lru_cache(1 << 15)  # a live view sorts the same names each second
def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Returns a key by which n2 comes before n10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", text.casefold())
    return tuple((0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts)


def size(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.3g} {unit}"
        number /= 1024
    return f"{number:.3g} TiB"


def left(end_ms: int, now_ms: int) -> str:
    """Returns the time until `end_ms`."""
    return "no end" if end_ms > _FOREVER_MS else span(max(0, end_ms - now_ms) / 1000)


def span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def moment(ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ms / 1000))


def condition(row: Row) -> str:
    """Returns the one word that a device counts under: its allocation, or why it is not well."""
    return str(row["allocation"] if row["health"] == "ok" else row["health"])


def state(row: Row) -> str:
    """Returns the state of a device in words: allocation, and what is not as usual."""
    words = [row["allocation"]]
    words += [row["health"]] if row["health"] != "ok" else []
    words += [row["admin"]] if row["admin"] != "open" else []
    return ", ".join(words)


def busy(row: Row) -> str:
    """Returns how many of the sessions on a device computed in the last seconds."""
    sessions = row.get("sessions")
    return _UNKNOWN if sessions is None else f"{row.get('busy_sessions') or 0} of {sessions}"


def used(row: Row) -> str:
    memory = row.get("memory_used_bytes")
    return _UNKNOWN if memory is None else size(memory)


def mode(row: Row) -> str:
    return "exclusive" if row["exclusive"] else "shared"


def counted(number: int, word: str) -> str:
    """Returns "1 device", "2 devices"."""
    return f"{number} {word}{'s' * (number != 1)}"


def _plain(name: str, title: str = "", width: int = 28) -> Column:
    return Column(title or name, lambda row, _: str(row[name]), width=width)


_HOLDERS = Column("holder", lambda row, _: ", ".join(dict.fromkeys(row["holders"])))
_MEMORY = Column("memory", lambda row, _: size(row["memory_bytes"]), lambda r: r["memory_bytes"])
_USED = Column("used", lambda row, _: used(row), lambda row: row.get("memory_used_bytes") or 0)
_BUSY = Column(
    "busy",
    lambda row, _: busy(row),
    lambda row: (row.get("busy_sessions") or 0, row.get("sessions") or 0),
)
_LEASE, _HOLDER, _STATE = _plain("id", "lease", 12), _plain("holder"), _plain("state")
_MODE = Column("mode", lambda row, _: mode(row))
_DEVICES = Column("devices", lambda row, _: ", ".join(row["devices"]), width=18)
_WAITING = Column("waits for", lambda row, _: str(row["waiting"] or ""), lambda row: row["waiting"])
_LEFT = Column("left", lambda row, now_ms: left(row["end_ms"], now_ms), lambda row: row["end_ms"])
_DEVICE, _KIND, _MODEL = _plain("id", "device"), _plain("kind"), _plain("model")
_REMARK = _plain("why", "remark", 80)

# As `outboard pool status` prints them. Those of the live view come in another order, because 80
# characters show the first ones.
DEVICES = (
    _DEVICE, _KIND, _MODEL, _MEMORY, _USED, _BUSY, _plain("health"), _plain("allocation"),
    _plain("admin"), _HOLDERS, _REMARK,
)  # fmt: skip
LIVE_DEVICES = (
    _DEVICE, Column("state", lambda row, _: state(row)), _BUSY, _USED, _MEMORY, _HOLDERS, _REMARK,
    _KIND, _MODEL, Column("leases", lambda row, _: ", ".join(row["leases"])),
)  # fmt: skip
LEASES = (_LEASE, _HOLDER, _STATE, _MODE, _DEVICES, _WAITING, _LEFT)
LIVE_LEASES = (_LEASE, _HOLDER, _STATE, _LEFT, _MODE, _DEVICES, _WAITING)
QUEUE = (
    Column("place", lambda row, _: str(row["place"]), lambda row: row["place"]),
    _HOLDER,
    Column("devices", lambda row, _: str(row["count"]), lambda row: row["count"]),
    _plain("priority"),
    Column(
        "for",
        lambda row, now_ms: span(max(0, now_ms - row["arrived_ms"]) / 1000),
        lambda row: -row["arrived_ms"],
    ),
    _plain("reason", width=80),
)
