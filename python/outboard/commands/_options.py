"""Options that `run` and `env` share: the settings of the drop-in library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from outboard import values
from outboard.settings import ACCURACIES, MAX_STREAMS, MODES, NATIVE_PLANS, ROUTES

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def library_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --server, --mode and what else says how the library behaves."""
    for option in reversed([*_what_goes_out(), *_how_it_is_reached(), *_what_else()]):
        function = option(function)
    return function


def _what_goes_out() -> list[Option]:
    return [
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
    ]


def _how_it_is_reached() -> list[Option]:
    return [
        click.option(
            "--devices",
            metavar="N|all",
            type=values.Devices(),
            help="Devices that may work on one call; `run` starts its own daemon with so many.  "
            "[default: OUTBOARD_DEVICES, 1]",
        ),
        click.option(
            "--route",
            type=click.Choice(ROUTES),
            help="How devices that factor a matrix together reach each other: ring, from device to "
            "device; relay, through this machine.  [default: OUTBOARD_ROUTE, auto]",
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
    ]


def _what_else() -> list[Option]:
    return [
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
            "--verify",
            is_flag=True,
            help="Check the results of remote calls here; wrong ones are computed again locally.",
        ),
        click.option(
            "--profile",
            metavar="FOLDER|off",
            type=values.ProfileFolder(),
            help="Where `outboard tune` left its profiles, which mode auto decides by.  "
            "[default: OUTBOARD_PROFILE, ~/.local/state/outboard/profiles]",
        ),
        click.option(
            "--learn",
            is_flag=True,
            help="At the end, add what was measured to the profiles.",
        ),
        click.option(
            "--accuracy",
            type=click.Choice(ACCURACIES),
            help="How exact calls are to be on accelerators.  "
            "[default: OUTBOARD_ACCURACY, standard]",
        ),
        click.option(
            "--share",
            metavar="auto|off|PART",
            type=values.Share(),
            help="How much of a product the accelerator computes while the program's own library "
            "computes the rest.  [default: auto]",
        ),
        click.option("--quiet", is_flag=True, help="No line on stderr when a daemon is lost."),
    ]
