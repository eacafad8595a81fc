"""Chooses the routines and sizes that are measured within a given time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

CALLS = 3  # calls per size; the first one warms up


@dataclass(frozen=True)
class Size:
    """One problem of a series."""

    label: str  # "n = 500"
    flop: float  # an estimate, from which the growth of the time is predicted
    bytes: float  # size of all operands
    n: int


class Call(Protocol):
    """A routine with its prepared operands."""

    def __call__(self) -> float:
        """Restores the operands that a call overwrites, then calls once. Returns the seconds."""
        ...

    def close(self) -> None:
        """Frees operands and plans."""
        ...


class Series(Protocol):
    """One routine, in ascending sizes."""

    @property
    def name(self) -> str: ...

    def sizes(self) -> Iterable[Size]: ...

    def prepare(self, size: Size) -> Call: ...


@dataclass(frozen=True)
class Limits:
    """Limits of time and memory."""

    seconds: float
    longest_s: float  # a call that takes longer is the last of its series
    bytes: float


class SkippedError(Exception):
    """A series cannot go on. The message gives the reason."""


@dataclass
class Outcome:
    """The measurements, and the routines that were left out."""

    measured: dict[str, list[tuple[Size, float]]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    no_time: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Seen:
    """The times of the previous size."""

    size: Size
    best_s: float  # shortest time of its calls
    whole_s: float  # including the time to make operands and plans

    def expected_s(self, next_size: Size) -> float:
        """Returns the expected seconds of a size: calls grow with the work, and all else with the
        operands."""
        calls_s = CALLS * self.best_s
        rest_s = max(0.0, self.whole_s - calls_s)
        work, operands = (
            next_size.flop / self.size.flop,
            next_size.bytes / self.size.bytes,
        )
        return calls_s * work + rest_s * operands


def _best(one: Series, size: Size) -> float:
    with closing(one.prepare(size)) as call:
        call()
        return min(call() for _ in range(CALLS - 1))


# the name of the measurement, and the finished part from 0 to 1
Progress = Callable[[str, float], None]


class Planner:
    """Measures one series after the other. Each has an equal part of the remaining time, so the
    next ones can use the time that a series does not need. Threads: one."""

    def __init__(
        self, limits: Limits, progress: Progress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        self._progress = progress
        self._clock = clock
        self._begin = clock()
        self._end = self._begin + limits.seconds
        self.outcome = Outcome()

    def run(self, series: Sequence[Series]) -> None:
        for index, one in enumerate(series):
            left = self._end - self._clock()
            if left <= 0:
                self.outcome.no_time += [s.name for s in series[index:]]
                return
            until = self._clock() + left / (len(series) - index)
            try:
                self._measure(one, until)
            except SkippedError as error:
                self.outcome.skipped[one.name] = str(error)

    def _measure(self, one: Series, until: float) -> None:
        """Measures the sizes of one series, as long as the next one should end in time."""
        last: _Seen | None = None
        for size in one.sizes():
            if size.bytes > self._limits.bytes:
                return
            if last is not None:
                late = self._clock() + last.expected_s(size) > until
                if late or last.best_s > self._limits.longest_s:
                    return
            self._progress(f"{one.name}, {size.label}", self.part())
            begin = self._clock()
            best_s = _best(one, size)
            last = _Seen(size, best_s, self._clock() - begin)
            self.outcome.measured.setdefault(one.name, []).append((size, best_s))

    def part(self) -> float:
        whole = max(self._limits.seconds, 1e-9)
        return min(1.0, (self._clock() - self._begin) / whole)
