"""`outboard trace`: joins the trace files of several processes into one."""

from __future__ import annotations

from pathlib import Path

import click

from outboard import trace
from outboard.errors import OutboardError


@click.command("trace")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The joined file.  [default: FILE.json]",
)
@click.argument("file", type=click.Path(path_type=Path))
def command(output: Path | None, file: Path) -> None:
    """Join FILE.<pid>, written under `outboard env --trace FILE`, into one file for Perfetto.

    \b
    Examples:
      eval "$(outboard env --server node7:7770 --trace /tmp/calls)"
      ./batch.sh; outboard trace /tmp/calls -o calls.json
    """
    if not trace.pieces(file):
        raise OutboardError(f"there is no {file}.<pid> (no process wrote a trace); check the name")
    target = output or file.with_name(file.name + ".json")
    try:
        summary = trace.merge(file, target)
    except OSError as error:
        raise OutboardError(f"cannot write {target} ({error.strerror})") from error
    dropped = f", {summary.dropped} incomplete lines left out" if summary.dropped else ""
    click.echo(f"{summary.events} events of {summary.files} processes in {target}{dropped}")
