"""`outboard env`: prints the settings as export lines."""

from __future__ import annotations

import os
import shlex

import click

from outboard import paths
from outboard.commands._options import library_options
from outboard.errors import OutboardError
from outboard.settings import Settings


@click.command("env")
@library_options
@click.option(
    "--report",
    metavar="stderr|dir:PATH",
    help="stderr: each process prints its counters at exit; dir:PATH: it keeps them in PATH, "
    "for `outboard report PATH`.",
)
@click.option("--trace", metavar="FILE", help="Each process writes FILE.<pid>; see `trace`.")
def command(
    settings: Settings,
    report: str | None,
    trace: str | None,
) -> None:
    """Print the settings of `outboard run` as export lines, for scripts that start programs
    themselves. No daemon is started.

    \b
    Examples:
      eval "$(outboard env --server node7:7770 --mode remote)"
      eval "$(outboard env --server a:7770,b:7770 --report dir:/tmp/counters)"
    """
    settings = settings.replaced(
        report=_report_target(report), trace=os.path.abspath(trace) if trace else None
    )
    native = paths.require_native()
    for name, value in settings.variables(native.preload, os.environ).items():
        click.echo(f"export {name}={shlex.quote(value)}")


def _report_target(report: str | None) -> str | None:
    if report is None or report == "stderr":
        return report
    kind, _, path = report.partition(":")
    if kind != "dir" or not path:
        raise click.BadParameter(
            f"'{report}' is no place for a report; write stderr or dir:PATH",
            param_hint="--report",
        )
    folder = os.path.abspath(path)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise OutboardError(f"cannot make the folder {folder} ({error.strerror})") from error
    return f"dir:{folder}"
