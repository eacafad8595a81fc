"""Restarts the daemons of a pool in turns, so that most of its devices are there at any time
(`outboard pool restart`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from outboard.errors import OutboardError
from outboard.pool.columns import printable

if TYPE_CHECKING:
    from outboard.pool.client import PoolClient

_LOOK_S = 1.0
# Of the devices, at most this part is away at once; always those of one daemon.
_AWAY = 0.1
# A daemon that has been away for so long may need help.
_LONG_S = 60.0

Row = dict[str, Any]


def _by_daemon(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["admin"] != "retired":
            found.setdefault(row["daemon"], []).append(row)
    return found


def _is_back(rows: list[Row]) -> bool:
    return all(
        row["admin"] != "restarting"
        and row["health"] in ("ok", "broken")
        and row["allocation"] != "unconfirmed"
        for row in rows
    )


def restart_all(
    client: PoolClient, names: tuple[str, ...], deadline_s: float, say: Callable[[str], None]
) -> None:
    """Restarts these daemons; () stands for all that have an open device. Returns when all are
    back. Raises OutboardError if the manager does not know one, or one has no open device."""
    from outboard.pool.client import name_in_path

    found = _by_daemon(client.pages("/v1/devices", "devices"))
    unknown = [name for name in names if name not in found]
    if unknown:
        raise OutboardError(
            f"there is no daemon {unknown[0]} (wrong name?) see `outboard pool status`"
        )
    for name in names:
        if not any(row["admin"] in ("open", "restarting") for row in found[name]):
            raise OutboardError(
                f"{name} has no open device (they are cordoned or drained); open them first with "
                f"`outboard pool uncordon {name}`"
            )
    # `outboard pool status` has the others in mind: they are not there, or somebody repairs them.
    waiting = list(names) or [
        name
        for name, rows in found.items()
        if any(row["admin"] == "open" and row["health"] == "ok" for row in rows)
    ]
    most = max(1, int(_AWAY * sum(len(rows) for rows in found.values())))
    away: dict[str, float] = {}
    ended: dict[str, float] = {}
    while waiting or away:
        found = _by_daemon(client.pages("/v1/devices", "devices"))
        for name in [name for name in away if _is_back(found.get(name, []))]:
            say(f"{printable(name)} is back after {time.monotonic() - away.pop(name):.0f} s")
        for name in away:
            if any(row["health"] != "lost" for row in found.get(name, [])):
                continue
            if 0 < ended.setdefault(name, time.monotonic()) < time.monotonic() - _LONG_S:
                ended[name] = 0  # say it once
                say(
                    f"{printable(name)} has not come back for {_LONG_S:.0f} s; is there a "
                    "supervisor that starts it again? (systemctl status outboardd)"
                )
        devices_away = sum(len(found.get(name, [])) for name in away)
        while waiting and (not away or devices_away + len(found.get(waiting[0], [])) <= most):
            name = waiting.pop(0)
            path = f"/v1/daemons/{name_in_path(name)}/drain"
            client.ask("POST", path, {"deadline_s": deadline_s, "restart": True})
            held = sum(bool(row["leases"]) for row in found.get(name, []))
            say(f"{printable(name)} restarts" + (f" when {held} devices are free" if held else ""))
            away[name] = time.monotonic()
            devices_away += len(found.get(name, []))
        if waiting or away:
            time.sleep(_LOOK_S)
