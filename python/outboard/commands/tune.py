"""`outboard tune`: measures links, devices and the local library for the decisions of mode auto."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from outboard import values


@dataclass(frozen=True)
class _Options:
    """The options of the command, under the names that click gives them."""

    server: tuple[str, ...] | None
    libraries: tuple[str, ...]
    profile: str | None
    quick: bool
    seconds: float | None
    json_file: Path | None
    show: bool
    forget: bool
    command: tuple[str, ...]

    def check(self) -> None:
        """Refuses options that exclude each other."""
        if self.forget and (self.show or self.command or self.libraries):
            raise click.UsageError("--forget only removes; leave the other options out")
        if self.libraries and self.command:
            raise click.UsageError("--library and COMMAND both say which library; leave one out")


@click.command("tune", context_settings={"allow_interspersed_args": False})
@click.option(
    "--server",
    type=values.Servers(),
    help="The daemons to measure.  [default: OUTBOARD_SERVER, RCPU_SERVER]",
)
@click.option(
    "--library",
    "libraries",
    multiple=True,
    metavar="PATH",
    help="The local library; may be repeated.  [default: the system's BLAS, LAPACK and FFTW]",
)
@click.option(
    "--profile",
    metavar="FOLDER",
    type=click.Path(file_okay=False, resolve_path=True),
    help="Where to leave the profiles.  [default: OUTBOARD_PROFILE, "
    "~/.local/state/outboard/profiles]",
)
@click.option("--quick", is_flag=True, help="Fewer routines and sizes, in about 25 s.")
@click.option(
    "--seconds",
    type=values.Seconds(1, values.LONGEST_S),
    help="The time for all of it.  [default: 110; with --quick 24]",
)
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write JSON there."
)
@click.option("--show", is_flag=True, help="Print the profiles; measure nothing.")
@click.option("--forget", is_flag=True, help="Remove the profiles of this host.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(**given: Any) -> None:
    """Measure the link to each daemon, its device, and the local library.

    Profiles keep the measurements, and mode auto decides by them from the first call on. With
    COMMAND, the libraries that COMMAND uses are measured. It runs for some seconds to find them.
    Without a daemon, only the local library is measured.

    \b
    Examples:
      outboard tune --server node7:7770
      outboard tune --quick --server a:7770,b:7770 -- octave --no-gui job.m
      outboard tune --library /opt/blis/lib/libblis.so.4
      outboard tune --show
    """
    from outboard import profile as profiles
    from outboard.tune import session

    options = _Options(**given)
    folder = profiles.folder_in_use(options.profile, os.environ)
    if folder is None:
        raise click.UsageError(
            "OUTBOARD_PROFILE is off (so there is no folder); name one: --profile"
        )
    options.check()
    if options.forget:
        count = profiles.forget(folder)
        click.echo(f"{count} profile{'' if count == 1 else 's'} removed from {folder}")
        return
    wanted = session.Wanted(
        options.server, options.libraries, folder, options.quick, options.seconds, options.command
    )
    if options.show:
        session.show(wanted, options.json_file)
    else:
        session.tune(wanted, options.json_file)
