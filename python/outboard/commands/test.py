"""`outboard test`: builds, checks and tests everything, and counts the results."""

from __future__ import annotations

import sys

import click

from outboard import paths


@click.command("test")
@click.option(
    "-L",
    "--label",
    "labels",
    multiple=True,
    help="Only tests with this ctest label; `checks` and `python` are the other two parts.",
)
@click.option("--all", "everything", is_flag=True, help="The slow tests and clang-tidy too.")
@click.option("--fast", is_flag=True, help="Checks and unit tests only.")
def command(labels: tuple[str, ...], everything: bool, fast: bool) -> None:
    """Build everything, then run the checks of the sources, the C++ tests and the Python tests.

    The last line gives the numbers of passed, failed and skipped tests. The status is 0 only if
    nothing failed.

    \b
    Examples:
      outboard test
      outboard test --fast
      outboard test -L conformance
      outboard test --all
    """
    if everything and fast:
        raise click.UsageError("--all and --fast exclude each other; give one of them")
    root = paths.require_repository("test")
    sys.path.append(str(root / "tools"))  # The tests' runner is not part of an installed package.
    from outboard_testing.everything import Wanted, run

    sys.exit(run(root, Wanted(labels, everything, fast)))
