"""Options that `run` and `env` share: the settings of the drop-in library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from outboard import values
from outboard.settings import MAX_STREAMS, MODES, NATIVE_PLANS


def library_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --server, --mode and what else says how the library behaves."""
    options = [
        click.option(
            "--server",
            type=values.Servers(),
            help="Daemons to use, in this order: HOST:PORT, unix:PATH or "
            "ucx:HOST:PORT. "
            "[default: OUTBOARD_SERVER, RCPU_SERVER]",
        ),
        click.option(
            "--mode",
            type=click.Choice(MODES),
            help="auto: what pays; remote: every supported call; trace: count only; "
            "off: pass through.  [default: OUTBOARD_MODE, auto]",
        ),
        click.option(
            "--routines",
            metavar="LIST",
            help="Routines that may go out, for example dgemm,fftw*,-zgemm (- denies).",
        ),
        click.option(
            "--native-plan",
            type=click.Choice(NATIVE_PLANS),
            help="FFTW's own plan behind one that goes out: made with ESTIMATE, or as asked.",
        ),
        click.option(
            "--resident",
            metavar="SIZE",
            type=values.ResidentSize(),
            help="Device memory for operands that stay there between calls: auto, off, 512M, 4GiB.",
        ),
        click.option(
            "--track-pages",
            is_flag=True,
            help="Believe the kernel which operands nobody wrote: not for memory that is written "
            "by RDMA, DMA or through a second mapping.",
        ),
        click.option(
            "--streams",
            type=click.IntRange(1, MAX_STREAMS),
            help="TCP streams of a connection, for links that one does not fill.  [default: 1]",
        ),
        click.option(
            "--key",
            metavar="FOLDER",
            type=click.Path(exists=True, file_okay=False, resolve_path=True),
            help="This client's key (outboard key), for daemons on other machines.  "
            "[default: OUTBOARD_KEY]",
        ),
        click.option(
            "--plain",
            is_flag=True,
            help="With a key: unencrypted data to daemons with --plain, on networks that nobody "
            "else can listen or write to.",
        ),
        click.option(
            "--verify",
            is_flag=True,
            help="Check the results of remote calls here; wrong ones are computed again locally.",
        ),
        click.option("--quiet", is_flag=True, help="No line on stderr when a daemon is lost."),
    ]
    for option in reversed(options):
        function = option(function)
    return function
