"""The subcommands of `outboard pool` that limit users and reserve devices."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from outboard import values
from outboard.commands import _pool_tables as tables
from outboard.commands._pool_asking import JSON, asking, path
from outboard.commands._pool_options import Duration, Label, pool_time
from outboard.errors import OutboardError
from outboard.pool.columns import counted, moment, printable

if TYPE_CHECKING:
    from outboard.pool.client import PoolClient

_MOST_DEVICES = 1 << 14
_MOST_NUMBER = 1 << 20
_LIMITS = ("devices", "week_device_ms", "waiting")


@click.command("quota")
@asking
@click.argument("name", required=False, metavar="[user:NAME|group:NAME]")
@click.option(
    "--devices",
    type=click.IntRange(0, _MOST_DEVICES),
    metavar="N",
    help="Devices held at once; 0: no limit.",
)
@click.option(
    "--per-week",
    type=Duration(),
    metavar="TIME",
    help="Device time in a week, e.g. 40h: of one device, or 10h of four; 0: no limit.",
)
@click.option(
    "--waiting",
    type=click.IntRange(0, _MOST_NUMBER),
    metavar="N",
    help="Requests in the queue at once; 0: no limit.",
)
@click.option(
    "--shares",
    type=click.IntRange(1, _MOST_NUMBER),
    metavar="N",
    help="The user's part of the pool beside those of others.  [default: 1]",
)
@click.option("--remove", is_flag=True, help="Remove all limits of NAME; its shares stay.")
@JSON
def quota(client: PoolClient, name: str | None, remove: bool, as_json: bool, **given: Any) -> None:
    """Show or change the limits of users and groups.

    Without options it shows them: all for administrators, the own ones for others. Limits that are
    not named stay as they are. Limits end no lease.

    \b
    Examples:
      outboard pool quota
      outboard pool quota user:ada --devices 3 --per-week 40h
      outboard pool quota group:chem --devices 8 --waiting 20
      outboard pool quota user:ada --shares 2
      outboard pool quota user:ada --remove
    """
    changes = {option: value for option, value in given.items() if value is not None}
    if name is not None:
        _check_quota_name(name)
    elif changes or remove:
        raise click.UsageError("no user or group is named; give user:NAME or group:NAME")
    if remove and changes:
        raise click.UsageError("--remove removes all limits; give no others with it")
    if "shares" in changes and str(name).startswith("group:"):
        raise click.UsageError("--shares is for users (a group has none); name user:NAME")
    rows = client.ask("GET", "/v1/quotas")["quotas"]
    if name is not None:
        rows = [row for row in rows if row["name"] in _stored_names(name)]
    if changes or remove:
        rows = [_change_quota(client, str(name), rows, changes)]
    else:
        rows = [row for row in rows if _limits(row)]  # without limits: it was removed
    if as_json:
        click.echo(json.dumps({"quotas": rows}, indent=1))
        return
    if remove:
        click.echo(printable(f"{name} has no limits any more"))
        return
    _show_quotas(rows)
    if "shares" in changes:
        click.echo(printable(f"{name} has {counted(changes['shares'], 'share')}"))


def _limits(row: Any) -> bool:
    return any(row[limit] for limit in _LIMITS)


def _check_quota_name(name: str) -> None:
    kind, _, who = name.partition(":")
    if kind not in ("user", "group") or not who:
        raise click.UsageError(f"'{name}' is no user and no group; write user:ada or group:chem")


def _stored_names(name: str) -> tuple[str, str]:
    """Returns the names that the manager may have for it: a plain name is of a certificate."""
    return name, f"user:certificate {name.removeprefix('user:')}"


def _change_quota(client: PoolClient, name: str, rows: list[Any], changes: dict[str, Any]) -> Any:
    """Returns the new row. The manager replaces a quota as a whole, so limits that are not named
    come from the row that it has. Without changes all limits are removed."""
    body: dict[str, Any] = {}
    if changes:
        for row in rows:
            body = {
                "devices": row["devices"],
                "week_device_s": row["week_device_ms"] / 1000,
                "waiting": row["waiting"],
            }
        names = {"per_week": "week_device_s"}
        body |= {names.get(option, option): value for option, value in changes.items()}
    elif not any(_limits(row) for row in rows):
        raise OutboardError(f"{name} has no limits (outboard pool quota shows all) name another")
    return client.ask("PUT", path("quotas", name), body)


def _show_quotas(rows: list[Any]) -> None:
    found = tables.table("Quotas", "name", "devices", "device-hours a week", "waiting")
    for row in rows:
        hours = f"{row['week_device_ms'] / 3_600_000:.4g}" if row["week_device_ms"] else "no limit"
        cells = [row[limit] or "no limit" for limit in ("devices", "waiting")]
        tables.add(found, row["name"], cells[0], hours, cells[1])
    tables.show(found)


@click.command("reservation")
@asking
@JSON
def reservation(client: PoolClient, as_json: bool) -> None:
    """Show reservations: all for administrators, the own ones for others.

    \b
    Examples:
      outboard pool reservation
      outboard pool reservation --json
    """
    answer = client.ask("GET", "/v1/reservations")
    if as_json:
        click.echo(json.dumps(answer, indent=1))
        return
    now_ms = client.now_ms()
    found = tables.table("Reservations", "name", "state", "devices", "of", "users", "start", "end")
    for row in answer["reservations"]:
        times = (moment(row["start_ms"]), moment(row["end_ms"]))
        users = ", ".join(row["users"])
        count = row["count"]
        tables.add(found, row["id"], _state(row, now_ms), count, _class(row), users, *times)
    tables.show(found)


def _state(row: Any, now_ms: int) -> str:
    if now_ms < row["start_ms"]:
        return "comes"
    return "in force" if now_ms < row["end_ms"] else "over"


def _class(row: Any) -> str:
    """Returns the selector of a reservation in words."""
    selector = row["selector"]
    words = [selector["kind"], selector["model"]]
    if selector["min_memory_bytes"]:
        words.append(f"{selector['min_memory_bytes'] / (1 << 30):.4g} GiB or more")
    words += [f"{name}={value}" for name, value in selector["labels"].items()]
    return ", ".join(word for word in words if word) or "any"


@click.command("reserve")
@asking
@click.argument("name")
@click.option("--user", "users", multiple=True, metavar="USER", help="May use them. Repeatable.")
@click.option(
    "--devices", type=click.IntRange(1, _MOST_DEVICES), metavar="N", help="So many are kept."
)
@click.option("--kind", default="", help="Of this kind, e.g. gpu.")
@click.option("--model", default="", help="Of this model.")
@click.option("--min-memory", type=values.Size(), default=0, help="With such memory, e.g. 40G.")
@click.option("--label", "labels", type=Label(), multiple=True, help="Of daemons with this label.")
@click.option(
    "--start",
    metavar="TIME",
    default="+0s",
    help="2026-12-01T09:00 in local time, +2h from now, or seconds since 1970.  [default: now]",
)
@click.option("--length", type=Duration(), metavar="TIME", help="From the start, e.g. 4h or 2d.")
@click.option("--end", metavar="TIME", help="As --start; instead of --length.")
@click.option("--remove", is_flag=True, help="Remove the reservation.")
def reserve(
    client: PoolClient,
    name: str,
    users: tuple[str, ...],
    devices: int | None,
    start: str,
    length: float | None,
    end: str | None,
    remove: bool,
    **selector: Any,
) -> None:
    """Keep devices for users during a window of time, as the reservation NAME.

    A reservation of this name is replaced. From now on, leases of others that have no end before
    the start get none of these devices; leases that hold some keep them. A plain USER is that of a
    certificate.

    \b
    Examples:
      outboard pool reserve course --user ada --user bob --devices 2 --length 4h
      outboard pool reserve demo --user ada --devices 1 --start 2026-12-01T09:00 --length 3h
      outboard pool reserve demo --user ada --devices 1 --kind gpu --start +2h --end +5h
      outboard pool reserve course --remove
    """
    if remove:
        others = (users, devices, length, end, *selector.values())
        if any(others):
            raise click.UsageError("--remove removes the reservation; give no other option")
        _remove_reservation(client, name)
        return
    if not users or devices is None:
        raise click.UsageError("a reservation needs users and devices; give --user and --devices")
    start_ms, end_ms = _window(client, start, length, end)
    body = {
        "count": devices,
        "users": list(users),
        "start_ms": start_ms,
        "end_ms": end_ms,
        "class": {
            "kind": selector["kind"],
            "model": selector["model"],
            "min_memory_bytes": selector["min_memory"],
            "labels": dict(selector["labels"]),
        },
    }
    row = client.ask("PUT", path("reservations", name), body)
    window = f"from {moment(row['start_ms'])} until {moment(row['end_ms'])}"
    kept = f"{counted(row['count'], 'device')} for {', '.join(row['users'])} {window}"
    click.echo(printable(f"{row['id']} keeps {kept}"))


def _window(
    client: PoolClient, start: str, length: float | None, end: str | None
) -> tuple[int, int]:
    """Returns its start and its end, in ms of pool time."""
    if (length is None) == (end is None):
        raise click.UsageError("a reservation needs one end; give --length 4h or --end TIME")
    now_ms = client.now_ms()
    start_ms = pool_time(start, lambda: now_ms)
    end_ms = pool_time(end, lambda: now_ms) if end else start_ms + int((length or 0) * 1000)
    if end_ms <= max(start_ms, now_ms):
        what = "in the past" if start_ms < end_ms else "not after its start"
        raise click.UsageError(f"the end of the reservation lies {what}; give a later --end")
    return start_ms, end_ms


def _remove_reservation(client: PoolClient, name: str) -> None:
    """The manager says nothing of a reservation that is not there."""
    rows = client.ask("GET", "/v1/reservations")["reservations"]
    client.ask("DELETE", path("reservations", name))
    if name not in [row["id"] for row in rows]:
        raise OutboardError(
            f"there is no reservation {name} (outboard pool reservation shows all) name another"
        )
    click.echo(f"removed {name}")


COMMANDS = (quota, reservation, reserve)
