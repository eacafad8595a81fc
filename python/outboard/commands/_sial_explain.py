"""`outboard sial explain`: says what a job will do before it runs."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import click

from outboard import values
from outboard.errors import OutboardError

PLACEMENTS = ("cyclic", "skewed", "hash", "bytes")  # of blocks on servers
PLACES = ("auto", "host", "device", "hints")  # of contractions
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("explain")
@click.argument("job", type=_FILE)
@click.option("-n", "ranks", type=click.IntRange(1), default=1, help="Ranks.  [default: 1]")
@click.option("--workers", type=click.IntRange(1), help="Workers.  [default: all but the servers]")
@click.option("--servers", type=click.IntRange(1), help="Block servers.  [default: a third]")
@click.option("--schedule", type=click.Choice(("static", "balanced")), help="[default: balanced]")
@click.option("--placement", type=click.Choice(PLACEMENTS), help="[default: cyclic]")
@click.option("--worker-memory", metavar="SIZE", help="Most memory of a worker's blocks.")
@click.option("--server-memory", metavar="SIZE", help="Most memory of a server's blocks.")
@click.option("--drop-cache", is_flag=True, help="Fetched blocks do not stay over a barrier.")
@click.option("--device", "devices", multiple=True, metavar="ADDRESS", help="As in a run.")
@click.option("--place", type=click.Choice(PLACES), help="Where contractions run.  [default: auto]")
@click.option("--rounds", type=click.IntRange(1), help="Iterations of loops that `exit` leaves.")
@click.option("--line", metavar="[FILE:]LINE", help="Say why for one line of a program.")
@click.option("--measure", is_flag=True, help="Compute for a second, to know how long lines take.")
@click.option("--from", "report", type=_FILE, help="Take times from the report of an earlier run.")
@click.option("--state", type=click.Path(path_type=Path), help="Folder of saved objects.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--path", "folders", multiple=True, type=click.Path(path_type=Path), metavar="FOLDER")
def explain(
    job: Path,
    ranks: int,
    rounds: int | None,
    line: str | None,
    measure: bool,
    report: Path | None,
    state: Path | None,
    as_json: bool,
    folders: tuple[Path, ...],
    **options: object,
) -> None:
    """Say what the programs of a JOB will do: memory, blocks, requests and operations.

    Nothing runs, and no array needs memory. Conditions on indices are followed. Where the program
    depends on values of blocks, the counts are the most that are possible, and a line says so.

    \b
    Examples:
      outboard sial explain job.toml -n 4
      outboard sial explain job.toml -n 64 --server-memory 4GiB
      outboard sial explain job.toml -n 4 --rounds 12 --measure
      outboard sial explain job.toml -n 4 --line product.sial:14
    """
    if measure and report:
        raise click.UsageError("--measure and --from both give times (take one of them)")
    for name in ("worker_memory", "server_memory"):
        text = options[name]
        if isinstance(text, str):
            options[name] = _size(text)
    start, jobs, whole = (
        _module(name) for name in ("sial_jobs", "sial.explain.job", "sial_explain")
    )
    click.echo(start.compile_sources(job, folders), err=True, nl=False)
    read = jobs.read(job)
    chosen = jobs.options_of(read, ranks, options | {"rounds": rounds})
    from outboard import sial_saved

    found = whole.explain(read, chosen, state or sial_saved.state_folder(job))
    rates = _rates(found, measure, report)
    if line is not None:
        click.echo(_module("sial_explain_line").explain_line(found, line, rates), nl=False)
    elif as_json:
        click.echo(whole.to_json(found, rates))
    else:
        _module("sial_explain_text").show(found, rates, sys.stdout)


def _size(text: str) -> int:
    try:
        return values.parse_size(text)
    except ValueError as error:
        raise OutboardError(str(error), exit_code=2) from error


def _rates(found: list[object], measure: bool, report: Path | None) -> object | None:
    rates = _module("sial.explain.rates")
    if report is not None:
        return rates.from_report(report)  # type: ignore[no-any-return]
    if not measure:
        return None
    whole = _module("sial_explain")
    extent = max(whole.typical_extent(one) for one in found)
    return rates.measure(_module("sial_jobs").runtime(), extent)  # type: ignore[no-any-return]


def _module(name: str) -> ModuleType:
    """Imports a module that needs the packages of the compiler. Other commands lack them."""
    try:
        return importlib.import_module(f"outboard.{name}")
    except ImportError as error:
        raise OutboardError(
            f"explain needs a package that is missing ({error.name}) run: pip install "
            "'outboard[sial]'"
        ) from error
