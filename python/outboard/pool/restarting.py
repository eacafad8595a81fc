"""Restarts the daemons of a pool in turns, so that most of its devices are there at any time
(`outboard pool restart`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from outboard.errors import OutboardError
from outboard.pool.columns import printable

if TYPE_CHECKING:
    from outboard.pool.client import PoolClient

_LOOK_S = 1.0
# At most this part of the devices is away at once, but always those of one daemon.
_AWAY = 0.1
# A daemon that has been away for so long may need help.
_LONG_S = 60.0
# The manager, or the one that follows it, may be restarting, too.
_MANAGER_AWAY_S = 300.0

Row = dict[str, Any]
_Answer = TypeVar("_Answer")


def _by_daemon(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["admin"] != "retired":
            found.setdefault(row["daemon"], []).append(row)
    return found


def _is_back(rows: list[Row]) -> bool:
    # A daemon may have lost a device; that is not waited for.
    present = [row for row in rows if row["health"] in ("ok", "broken")]
    return (
        bool(present or not rows)
        and all(row["admin"] != "restarting" for row in rows)
        and all(row["allocation"] != "unconfirmed" for row in present)
    )


def _why_it_waits(rows: list[Row]) -> str:
    """Returns why somebody may have to help a daemon that was asked to restart; "" if not."""
    if all(row["health"] == "lost" for row in rows):
        return (
            "has not come back; is there a supervisor that starts it again? (systemctl status "
            "outboardd)"
        )
    if not any(row["leases"] for row in rows):
        return "has not ended, though nobody holds its devices; is it of an older version?"
    return ""


def _patiently(ask: Callable[[], _Answer], say: Callable[[str], None]) -> _Answer:
    """Asks again while the manager does not answer. `ask` may be done twice."""
    from outboard.pool.client import passes

    began = time.monotonic()
    said = False
    while True:
        try:
            return ask()
        except OutboardError as error:
            if not passes(error) or time.monotonic() > began + _MANAGER_AWAY_S:
                raise
            if not said:
                say(f"{error}; asking again")
                said = True
        time.sleep(_LOOK_S)


def ask_to_restart(client: PoolClient, name: str, deadline_s: float) -> None:
    """Asks for the restart of a daemon. Raises OutboardError if it has no open device, or the
    manager is of an older version, which only drains."""
    from outboard.pool.client import name_in_path

    path = f"/v1/daemons/{name_in_path(name)}/drain"
    told = client.ask("POST", path, {"deadline_s": deadline_s, "restart": True})
    if not told["changed"]:
        raise _nothing_to_restart(name)
    rows = client.pages("/v1/devices", "devices")
    if any(row["id"] in told["changed"] and row["admin"] == "draining" for row in rows):
        raise OutboardError(
            f"the manager has drained {name}, and does not restart it (it is of an older version) "
            f"upgrade it first, and open the devices again: outboard pool uncordon {name}"
        )


def _nothing_to_restart(name: str) -> OutboardError:
    return OutboardError(
        f"{name} has no open device (they are cordoned or drained); open them first with "
        f"`outboard pool uncordon {name}`"
    )


def restart_all(
    client: PoolClient, names: tuple[str, ...], deadline_s: float, say: Callable[[str], None]
) -> None:
    """Restarts these daemons; () stands for all that have an open device. Returns when all are
    back. Goes on while the manager itself restarts. Raises OutboardError if the manager does not
    know one, or one has no open device, or the manager cannot restart daemons, or is away for
    long."""
    found = _by_daemon(client.pages("/v1/devices", "devices"))
    unknown = [name for name in names if name not in found]
    if unknown:
        raise OutboardError(
            f"there is no daemon {unknown[0]} (wrong name?) see `outboard pool status`"
        )
    for name in names:
        if not any(row["admin"] in ("open", "restarting") for row in found[name]):
            raise _nothing_to_restart(name)
    # `outboard pool status` has the others in mind: they are not there, or somebody repairs them.
    waiting = list(names) or [
        name
        for name, rows in found.items()
        if any(row["admin"] == "open" and row["health"] == "ok" for row in rows)
    ]
    most = max(1, int(_AWAY * sum(len(rows) for rows in found.values())))
    away: dict[str, float] = {}
    waits_since: dict[str, float] = {}

    def look() -> dict[str, list[Row]]:
        return _by_daemon(client.pages("/v1/devices", "devices"))

    while waiting or away:
        found = _patiently(look, say)
        for name in [name for name in away if _is_back(found.get(name, []))]:
            say(f"{printable(name)} is back after {time.monotonic() - away.pop(name):.0f} s")
        for name in away:
            why = _why_it_waits(found.get(name, []))
            if not why:
                waits_since.pop(name, None)
            elif waits_since.setdefault(name, time.monotonic()) < time.monotonic() - _LONG_S:
                waits_since[name] = float("inf")  # say it once
                say(f"{_LONG_S:.0f} s: {printable(name)} {why}")
        devices_away = sum(len(found.get(name, [])) for name in away)
        while waiting and (not away or devices_away + len(found.get(waiting[0], [])) <= most):
            name = waiting.pop(0)
            _patiently(partial(ask_to_restart, client, name, deadline_s), say)
            held = sum(bool(row["leases"]) for row in found.get(name, []))
            say(f"{printable(name)} restarts" + (f" when {held} devices are free" if held else ""))
            away[name] = time.monotonic()
            devices_away += len(found.get(name, []))
        if waiting or away:
            time.sleep(_LOOK_S)
