"""`outboard bench`: runs a benchmark and checks the rows it writes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from outboard import bench, paths
from outboard.build import Build


@click.command(
    "bench", context_settings={"allow_interspersed_args": True, "ignore_unknown_options": True}
)
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Keep the rows."
)
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(json_file: Path | None, name: str, arguments: tuple[str, ...]) -> None:
    """Build and run the benchmark NAME, with its own ARGUMENTS; `list` shows what there is.

    Every row of the JSON has bench, case, bytes, value, unit, ceiling, ceiling_name, ratio, min,
    max and runs; the ratio is better when larger.

    \b
    Examples:
      outboard bench list
      outboard bench transport --json transport.json
      outboard bench startup
    """
    work = Build(paths.require_repository("bench"))
    work.run(parts=("BENCH",))
    benchmarks = bench.available(work.folder / "bin")
    if name == "list":
        for known in benchmarks.values():
            click.echo(f"{known.name:16} {known.summary}")
        return
    if name not in benchmarks:
        raise click.BadParameter(
            f"there is no '{name}' (there are {', '.join(benchmarks)})", param_hint="NAME"
        )
    sys.exit(benchmarks[name].run(arguments, json_file))
