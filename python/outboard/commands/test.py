"""`outboard test`: builds, checks and tests everything, and counts."""

from __future__ import annotations

import sys

import click

from outboard import paths
from outboard.build import PARTS, Build
from outboard.errors import OutboardError
from outboard.testing import checks, cuda_headers, runners
from outboard.testing.tally import Tally, one
from outboard.testing.tidy import Tidy

_SLOW = ("slow",)
# What --fast leaves out: everything that starts daemons, runs whole suites or waits.
_NOT_FAST = ("slow", "conformance", "faults", "end_to_end")


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

    The last line counts what passed, failed and was skipped; the status is 0 only if nothing
    failed.

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
    work = Build(root)
    without = () if everything else _NOT_FAST if fast else _SLOW
    labels_of_ctest = [label for label in labels if label not in ("checks", "python")]
    total = Tally()
    if not labels or "checks" in labels:
        for check in checks.checks(root):
            total.add(check.run(_say))
    if not fast:
        cuda_headers.provide(root, _say)
    try:
        work.run(parts=PARTS)
    except OutboardError as error:
        error.show()
        total.add(one("build", False))
        _finish(total)
    if everything:
        total.add(Tidy(root, work.folder).run(_say))
    if not labels or labels_of_ctest:
        kept_out = [label for label in without if label not in labels]
        total.add(runners.ctest(work.folder, only=labels_of_ctest, without=kept_out))
    if (not labels or "python" in labels) and (root / "tests" / "python").is_dir():
        total.add(runners.pytest(root, work.folder, without=without))
    _finish(total)


def _say(text: str) -> None:
    click.echo(text)
    sys.stdout.flush()


def _finish(total: Tally) -> None:
    """Name what failed, close with the one line that counts, and end."""
    if total.failures:
        _say("\nFailed:\n" + "\n".join(f"  {name}" for name in total.failures))
    if total.passed + total.failed == 0:
        total.add(one("no test ran", False))
    _say("\n" + total.line())
    sys.exit(1 if total.failed else 0)
