"""`python -m outboard_bench NAME [--json FILE] [its own options]`: runs a benchmark in Python with
the programs that are built already (`outboard bench` builds them first)."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import outboard_bench


@click.command("bench", context_settings={"ignore_unknown_options": True})
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("name", type=click.Choice(list(outboard_bench.written_here())))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def main(json_file: Path | None, name: str, arguments: tuple[str, ...]) -> None:
    sys.exit(outboard_bench.written_here()[name].run(arguments, json_file))


if __name__ == "__main__":
    main()
