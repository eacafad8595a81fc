"""Reads the output of the testers of the reference LAPACK, and compares two runs.

A tester's output is a sequence of records, each ended by a verdict ("All tests for ... passed",
"... tests failed to pass the threshold", "... the tests of the error exits"). Both runs must print
the same text, except for parts that are known to differ between two correct libraries.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import re

PASSED = re.compile(
    r"^All tests for (.+?) +passed(?: the threshold)?(?: *\( *(\d+) +tests run\))?$"
)
FAILED = re.compile(r"^(.+?): +(\d+) out of +(\d+) tests failed to pass the threshold$")
EXITS = re.compile(
    r"^(?:\*\*\* )?(.+?) (passed|failed) the tests of the error exits(?: *\( *(\d+) +tests done\))?"
)
# "... test( 5)= 0.450E+16", "... result  5 is 4.504D+15", "... test 2, ratio = 31.2"
RATIO = re.compile(
    r"^(.*(?:test\s*\(\s*\d+\s*\)\s*=|result\s+\d+\s+is|ratio\s*=))\s*(\S+)$", re.IGNORECASE
)
THRESHOLD = re.compile(r"test ratio is *less *than +([\d.]+)$")
# These lines report an error, unlike the explanations that precede failed tests.
ALARM = re.compile(
    r"\*\*\*|INFO *=|Error in|failed|inconsistent|incorrectly|not tested|error messages|too small"
)
# A ratio that is less than this factor above the threshold is explained by another order of the
# same sums. Natively, a different block size has that effect (single precision, svd.in: 52.3 for a
# threshold of 50 with NB = 32), and the testers set the block size of the program's library only.
# Wrong results differ by orders of magnitude, or everywhere.
MARGIN = 2.0
MOST_MARGINAL = 3  # the limit for one run of a tester, which makes thousands of tests


@dataclasses.dataclass
class Record:
    """The text between two verdicts, and the second of them."""

    kind: str  # tests, exits, end
    subject: str
    failed: int = 0
    run: int = 0
    threshold: float = 0.0
    ratios: dict[str, float] = dataclasses.field(default_factory=dict)  # ratios of failed tests
    lines: list[str] = dataclasses.field(default_factory=list)  # all other lines

    @property
    def title(self) -> str:
        return f"{self.subject} ({self.kind})"

    def alarms(self) -> list[str]:
        return [line for line in self.lines if ALARM.search(line)]


def number(text: str) -> float:
    """Parses a Fortran number: 0.450E+16, 4.504D+15, 0.1-307. Stars and NaN become infinity, the
    worst ratio."""
    plain = re.sub(r"(?<=\d)([+-]\d+)$", r"E\1", text.upper().replace("D", "E"))
    try:
        value = float(plain)
    except ValueError:
        return math.inf
    return math.inf if math.isnan(value) else value


def _verdict(line: str) -> Record | None:
    if match := PASSED.match(line):
        return Record("tests", _subject(match[1]), 0, int(match[2] or 0))
    if match := FAILED.match(line):
        return Record("tests", _subject(match[1]), int(match[2]), int(match[3]))
    if match := EXITS.match(line):
        failed = int(match[2] == "failed")
        return Record("exits", _subject(match[1]), failed, int(match[3] or 1))
    return None


def _subject(text: str) -> str:
    """Returns the name that both verdicts share: "DBD routines" passed, but "DBD" failed. Drivers
    have the same name in both."""
    return text.removesuffix(" routines")


def records(text: str) -> list[Record]:
    """Returns the records of an output. The last one holds the lines after the last verdict."""
    found: list[Record] = []
    ratios: dict[str, float] = {}
    lines: list[str] = []
    threshold = 0.0
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("Total time used"):
            continue
        if match := THRESHOLD.search(line):
            threshold = float(match[1])
        if match := RATIO.match(line):
            ratios[match[1]] = number(match[2])
            continue
        lines.append(line)
        if record := _verdict(line):
            record.threshold, record.ratios, record.lines = threshold, ratios, lines[:-1]
            found.append(record)
            ratios, lines = {}, []
    return [*found, Record("end", "end", threshold=threshold, ratios=ratios, lines=lines)]


@dataclasses.dataclass
class Comparison:
    """The result of a comparison: `wrong` lines make a test fail, `notes` only inform."""

    wrong: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    marginal: int = 0

    def ratios(self, native: Record, other: Record) -> None:
        for test, ratio in other.ratios.items():
            line = f"{other.title}: {test} {ratio:.5g} (threshold {other.threshold:g}"
            if test not in native.ratios:
                line += ", natively passed)"
                marginal = ratio < MARGIN * other.threshold and self.marginal < MOST_MARGINAL
                self.marginal += marginal
                (self.notes if marginal else self.wrong).append(line)
            elif ratio != native.ratios[test]:
                self.notes.append(line + f", natively {native.ratios[test]:.5g})")
        for test in sorted(native.ratios.keys() - other.ratios.keys()):
            self.notes.append(f"{other.title}: {test} passed, natively {native.ratios[test]:.5g}")

    def texts(self, native: Record, other: Record) -> None:
        """Compares the texts. Explanations are printed only above failed tests."""
        same_kind = bool(native.ratios) == bool(other.ratios)
        one, two = (r.lines if same_kind else r.alarms() for r in (native, other))
        for sign, rest in (("-", _minus(one, two)), ("+", _minus(two, one))):
            self.wrong += [f"{other.title}: {sign} {line}" for line in rest]

    def record(self, native: Record, other: Record) -> None:
        # Some drivers count a comparison of two results as a test only if it fails.
        passes = (native.run - native.failed, other.run - other.failed)
        if other.run != native.run and passes[0] != passes[1]:
            self.wrong.append(f"{other.title}: {other.run} tests run, natively {native.run}")
        if other.failed - native.failed > len(other.ratios) - len(native.ratios):
            self.wrong.append(f"{other.title}: {other.failed} failed, natively {native.failed}")
        self.ratios(native, other)
        self.texts(native, other)


def _minus(one: list[str], other: list[str]) -> list[str]:
    return list((collections.Counter(one) - collections.Counter(other)).elements())


def compare(native: list[Record], other: list[Record]) -> Comparison:
    result = Comparison()
    titles = [record.title for record in native], [record.title for record in other]
    if titles[0] != titles[1]:
        missing, new = _minus(*titles), _minus(titles[1], titles[0])
        result.wrong.append(f"verdicts missing: {missing}; new: {new}")
        return result
    for one, two in zip(native, other, strict=True):
        result.record(one, two)
    return result
