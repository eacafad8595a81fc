"""`outboard report`: shows the counters that programs kept in a folder."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from outboard.report import Report


@click.command("report")
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write JSON there."
)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def command(json_file: Path | None, folder: Path) -> None:
    """Show the counters that programs left in FOLDER, merged over all of them.

    \b
    Examples:
      eval "$(outboard env --server node7:7770 --report dir:counters)"
      ./batch.sh; outboard report counters
    """
    report = Report.read(folder)
    if json_file:
        report.write_json(json_file)
    else:
        report.print(sys.stdout)
