"""`outboard key`: makes, shows and revokes a pool's certificates."""

from __future__ import annotations

import datetime
import getpass
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from outboard.errors import OutboardError

if TYPE_CHECKING:
    from outboard.keys import Member

_POOL_DAYS = 3650
_MEMBER_DAYS = 825
_ROLES = ("client", "daemon", "manager")
_TABLE_WIDTH = 200  # for pipes and files: no line is cut
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


_role = click.argument("role", type=click.Choice(_ROLES))
_pool = click.option("--pool", required=True, type=_FOLDER, help="The folder that `key init` made.")
_to = click.option("--to", required=True, type=_FOLDER, help="Folder for the member's key.")


@click.group("key")
def command() -> None:
    """Make the certificates by which a pool's daemons and clients recognize each other.

    With a key, a daemon may listen on any address. Connections use TLS 1.3, and each side proves
    to the other that it belongs to the pool.

    \b
    Examples:
      outboard key init ~/pool                      a new pool, its first daemon and client
      outboard key add daemon node7 --pool ~/pool --to ~/keys/node7
      outboard key add client ada --pool ~/pool --to ~/keys/ada
      outboard key add manager m1 --host pool.example.org --pool ~/pool --to ~/keys/m1
      outboard serve --key ~/keys/node7 --listen 0.0.0.0:7770
      outboard run --key ~/keys/ada --server node7:7770 octave job.m
      outboard key list ~/pool
      outboard key revoke ada --pool ~/pool
    """


@command.command("init")
@click.argument("folder", type=_FOLDER)
@click.option("--name", default=None, help="Of the first daemon and client.  [default: USER@HOST]")
@_days
def init(folder: Path, name: str | None, days: int) -> None:
    """Make a pool in FOLDER, with a key for one daemon and one client.

    Keep FOLDER in a safe place: anybody who has its pool.key can make members. Give machines and
    people folders of their own, with `outboard key add`, or with `outboard key export` for the
    first daemon and client.
    """
    from outboard import keys, members

    if (folder / "pool.pem").exists() or (folder / "pool.key").exists():
        raise OutboardError(f"{folder} holds a pool already; choose another folder")
    who = name or _default_name()
    pool = keys.make_pool(f"Outboard pool of {who}"[:64], _POOL_DAYS)
    keys.write(folder, keys.POOL, pool)
    for role in (keys.DAEMON, keys.CLIENT):
        member = keys.make_member(pool, role, who, days)
        keys.write(folder, role, member)
        members.record(folder, role, member.certificate)
    click.echo(f"made a pool in {folder}; {folder / 'pool.key'} is its secret")


@command.command("add")
@_role
@click.argument("name")
@_pool
@_to
@_days
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Manager: a DNS name or IP address under which it is reached, for browsers.",
)
@click.option(
    "--managed",
    is_flag=True,
    help="Daemon: the key also proves it to a manager (outboard pool serve). Earlier daemons "
    "take it for a client's.",
)
@click.option(
    "--kernels",
    type=click.Choice(["portable", "native"]),
    help="Client: it may run kernels of its own on devices: portable ones, or all (native).",
)
def add(
    role: str,
    name: str,
    pool: Path,
    to: Path,
    days: int,
    hosts: tuple[str, ...],
    managed: bool,
    kernels: str | None,
) -> None:
    """Make a key for another client or daemon, or for the manager of the pool. The daemon's log
    shows its NAME."""
    from outboard import keys, members

    if hosts and role != keys.MANAGER:
        raise click.UsageError("--host is for a manager; leave it out")
    if managed and role != keys.DAEMON:
        raise click.UsageError("--managed is for a daemon; leave it out")
    if kernels is not None and role != keys.CLIENT:
        raise click.UsageError("--kernels is for a client; leave it out")
    root = keys.read_pool(pool)
    member = keys.make_member(root, role, name, days, hosts=hosts, managed=managed, kernels=kernels)
    _write_member(pool, to, role, member)
    members.record(pool, role, member.certificate)
    click.echo(f"made a key for {role} {name} in {to}")


