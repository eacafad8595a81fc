"""`outboard doctor`: finds faults of an installation, their reasons, and remedies."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from outboard import addresses, settings_table, values
from outboard.errors import OutboardError


@click.command("doctor", context_settings={"allow_interspersed_args": False})
@click.option(
    "--server",
    type=values.Servers(),
    help="Daemons to ask: HOST:PORT or unix:PATH.  [default: OUTBOARD_SERVER, RCPU_SERVER]",
)
@click.option(
    "--key",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="OUTBOARD_KEY",
    help="Folder with this side's key.  [default: OUTBOARD_KEY]",
)
@click.option(
    "--seconds",
    type=values.Seconds(0.1, values.LONGEST_S),
    default=10.0,
    show_default=True,
    help="Stop COMMAND after this time.",
)
@click.option("--pool", metavar="URL", envvar="OUTBOARD_POOL", help="The manager of a pool.")
@click.option("--measure", is_flag=True, help="Time OpenBLAS; takes some seconds of all cores.")
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write JSON there."
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(
    server: tuple[str, ...] | None,
    key: Path | None,
    seconds: float,
    pool: str | None,
    measure: bool,
    json_file: Path | None,
    command: tuple[str, ...],
) -> None:
    """Check this installation, the daemons, the pool, and whether COMMAND's calls are caught.

    COMMAND runs for --seconds at most, without input. Its output is discarded, and its calls stay
    local. The status is 0 if nothing is wrong, and 1 otherwise.

    \b
    Examples:
      outboard doctor
      outboard doctor --server node7:7770 --key ~/keys/ada
      outboard doctor --pool https://pool:7780 --key ~/keys/ada
      outboard doctor --seconds 30 -- octave --no-gui job.m
    """
    try:
        from outboard.doctor import examine, show
    except ModuleNotFoundError as error:
        raise OutboardError(
            f"`outboard doctor` needs {error.name} (it is not installed); "
            "pip install 'outboard[doctor]'"
        ) from error
    groups = examine.all_groups(
        examine.Wanted(command, _servers(server), key, seconds, measure, pool or ""),
        dict(os.environ),
    )
    show.print_table(groups, sys.stdout)
    if json_file:
        try:
            show.write_json(groups, json_file)
        except OSError as error:
            raise OutboardError(f"cannot write {json_file} ({error.strerror})") from error
    sys.exit(1 if show.problems(groups) else 0)


def _servers(given: tuple[str, ...] | None) -> tuple[str, ...]:
    """Returns the servers of the option, or else of a variable. Another check reports wrong
    addresses."""
    texts = (os.environ.get(name) for name in settings_table.row("servers").variables)
    named = next((text for text in texts if text), "")
    if given or not named:
        return given or ()
    try:
        return addresses.check_servers(named)
    except ValueError:
        return ()
