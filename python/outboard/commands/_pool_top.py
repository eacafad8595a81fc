"""`outboard top`: a live view of a pool."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from outboard.commands._pool_asking import asking
from outboard.commands._pool_options import Duration
from outboard.errors import OutboardError

if TYPE_CHECKING:
    from outboard.pool.client import PoolClient


@click.command("top")
@asking
@click.option(
    "--interval",
    type=Duration(),
    default=2.0,
    metavar="TIME",
    help="Ask so often for what changes without a commit: ends of leases, memory.  [default: 2s]",
)
def top(client: PoolClient, interval: float) -> None:
    """Watch devices, leases and waiting requests, live. The key ? shows the others.

    \b
    Examples:
      outboard top --pool http://127.0.0.1:7780
      outboard top --pool https://pool:7780 --key ~/keys/ada
    """
    if not 0.1 <= interval <= 3600:
        raise click.UsageError(f"--interval {interval:g}s is not from 0.1s to 1h; write 2s")
    _check_terminal()
    try:
        from outboard.pool.top.app import PoolTop
        from outboard.pool.top.feed import read
    except ImportError as error:
        raise OutboardError(
            f"`outboard top` needs a package that is missing ({error.name}) run: pip install "
            "'outboard[top]'"
        ) from error
    first = read(client)  # without a manager, one line is clearer than an empty screen
    view = PoolTop(client, first, interval)
    view.run()
    if view.return_code:
        sys.exit(view.return_code)


def _check_terminal() -> None:
    instead = "use `outboard pool status`, with --json for programs"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise OutboardError(f"`outboard top` needs a terminal (this is a file or a pipe) {instead}")
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise OutboardError(f"`outboard top` cannot move in this terminal (TERM says so) {instead}")
