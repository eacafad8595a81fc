"""Counts of passed, failed and skipped tests, read from JUnit files if a runner writes one."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Tally:
    """The outcome of one part of the tests. `failures` names the failed tests; `seconds` are those
    of each test that a runner timed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures
        self.seconds |= other.seconds

    def slowest(self, count: int) -> list[tuple[str, float]]:
        """Returns the tests that took the most seconds, and these."""
        return sorted(self.seconds.items(), key=lambda test: test[1], reverse=True)[:count]

    def line(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def one(name: str, passed: bool) -> Tally:
    """Returns the tally of a single check."""
    return Tally(passed=1) if passed else Tally(failed=1, failures=[name])


def from_junit(file: Path, status: int, runner: str) -> Tally:
    """Returns the counts of `runner` in `file`. If the exit `status` reports a failure, at least
    one test counts as failed."""
    tally = Tally()
    try:
        cases = ElementTree.parse(file).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError):
        return one(f"{runner} (no result, status {status})", False)
    for case in cases:
        prefix = f"{case.get('classname')}." if runner == "pytest" else ""
        name = f"{runner}: {prefix}{case.get('name')}"
        tally.seconds[name] = float(case.get("time") or 0)
        if case.find("failure") is not None or case.find("error") is not None:
            tally.failed += 1
            tally.failures.append(name)
        elif case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
            tally.skipped += 1
        else:
            tally.passed += 1
    if status != 0 and tally.failed == 0:
        tally.add(one(f"{runner} (status {status})", False))
    return tally