def _write_member(pool: Path, to: Path, role: str, member: Member) -> None:
    """Writes a member's own folder: its key, the pool's certificate, and the pool's list."""
    from outboard import keys, members

    root = keys.read_certificate(pool, keys.POOL)
    has_pool = (to / "pool.pem").exists()
    if has_pool and keys.read_certificate(to, keys.POOL) != root:
        raise OutboardError(f"{to} belongs to another pool; choose another folder")
    keys.write(to, role, member)
    if not has_pool:
        keys.write_certificate(to, keys.POOL, root)
    if to.resolve() != pool.resolve():
        members.copy_list(pool, to)


@command.command("export")
@click.argument("role", type=click.Choice(("client", "daemon")))
@_pool
@_to
def export(role: str, pool: Path, to: Path) -> None:
    """Write the folder of the daemon or client that `key init` made, without the pool's secret."""
    from outboard import keys

    _write_member(pool, to, role, keys.read_member(pool, role))
    click.echo(f"copied the key of the {role} to {to}")


@command.command("revoke")
@click.argument("who", nargs=-1, required=True)
@_pool
@click.option("--role", type=click.Choice(_ROLES), help="If members of several have this name.")
def revoke(who: tuple[str, ...], pool: Path, role: str | None) -> None:
    """Revoke WHO: daemons that get the new list refuse them, and end their connections.

    WHO is a name (all certificates of this name), a serial number or a fingerprint (`outboard key
    list`), or a certificate file. Copy pool.crl to the folders of all daemons, and to clients if
    WHO is a daemon; running daemons notice it.
    """
    from outboard import keys, members

    root = keys.read_pool(pool)
    before = members.read_list(pool)
    known = members.revoked_serials(before)
    serials = []
    for one in (found for name in who for found in members.find(root, pool, name, role)):
        serial = one if isinstance(one, int) else one.serial
        title = "" if isinstance(one, int) else f"{one.role} {one.name}, "
        if serial in known or serial in serials:
            click.echo(f"{title}serial number {serial:x} was revoked before")
        else:
            serials.append(serial)
            click.echo(f"revoked {title}serial number {serial:x}")
    if serials:
        members.write_list(pool, members.revoke(root, before, serials))
        click.echo(f"copy {pool / members.LIST} to the key folder of each daemon")


@command.command("list")
@click.argument("pool", type=_FOLDER)
def show_members(pool: Path) -> None:
    """Show the members of the pool in POOL, and those that are revoked."""
    from outboard import keys, members

    keys.read_certificate(pool, keys.POOL)
    revoked = members.revoked_serials(members.read_list(pool))
    now = datetime.datetime.now(datetime.UTC)
    table = Table("role", "name", "serial number", "valid until", "", box=None)
    known = members.recorded(pool)
    for one in known:
        until = one.certificate.not_valid_after_utc
        remark = "expired" if until < now else ""
        if one.serial in revoked:
            remark = f"revoked {revoked[one.serial]:%Y-%m-%d}"
        table.add_row(one.role, one.name, f"{one.serial:x}", f"{until:%Y-%m-%d}", remark)
    for serial in sorted(revoked.keys() - {one.serial for one in known}):
        table.add_row("", "", f"{serial:x}", "", f"revoked {revoked[serial]:%Y-%m-%d}")
    Console(width=None if sys.stdout.isatty() else _TABLE_WIDTH).print(table)


@command.command("show")
@click.argument("folder", type=_FOLDER)
def show(folder: Path) -> None:
    """Show the owner of the key in FOLDER, and the end of its validity."""
    from cryptography.x509.oid import NameOID

    from outboard import keys, members

    revoked = members.revoked_serials(members.read_list(folder))
    table = Table("file", "name", "valid until", "", box=None)
    now = datetime.datetime.now(datetime.UTC)
    found = [role for role in ("pool", *_ROLES) if (folder / f"{role}.pem").exists()]
    if not found:
        raise OutboardError(f"{folder} holds no key; `outboard key init` makes one")
    for role in found:
        certificate = keys.read_certificate(folder, role)
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        until = certificate.not_valid_after_utc
        remark = "expired" if until < now else ""
        remark = "revoked" if certificate.serial_number in revoked else remark
        table.add_row(f"{role}.pem", str(names[0].value), f"{until:%Y-%m-%d}", remark)
    Console().print(table)
