"""The measurements of one program at one place, and the conclusions from them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from outboard_bench.programs_list import Program

NATIVE, REMOTE, AUTO = KINDS = ("native", "remote", "auto")
# The largest time of auto over that of the better side, by the side that is better.
LIMITS = {NATIVE: 1.03, REMOTE: 1.08}


@dataclass
class Timed:
    """The runs of one kind."""

    seconds: dict[int, float] = field(default_factory=dict)  # by round
    calls: list[int] = field(default_factory=list)  # counted by the drop-in library
    out: list[int] = field(default_factory=list)  # of those, the calls that went out
    traffic_bytes: int = 0  # of the last run, both ways
    too_long: bool = False  # the last run was ended, and its time is a lower bound

    @property
    def median(self) -> float:
        return statistics.median(self.seconds.values())

    @property
    def low(self) -> float:
        return min(self.seconds.values())

    @property
    def high(self) -> float:
        return max(self.seconds.values())


@dataclass
class Outcome:
    """One program at one place."""

    program: Program
    place: str
    timed: dict[str, Timed] = field(default_factory=lambda: {kind: Timed() for kind in KINDS})
    distance: float = 0.0  # the largest relative distance of a result from the native one
    skipped: str = ""  # the reason why it was not measured
    failed: str = ""  # the reason why its figures do not count

    @property
    def counts(self) -> bool:
        return not self.skipped and not self.failed

    @property
    def winner(self) -> str:
        return REMOTE if self.timed[REMOTE].median < self.timed[NATIVE].median else NATIVE

    @property
    def best(self) -> float:
        return self.timed[self.winner].median

    @property
    def limit(self) -> float:
        return LIMITS[self.winner]

    @property
    def above(self) -> bool:
        """Returns true if auto is above the limit."""
        return self.ratio(AUTO, self.winner) > self.limit

    def ratio(self, kind: str, other: str) -> float:
        """Returns the median over rounds of the quotient of two times. If other work slows the
        machine for a while, it slows a whole round. The slower side is missing in most rounds if it
        is hopeless; then the medians are compared."""
        mine, theirs = self.timed[kind], self.timed[other]
        both = mine.seconds.keys() & theirs.seconds.keys()
        if len(both) == len(mine.seconds):
            return statistics.median(mine.seconds[i] / theirs.seconds[i] for i in both)
        return mine.median / theirs.median
