"""`outboard build`: builds the C++ side and nothing else."""

from __future__ import annotations

import click

from outboard import paths
from outboard.build import PARTS, Build


@click.command("build")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Compilers at a time. [default: cores]")
@click.option("--tests", is_flag=True, help="The tests and benchmarks too.")
@click.option("-v", "--verbose", is_flag=True, help="Show the whole output.")
@click.argument("targets", nargs=-1)
def command(jobs: int | None, tests: bool, verbose: bool, targets: tuple[str, ...]) -> None:
    """Build TARGETS (default: all) in build/release, or in the folder OUTBOARD_BUILD_DIR.

    \b
    Examples:
      outboard build
      outboard build --tests
      outboard build outboardd
    """
    work = Build(paths.require_repository("build"))
    work.run(targets, parts=PARTS if tests else (), jobs=jobs or 0, verbose=verbose)
    click.echo(f"outboard: built {', '.join(targets) or 'everything'} in {work.folder}", err=True)
