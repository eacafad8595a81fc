"""One `outboard test`: the checks, the build, the tests, and the line with the counts."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click

from outboard.build import PARTS, Build
from outboard.errors import OutboardError
from outboard_testing import checks, cuda_headers, runners
from outboard_testing.tally import Tally, one
from outboard_testing.tidy import Tidy

_SLOW = ("slow",)
_SLOWEST = 20  # tests that are named with their times
# --fast leaves out all tests that start daemons, run whole suites or wait.
_NOT_FAST = ("slow", "conformance", "faults", "end_to_end")


@dataclass(frozen=True)
class Wanted:
    """The options of `outboard test`."""

    labels: tuple[str, ...] = ()
    everything: bool = False
    fast: bool = False

    @property
    def without(self) -> tuple[str, ...]:
        """Returns the labels of the tests that are left out."""
        return () if self.everything else _NOT_FAST if self.fast else _SLOW

    def part(self, name: str) -> bool:
        """Returns true if the checks or the tests in Python are wanted."""
        return not self.labels or name in self.labels


def run(root: Path, wanted: Wanted) -> int:
    """Runs all that is wanted in the checkout at `root`. Returns the exit status."""
    total, clock = Tally(), _Clock()
    if wanted.part("checks"):
        for check in checks.checks(root):
            total.add(check.run(_say))
    clock.end("checks")
    if not wanted.fast:
        cuda_headers.provide(root, _say)
    work = Build(root)
    try:
        work.run(parts=PARTS)
    except OutboardError as error:
        error.show()
        total.add(one("build", False))
        return _finish(total, clock)
    clock.end("build")
    if wanted.everything:
        total.add(Tidy(root, work.folder).run(_say))
        clock.end("clang-tidy")
    labels = [label for label in wanted.labels if label not in ("checks", "python")]
    if not wanted.labels or labels:
        left_out = [label for label in wanted.without if label not in wanted.labels]
        total.add(runners.ctest(work.folder, only=labels, without=left_out))
        clock.end("ctest")
    if wanted.part("python") and (root / "tests" / "python").is_dir():
        total.add(runners.pytest(root, work.folder, without=wanted.without))
        clock.end("pytest")
    return _finish(total, clock)


def _say(text: str) -> None:
    click.echo(text)
    sys.stdout.flush()


class _Clock:
    """How long the parts took, each from the end of the one before."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._parts: list[str] = []

    def end(self, part: str) -> None:
        now = time.monotonic()
        self._parts.append(f"{part} {(now - self._since) / 60:.1f} min")
        self._since = now

    def line(self) -> str:
        return ", ".join(self._parts)


def _finish(total: Tally, clock: _Clock) -> int:
    """Prints the slowest tests, the failures, and the line with the counts. Returns the exit
    status."""
    slowest = [f"  {seconds:6.1f} s  {name}" for name, seconds in total.slowest(_SLOWEST)]
    if slowest:
        _say("\nSlowest:\n" + "\n".join(slowest))
    if total.failures:
        _say("\nFailed:\n" + "\n".join(f"  {name}" for name in total.failures))
    if total.passed + total.failed == 0:
        total.add(one("no test ran", False))
    _say(f"\n{clock.line()}\n{total.line()}")
    return 1 if total.failed else 0
