"""The subcommands of `outboard pool` that ask a manager."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from outboard import values
from outboard.commands import _pool_tables as tables
from outboard.commands._pool_options import (
    Duration,
    connect,
    label_option,
    pool_time,
    priority_option,
)
from outboard.errors import OutboardError
from outboard.pool.columns import moment, printable

if TYPE_CHECKING:
    from outboard.pool.client import PoolClient

Function = Callable[..., Any]
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_DEADLINE = click.option(
    "--deadline",
    type=Duration(),
    default=0.0,
    metavar="TIME",
    help="Static holders leave then.  [default: when they end]",
)


def asking(function: Function) -> Function:
    """Adds --pool and --key; `function` gets the manager as its first argument."""

    @click.option(
        "--pool",
        "url",
        metavar="URL",
        help="The manager, or several: URL,URL.  [default: OUTBOARD_POOL]",
    )
    @click.option(
        "--key",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="FOLDER",
        help="A client's key.  [default: OUTBOARD_KEY]",
    )
    @functools.wraps(function)
    def with_manager(url: str | None, key: Path | None, **given: Any) -> Any:
        return function(connect(url, key), **given)

    return with_manager


def path(*parts: str) -> str:
    from outboard.pool.client import name_in_path

    return "/v1/" + "/".join(map(name_in_path, parts))


@click.command("status")
@asking
@JSON
def status(client: PoolClient, as_json: bool) -> None:
    """Show devices, leases and waiting requests.

    \b
    Examples:
      outboard status --pool http://127.0.0.1:7780
      outboard status --pool https://pool:7780 --key ~/keys/ada --json
    """
    rows = client.rows()
    if as_json:
        click.echo(json.dumps(rows._asdict(), indent=1))
        return
    tables.show(tables.devices(rows.present_devices()))
    if rows.leases:
        tables.show(tables.leases(rows.leases, rows.now_ms))
    if rows.queue:
        tables.show(tables.queue(rows.queue, rows.now_ms))


@click.command("page")
@asking
def page(client: PoolClient) -> None:
    """Print a link to the manager's page that works once within a minute.

    It opens the page in a browser without a certificate, for twelve hours. The browser sees what
    you may see, and changes nothing.

    \b
    Examples:
      xdg-open "$(outboard pool page --pool https://pool:7780 --key ~/keys/ada)"
    """
    if client.url.startswith("http://"):
        client.ask("GET", "/readyz")
        click.echo(f"{client.answering}/")
        return
    click.echo(client.ask("POST", "/v1/page-links")["url"])


@click.command("acquire")
@asking
@click.option("--id", "lease_id", help="The lease's id.  [default: random]")
@click.option("--for", "for_user", default="", metavar="USER", help="Batch: the job's user.")
@click.option("--count", type=click.IntRange(1, 1 << 14), default=1, show_default=True)
@click.option("--exclusive", is_flag=True, help="[the default]")
@click.option("--shared", type=click.FloatRange(0.001, 1), metavar="PART")
@click.option(
    "--memory",
    type=values.Size(),
    help="Memory of each shared one, e.g. 8G.  [default: PART of its memory]",
)
@click.option("--kind", default="", help="Only devices of this kind.")
@label_option
@priority_option
@click.option(
    "--until",
    metavar="TIME",
    help="End: 2026-12-01T09:00 in local time, +7d from now, or seconds since 1970. Without it "
    "the lease must be renewed.",
)
@click.option("--ttl", type=Duration(), default=120.0, help="Lease time without --until.")
@click.option("--wait/--no-wait", default=False, help="Wait until the devices are there.")
def acquire(
    client: PoolClient,
    lease_id: str | None,
    for_user: str,
    count: int,
    exclusive: bool,
    shared: float | None,
    memory: int | None,
    kind: str,
    labels: tuple[tuple[str, str], ...],
    priority: str | None,
    until: str | None,
    ttl: float,
    wait: bool,
) -> None:
    """Acquire devices, and print the lease as JSON. A repeated command has the effect of one.

    The status is 1 if there are no devices; without --wait nothing waits then.
    """
    from outboard.pool.client import new_id

    if exclusive and shared:
        raise click.UsageError("--exclusive and --shared exclude each other; give one of them")
    if memory and not shared:
        raise click.UsageError("--memory belongs to --shared; add --shared PART")
    body = {
        "count": count,
        "class": {"kind": kind, "labels": dict(labels)},
        "priority": priority or "normal",
        "exclusive": shared is None,
        "share": round((shared or 1) * 1000),
        "memory_bytes": memory or 0,
        "for_user": for_user,
        "static": True,
        "until_ms": pool_time(until, client.now_ms) if until else 0,
        "ttl_s": 0 if until else ttl,
    }
    lease = path("leases", lease_id or new_id())
    answer = _put(client, lease, body, relative=(until or "").startswith("+"))
    while wait and answer["state"] == "queued":
        answer = client.ask("GET", lease, query={"wait_s": 20}, wait_s=20)
    if answer["state"] == "queued":
        client.ask("DELETE", lease)
        raise OutboardError("no devices are free (others hold them) try later, or add --wait")
    click.echo(json.dumps(answer, indent=1))


def _put(client: PoolClient, lease: str, body: Any, relative: bool) -> Any:
    """A relative end differs each time: the lease of the first command is then the answer."""
    from outboard.pool.client import PoolError

    try:
        return client.ask("PUT", lease, body)
    except PoolError as error:
        if error.name != "other-body" or not relative:
            raise
        return client.ask("GET", lease)


@click.command("release")
@asking
@click.argument("leases", nargs=-1)
@click.option("--prefix", help="All leases whose ids begin so, e.g. slurm.cluster.4711.")
def release(client: PoolClient, leases: tuple[str, ...], prefix: str | None) -> None:
    """Give the devices of LEASES back."""
    if not leases and not prefix:
        raise click.UsageError("no lease is named; give ids, or --prefix")
    names = list(leases)
    if prefix:
        ids = [row["id"] for row in client.living_leases()]
        names += [name for name in ids if name.startswith(prefix)]
    for name in names:
        client.ask("DELETE", path("leases", name))
        click.echo(f"released {name}")


@click.group("reconcile")
def reconcile() -> None:
    """Give back leases of batch jobs that have ended without their epilog.

    A timer runs this each minute (docs/slurm.md, docs/gridengine.md).
    """


@reconcile.command("slurm")
@asking
@click.option("--dry-run", is_flag=True, help="Only say what would be released.")
def reconcile_slurm(client: PoolClient, dry_run: bool) -> None:
    """Compare the leases `slurm.CLUSTER.JOB.RESTARTS` with the jobs of the cluster here.

    \b
    Examples:
      outboard pool reconcile slurm --pool https://pool:7780 --key /etc/outboard/keys/slurm
      outboard pool reconcile slurm --dry-run
    """
    from outboard.pool.reconcile import dead_slurm_leases

    _release_dead(client, dead_slurm_leases(client), dry_run)


@reconcile.command("gridengine")
@asking
@click.option(
    "--cluster",
    envvar="OUTBOARD_CLUSTER",
    metavar="NAME",
    help="The cluster's name in the names of leases.  [default: OUTBOARD_CLUSTER]",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be released.")
def reconcile_gridengine(client: PoolClient, cluster: str | None, dry_run: bool) -> None:
    """Compare the leases `ge.CLUSTER.JOB.TASK.START` with the jobs of the Grid Engine here.

    \b
    Examples:
      outboard pool reconcile gridengine --cluster main --pool https://pool:7780
      outboard pool reconcile gridengine --cluster main --dry-run
    """
    from outboard.pool.reconcile import dead_gridengine_leases

    if not cluster:
        raise click.UsageError(
            "the cluster has no name here (leases of others must stay); give --cluster, with the "
            "OUTBOARD_CLUSTER of /etc/outboard/gridengine.env"
        )
    _release_dead(client, dead_gridengine_leases(client, cluster), dry_run)


def _release_dead(client: PoolClient, names: list[str], dry_run: bool) -> None:
    for name in names:
        if not dry_run:
            client.ask("DELETE", path("leases", name))
        click.echo(f"{'would release' if dry_run else 'released'} {name}")


@click.command("cordon")
@asking
@click.argument("daemon")
def cordon(client: PoolClient, daemon: str) -> None:
    """Grant nothing more on the devices of DAEMON."""
    _changed(client.ask("POST", path("daemons", daemon, "cordon")), "cordoned")


@click.command("uncordon")
@asking
@click.argument("daemon")
def uncordon(client: PoolClient, daemon: str) -> None:
    """Grant again on the devices of DAEMON."""
    _changed(client.ask("POST", path("daemons", daemon, "uncordon")), "opened")


@click.command("retire")
@asking
@click.argument("device")
def retire(client: PoolClient, device: str) -> None:
    """Forget DEVICE, which is gone for ever, and end its lease. No command undoes this."""
    _changed(client.ask("PATCH", path("devices", device), {"admin": "retired"}), "retired")


@click.command("clear")
@asking
@click.argument("device")
def clear(client: PoolClient, device: str) -> None:
    """Say that DEVICE, which was broken, is repaired."""
    _changed(client.ask("PATCH", path("devices", device), {"clear": True}), "cleared")


@click.command("drain")
@asking
@click.argument("daemon")
@_DEADLINE
@click.option(
    "--restart",
    is_flag=True,
    help="When all have left, DAEMON ends with status 4, and systemd starts it again. Its devices "
    "are open then.",
)
def drain(client: PoolClient, daemon: str, deadline: float, restart: bool) -> None:
    """Grant nothing more on the devices of DAEMON, and ask their holders to leave."""
    if restart:
        from outboard.pool.restarting import ask_to_restart

        ask_to_restart(client, daemon, deadline)
        click.echo(f"restarting {printable(daemon)}")
        return
    told = client.ask("POST", path("daemons", daemon, "drain"), {"deadline_s": deadline})
    _changed(told, "draining")


@click.command("restart")
@asking
@click.argument("daemons", nargs=-1, metavar="[DAEMON]...")
@click.option("--all", "everyone", is_flag=True, help="All daemons with an open device.")
@_DEADLINE
def restart(client: PoolClient, daemons: tuple[str, ...], everyone: bool, deadline: float) -> None:
    """Restart daemons, for example with a new version, and let no program fail by it.

    At most a tenth of the devices are away at once, but always those of one daemon. Ends when all
    daemons are back. If it is interrupted, the daemons that it has asked restart all the same.

    \b
    Examples:
      outboard pool restart node7
      outboard pool restart --all --deadline 1h
    """
    if bool(daemons) == everyone:
        raise click.UsageError("name the daemons to restart, or give --all")
    from outboard.pool.restarting import restart_all

    restart_all(client, daemons, deadline, click.echo)


def _changed(told: Any, what: str) -> None:
    for device in told["changed"]:
        click.echo(f"{what} {printable(device)}")


@click.command("why")
@asking
@click.argument("device")
def why(client: PoolClient, device: str) -> None:
    """Say in what state DEVICE is, and why it cannot be granted."""
    row = client.ask("GET", path("devices", device))
    click.echo(f"{device}: {row['health']}, {row['allocation']}, {row['admin']}")
    reason = row["why"] or "it can be granted"
    click.echo(f"  {'it is held' if reason == 'held' else printable(reason)}")
    for holder, lease in zip(row["holders"], row["leases"], strict=True):
        click.echo(f"  lease {lease} of {printable(holder)}")


@click.command("usage")
@asking
@click.option(
    "--by",
    type=click.Choice(("user", "group", "job", "lease")),
    default="user",
    help="What is summed; job: of a batch system.  [default: user]",
)
@click.option("--since", metavar="DATE", help="E.g. 2026-11-01.  [default: the beginning]")
@click.option("--format", "form", type=click.Choice(("table", "csv", "json")), default="table")
def usage(client: PoolClient, by: str, since: str | None, form: str) -> None:
    """Show how long devices were held and computed, and the data that they got and gave.

    A part of a shared device is held as that part. With --since, computation and data are those of
    all devices that were held since then, from the beginning. CSV and JSON give seconds and bytes,
    and for jobs the cluster and the number that sacct gives.

    \b
    Examples:
      outboard pool usage --since 2026-11-01 --by group
      outboard pool usage --since 2026-11-01 --by job --format csv
    """
    since_ms = _day_ms(since) if since else 0
    if form == "csv":
        _, raw = client.raw("GET", f"/v1/usage?by={by}&since_ms={since_ms}&format=csv")
        sys.stdout.write(raw.decode())
        return
    told = client.ask("GET", "/v1/usage", query={"by": by, "since_ms": since_ms})
    if form == "json":
        click.echo(json.dumps(told, indent=1))
        return
    headings = ("leases", "device-hours", "computing", "waiting", "GB in", "GB out")
    rows = tables.table("Usage", by, *headings)
    for row in told["rows"]:
        hours = [f"{row[name] / 3600:.3f}" for name in ("device_s", "compute_s", "waited_s")]
        data = [f"{row[name] / 1e9:.3f}" for name in ("bytes_in", "bytes_out")]
        tables.add(rows, row["name"] or f"(no {by})", row["leases"], *hours, *data)
    tables.show(rows)


def _day_ms(text: str) -> int:
    try:
        return int(time.mktime(time.strptime(text, "%Y-%m-%d"))) * 1000
    except ValueError as error:
        raise click.UsageError(f"'{text}' is no date; write 2026-11-01") from error


@click.command("audit")
@asking
@click.option("--follow", is_flag=True, help="Go on, until Ctrl-C.")
@JSON
def audit(client: PoolClient, follow: bool, as_json: bool) -> None:
    """Show the acts on record: grants, ends, and what administrators did.

    With --follow it goes on while the manager is away, for example for a restart, and leaves
    nothing out.

    \b
    Examples:
      outboard pool audit --pool unix:/run/outboard/pool.sock
      outboard pool audit --follow --json
    """
    after, answered = "0", False
    while True:
        wait_s = 20 if follow else 0
        query = {"after": after, "wait_s": wait_s}
        page = _audit_page(client, query, wait_s, follow and answered)
        answered = True
        for row in page["records"]:
            after = str(row["rev"])
            if as_json:
                click.echo(json.dumps(row))
                continue
            words = (row["actor"], row["verb"], row["object"], row["detail"])
            line = f"{moment(row['at_ms'])}  {row['rev']}  {'  '.join(words)}"
            click.echo(printable(line))
        if not page["next"] and not follow:
            return


def _audit_page(client: PoolClient, query: dict[str, Any], wait_s: int, patient: bool) -> Any:
    """Returns records. `patient`: waits until the manager is there again."""
    from outboard.pool.client import PoolError, UnreachableError, passes

    told = False
    while True:
        try:
            return client.ask("GET", "/v1/audit", query=query, wait_s=wait_s)
        except (PoolError, UnreachableError) as error:
            if not (patient and passes(error)):
                raise
            if not told:
                click.echo(f"outboard: {error}; waiting for the manager", err=True)
            told = True
            time.sleep(1)


@click.command("ban")
@asking
@click.argument("user")
@click.option("--reason", default="", help="The user reads it.")
@click.option("--end", is_flag=True, help="End the ban.")
def ban(client: PoolClient, user: str, reason: str, end: bool) -> None:
    """End all leases of USER, who gets no others. A plain name is that of a certificate."""
    if end:
        client.ask("DELETE", path("bans", user))
        click.echo(f"{user} gets leases again")
    else:
        client.ask("PUT", path("bans", user), {"reason": reason})
        click.echo(f"{user} gets no leases any more")


@click.command("backup")
@asking
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def backup(client: PoolClient, file: Path) -> None:
    """Write a copy of the manager's state to FILE, while it runs."""
    import os

    status_code, raw = client.raw("GET", "/v1/backup")
    if status_code != 200:
        client.ask("GET", "/v1/backup")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)
            os.fsync(stream.fileno())
    except OSError as error:
        raise OutboardError(f"cannot write {file} ({error.strerror}); choose another") from error
    click.echo(f"wrote {len(raw)} bytes to {file}")


COMMANDS = (
    status, page, acquire, release, reconcile, cordon, uncordon, retire, clear, drain, restart, why,
    usage, audit, ban, backup,
)  # fmt: skip
