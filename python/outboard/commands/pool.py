"""`outboard pool`: runs the manager of a pool, and asks it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import click

from outboard import values
from outboard.commands import _pool_asking, _pool_limits, _pool_top
from outboard.errors import OutboardError

_INSTALL = "run: pip install 'outboard[pool]'"
_FOLDER = click.Path(file_okay=False, path_type=Path)
_HTTPS_ORIGIN = re.compile(r"https://([\w.-]+|\[[\da-fA-F:.]+\])(:[1-9]\d{0,4})?/?")


@click.group("pool")
def command() -> None:
    """Give accelerators in the network to programs and users, and take them back.

    \b
    Examples:
      outboard pool serve                                    a manager for this machine
      outboard pool serve --key ~/keys/m1 --listen 0.0.0.0:7780
      outboard pool status --pool http://127.0.0.1:7780
    """


@command.command("serve")
@click.option(
    "--listen",
    multiple=True,
    type=values.ListenAddress(),
    help="HOST:PORT, [IPv6]:PORT or unix:PATH; may be given more than once; port 0 picks a free "
    "one.  [default: 127.0.0.1:7780]",
)
@click.option(
    "--key",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="The manager's key (outboard key add manager): only members of its pool may connect.",
)
@click.option(
    "--state",
    type=str,
    help="Folder of the state and of the keys that sign tokens; etcd://HOST:PORT,HOST:PORT,... for "
    "several managers of one pool; or memory: for trials.  [default: "
    "~/.local/state/outboard/pool]",
)
@click.option(
    "--signing-keys",
    type=_FOLDER,
    help="With etcd: folder of this manager's keys that sign tokens.  [default: "
    "~/.local/state/outboard/pool]",
)
@click.option(
    "--etcd-tls",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="With etcd: ca.pem of its members, and client.pem and client.key for this manager if etcd "
    "asks for certificates.",
)
@click.option(
    "--url",
    help="With etcd: where clients reach this manager; the others tell them.  [default: the first "
    "--listen on the network]",
)
@click.option(
    "--page",
    type=values.ListenAddress(),
    help="With --key: HOST:PORT where browsers without a certificate get the page, and nothing "
    "else, after a login (outboard pool page).",
)
@click.option(
    "--page-url",
    metavar="https://HOST[:PORT]",
    help="With --page: what browsers call that address, if it is behind a proxy or another name.  "
    "[default: this host and the port of --page]",
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="pool.toml: roles, groups and names of users.",
)
@click.option(
    "--history",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="For tests: append all commands, answers and commits to FILE, which "
    "tests/cluster/check_history.py checks.",
)
@click.option(
    "--log", "form", type=click.Choice(("text", "json")), default="text", help="[default: text]"
)
@click.option(
    "--log-level", type=click.Choice(("debug", "info", "warning", "error")), default="info"
)
def serve(
    listen: tuple[str, ...],
    key: Path | None,
    state: str | None,
    signing_keys: Path | None,
    etcd_tls: Path | None,
    url: str | None,
    page: str | None,
    page_url: str | None,
    config: Path | None,
    history: Path | None,
    form: str,
    log_level: str,
) -> None:
    """Run the manager of a pool in the foreground.

    It prints `listening on URL` when it is ready, and ends after SIGTERM with status 0. Status 4
    means that the state could not be stored; start it again when the store has been repaired.
    Without a key it serves this machine only.

    With --state etcd://..., several managers run beside each other: one of them leads, and the
    others take its place when it is gone. One that loses its place ends with status 5; a
    supervisor starts it again. Commands, programs and daemons name all of them: --pool URL,URL.

    \b
    Examples:
      outboard pool serve
      outboard pool serve --listen unix:/run/outboard/pool.sock --listen 127.0.0.1:7780
      outboard pool serve --key ~/keys/m1 --listen 0.0.0.0:7780 --config /etc/outboard/pool.toml
      outboard pool serve --key ~/keys/m1 --listen 0.0.0.0:7780 --state etcd://e1,e2,e3
    --etcd-tls ~/keys/etcd
    """
    try:
        from outboard.pool.serve import log, server
        from outboard.pool.serve.settings import read_settings
        from outboard.pool.store.etcd_gateway import EtcdAddress
    except ImportError as error:
        raise OutboardError(
            f"the manager needs a package that is missing ({error.name}) {_INSTALL}"
        ) from error
    from outboard.version import version

    if page and page.startswith("unix:"):
        raise click.UsageError("--page is for browsers in the network; give HOST:PORT")
    if page_url and not page:
        raise click.UsageError("--page-url names the address of --page; add --page HOST:PORT")
    if page_url and not _HTTPS_ORIGIN.fullmatch(page_url):
        raise click.UsageError("--page-url is https://HOST or https://HOST:PORT, without a path")
    log.set_up(form, log_level)
    etcd = None
    if state is not None and state.startswith("etcd://"):
        etcd = EtcdAddress.parse(state, etcd_tls)
    elif signing_keys or etcd_tls or url:
        raise click.UsageError(
            "--signing-keys, --etcd-tls and --url belong to several managers (the state is not in "
            "etcd); add --state etcd://HOST:PORT"
        )
    options = server.Options(
        listen or ("127.0.0.1:7780",),
        key,
        (signing_keys or _state_folder(None)) if etcd else _state_folder(state),
        read_settings(config),
        version(),
        etcd=etcd,
        url=url or "",
        page=page or "",
        page_url=(page_url or "").rstrip("/"),
        history=history,
    )
    sys.exit(server.serve(options))


@command.command("restore")
@click.argument("backup", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--state", type=str, help="As of `outboard pool serve`.")
@click.option(
    "--etcd-tls",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="As of `outboard pool serve`.",
)
def restore(backup: Path, state: str | None, etcd_tls: Path | None) -> None:
    """Make BACKUP the state of a manager that is not running, in a folder or in etcd.

    Leases that were acquired after the backup are lost: daemons end them. No device is given to
    two holders, because all epochs rise.
    """
    try:
        from outboard.pool.store.base import StoreError
        from outboard.pool.store.etcd_gateway import EtcdAddress
        from outboard.pool.store.restore import restore as restore_store
        from outboard.pool.store.restore import restore_into_etcd
    except ImportError as error:
        raise OutboardError(f"a package is missing ({error.name}) {_INSTALL}") from error
    if state is not None and state.startswith("etcd:"):
        address = EtcdAddress.parse(state, etcd_tls)
        try:
            leases = restore_into_etcd(backup, address)
        except StoreError as error:
            raise OutboardError(str(error)) from error
        click.echo(f"restored {state} with {leases} held leases; start the managers now")
        return
    if etcd_tls:
        raise click.UsageError("--etcd-tls is for etcd (the state is in a folder) leave it out")
    folder = _state_folder(state)
    if folder is None:
        raise click.UsageError("a backup is not restored into memory; give a folder or etcd://")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        leases = restore_store(backup, folder / "pool.db")
    except OSError as error:
        raise OutboardError(f"cannot make {folder} ({error.strerror})") from error
    except StoreError as error:
        raise OutboardError(str(error)) from error
    click.echo(f"restored {folder / 'pool.db'} with {leases} held leases; start the manager now")


for _asking in (*_pool_asking.COMMANDS, *_pool_limits.COMMANDS, _pool_top.top):
    command.add_command(_asking)


def _state_folder(given: str | None) -> Path | None:
    if given == "memory:":
        return None
    if given:
        return Path(given)
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "outboard" / "pool"
