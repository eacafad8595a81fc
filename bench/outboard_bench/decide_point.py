"""The measurements of one call at one server, and the conclusions from them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from outboard_bench.problem import Problem

LOCAL, AGAIN, REMOTE, UNTUNED, TUNED = KINDS = (
    "local",
    "local again",
    "remote",
    "auto untuned",
    "auto tuned",
)
LIMITS = {UNTUNED: 1.25, TUNED: 1.05}
WRONG = 1.05  # a side that takes so many times the other's time is the wrong one


@dataclass
class Timed:
    """One process: its counted calls [ns] by round, and for each round the part of them that went
    out."""

    rounds: list[list[int]] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    distance: float = 0.0  # the largest distance of results from the local ones

    @property
    def ns(self) -> list[int]:
        return [ns for calls in self.rounds for ns in calls]

    @property
    def medians(self) -> list[float]:
        return [statistics.median(calls) for calls in self.rounds]

    @property
    def median(self) -> float:
        """Returns the median over the medians of rounds, because a fast round has more calls than a
        slow one."""
        return statistics.median(self.medians)

    @property
    def out(self) -> float:
        return statistics.mean(self.shares) if self.shares else 0.0


@dataclass
class Point:
    """One call at one server."""

    problem: Problem
    place: str
    device: str
    timed: dict[str, Timed]
    # a ratio was above a limit at first; these are the figures of a longer second run
    repeated: bool = False

    @property
    def local(self) -> float:
        """Returns the time of both local processes. Their memory has different addresses, also
        between rounds."""
        return statistics.median(self.timed[LOCAL].medians + self.timed[AGAIN].medians)

    @property
    def remote(self) -> float:
        return self.timed[REMOTE].median

    @property
    def winner(self) -> str:
        return REMOTE if self.remote < self.local else LOCAL

    @property
    def best(self) -> float:
        return min(self.local, self.remote)

    @property
    def noise(self) -> float:
        """Returns the time of the second local process over that of the first, computed like
        ratio()."""
        pairs = zip(self.timed[AGAIN].medians, self.timed[LOCAL].medians, strict=False)
        return statistics.median(again / first for again, first in pairs)

    def ratio(self, kind: str) -> float:
        """Returns the median over rounds of its time divided by that of the better side. If other
        programs slow the machine for a while, they slow a whole round."""
        pairs = zip(self.timed[kind].medians, self._best_by_round(), strict=False)
        return statistics.median(mine / best for mine, best in pairs)

    def _best_by_round(self) -> list[float]:
        if self.winner == REMOTE:
            return self.timed[REMOTE].medians
        both = zip(self.timed[LOCAL].rounds, self.timed[AGAIN].rounds, strict=False)
        return [statistics.median(first + again) for first, again in both]

    def above(self, kind: str) -> bool:
        return self.ratio(kind) > LIMITS[kind]

    def is_wrong(self, kind: str) -> bool:
        """Returns true if most of its calls went to the side that is slower by more than noise."""
        return (self.remote if self.timed[kind].out > 0.5 else self.local) > WRONG * self.best
