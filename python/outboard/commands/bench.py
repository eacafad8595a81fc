"""`outboard bench`: runs a benchmark and checks the rows it writes."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from outboard import paths
from outboard.build import Build


@click.command(
    "bench", context_settings={"allow_interspersed_args": True, "ignore_unknown_options": True}
)
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Keep the rows."
)
@click.option(
    "--plot",
    "plot_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the rows by size beside their ceilings (.svg, .png or .pdf; needs matplotlib).",
)
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    json_file: Path | None, plot_file: Path | None, name: str, arguments: tuple[str, ...]
) -> None:
    """Build and run the benchmark NAME, with its own ARGUMENTS. `list` shows all names.

    Every row of the JSON has bench, case, bytes, value, unit, ceiling, ceiling_name, ratio, min,
    max and runs. A larger ratio is better.

    \b
    Examples:
      outboard bench list
      outboard bench transport --json transport.json
      outboard bench transport --plot transport.svg
      outboard bench startup
      outboard bench fft --kinds c2c --json fft.json --plot fft.svg
      outboard bench paper --figure rcpu-4.1,dac --out figures
    """
    root = paths.require_repository("bench")
    sys.path.append(str(root / "bench"))  # The benchmarks are not part of an installed package.
    import outboard_bench
    from outboard_bench import rows

    work = Build(root)
    benchmarks = outboard_bench.available(root / "bench", work.folder / "bin")
    if name == "list":
        for known in benchmarks.values():
            click.echo(f"{known.name:16} {known.summary}")
        return
    if name not in benchmarks:
        raise click.BadParameter(
            f"there is no '{name}' (there are {', '.join(benchmarks)})", param_hint="NAME"
        )
    work.run(parts=("BENCH",))
    with tempfile.TemporaryDirectory(prefix="outboard-bench-") as folder:
        kept = json_file or (Path(folder) / "rows.json" if plot_file else None)
        status = benchmarks[name].run(arguments, kept)
        if status == 0 and plot_file and kept:
            benchmarks[name].draw(rows.check(rows.load(kept)), plot_file)
    sys.exit(status)
