"""`outboard key`: makes and shows a pool's certificates."""

from __future__ import annotations

import datetime
import getpass
import socket
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from outboard.errors import OutboardError

_POOL_DAYS = 3650
_MEMBER_DAYS = 825
_FOLDER = click.Path(file_okay=False, path_type=Path)


def _default_name() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"[:64]


_days = click.option(
    "--days",
    type=click.IntRange(1, _POOL_DAYS),
    default=_MEMBER_DAYS,
    show_default=True,
    help="How long the certificates of members are valid.",
)


@click.group("key")
def command() -> None:
    """Make the certificates by which a pool's daemons and clients recognize each other.

    With a key, a daemon may listen on any address. Connections use TLS 1.3, and each side proves
    to the other that it belongs to the pool.

    \b
    Examples:
      outboard key init ~/pool                      a new pool, its first daemon and client
      outboard key add client ada --pool ~/pool --to ~/keys/ada
      outboard serve --key ~/pool --listen 0.0.0.0:7770
      outboard run --key ~/keys/ada --server node7:7770 octave job.m
      outboard key show ~/keys/ada
    """


@command.command("init")
@click.argument("folder", type=_FOLDER)
@click.option("--name", default=None, help="Of the first daemon and client.  [default: USER@HOST]")
@_days
def init(folder: Path, name: str | None, days: int) -> None:
    """Make a pool in FOLDER, with a key for one daemon and one client.

    Copy pool.pem, daemon.pem and daemon.key to where daemons run, or make more members with
    `outboard key add`. Keep pool.key in a safe place: anybody who has it can make
    members.
    """
    from outboard import keys

    if (folder / "pool.pem").exists() or (folder / "pool.key").exists():
        raise OutboardError(f"{folder} holds a pool already; choose another folder")
    who = name or _default_name()
    pool = keys.make_pool(f"Outboard pool of {who}"[:64], _POOL_DAYS)
    keys.write(folder, keys.POOL, pool)
    for role in (keys.DAEMON, keys.CLIENT):
        keys.write(folder, role, keys.make_member(pool, role, who, days))
    click.echo(f"made a pool in {folder}; {folder / 'pool.key'} is its secret")


@command.command("add")
@click.argument("role", type=click.Choice(("client", "daemon")))
@click.argument("name")
@click.option("--pool", required=True, type=_FOLDER, help="The folder that `key init` made.")
@click.option("--to", required=True, type=_FOLDER, help="Folder for the new member's key.")
@_days
def add(role: str, name: str, pool: Path, to: Path, days: int) -> None:
    """Make a key for another client or daemon of the pool. The daemon's log shows its NAME."""
    from outboard import keys

    root = keys.read_pool(pool)
    has_pool = (to / "pool.pem").exists()
    if has_pool and keys.read_certificate(to, keys.POOL) != root.certificate:
        raise OutboardError(f"{to} belongs to another pool; choose another folder")
    keys.write(to, role, keys.make_member(root, role, name, days))
    if not has_pool:
        keys.write_certificate(to, keys.POOL, root.certificate)
    click.echo(f"made a key for {role} {name} in {to}")


@command.command("show")
@click.argument("folder", type=_FOLDER)
def show(folder: Path) -> None:
    """Show the owner of the key in FOLDER, and the end of its validity."""
    from cryptography.x509.oid import NameOID

    from outboard import keys

    table = Table("file", "name", "valid until", "", box=None)
    now = datetime.datetime.now(datetime.UTC)
    found = [role for role in ("pool", "daemon", "client") if (folder / f"{role}.pem").exists()]
    if not found:
        raise OutboardError(f"{folder} holds no key; `outboard key init` makes one")
    for role in found:
        certificate = keys.read_certificate(folder, role)
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        until = certificate.not_valid_after_utc
        remark = "expired" if until < now else ""
        table.add_row(f"{role}.pem", str(names[0].value), f"{until:%Y-%m-%d}", remark)
    Console().print(table)
