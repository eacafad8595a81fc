"""The transforms that `outboard bench fft` runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

KINDS = ("c2c", "r2c", "c2r")
# the bytes of a real number, and its epsilon
PRECISIONS = {"double": (8, 2.0**-52), "single": (4, 2.0**-23)}
# The edges by number of dimensions: steps of 4, 4 and 8 in points.
EDGES = {
    1: tuple(4**k for k in range(5, 13)),
    2: tuple(2**k for k in range(6, 13)),
    3: tuple(2**k for k in range(4, 9)),
}


@dataclass(frozen=True)
class Problem:
    """One transform, out of place, packed."""

    kind: str
    shape: tuple[int, ...]
    precision: str = "double"
    bench = "fft"

    def __str__(self) -> str:
        return f"{self.kind} {self.lengths} {self.precision}"

    @classmethod
    def parse(cls, text: str) -> Problem:
        """Parses the result of str()."""
        kind, lengths, precision = text.split(" ")
        return cls(kind, tuple(int(n) for n in lengths.split("x")), precision)

    @property
    def lengths(self) -> str:
        return "x".join(str(n) for n in self.shape)

    @property
    def group(self) -> object:
        return self.kind, len(self.shape)

    @property
    def points(self) -> int:
        return math.prod(self.shape)

    @property
    def flops(self) -> float:
        """Returns 5 N log2 N by FFTW's convention (benchFFT), or half of that for real data."""
        return (5.0 if self.kind == "c2c" else 2.5) * self.points * math.log2(self.points)

    @property
    def bytes_to(self) -> int:
        return self._bytes(real=self.kind == "r2c")

    @property
    def bytes_from(self) -> int:
        return self._bytes(real=self.kind == "c2r")

    @property
    def error_bound(self) -> float:
        """Returns the largest relative difference of two good results, in the 2-norm. Each result
        is within log2(N) eps of the exact one (docs/large-transforms.md), with a margin for tiny
        N."""
        return 2 * max(math.log2(self.points), 4.0) * PRECISIONS[self.precision][1]

    @property
    def routine(self) -> str:
        """Returns the routine's name in the library's counters."""
        return f"{'fftw' if self.precision == 'double' else 'fftwf'} {self.kind}"

    def arguments(self, planner: str) -> list[str]:
        return [self.precision, self.kind, self.lengths, planner]

    def _bytes(self, *, real: bool) -> int:
        real_bytes = PRECISIONS[self.precision][0]
        if real:
            return self.points * real_bytes
        last = self.shape[-1]
        row = last if self.kind == "c2c" else last // 2 + 1
        return self.points // last * row * 2 * real_bytes


def cubes(
    kinds: Sequence[str], dimensions: Sequence[int], precision: str, points: tuple[int, int]
) -> Iterator[Problem]:
    """Yields problems with equal edges and a number of points within `points`, in the order of
    kinds."""
    for kind, rank in product(kinds, dimensions):
        for edge in EDGES[rank]:
            if points[0] <= edge**rank <= points[1]:
                yield Problem(kind, (edge,) * rank, precision)


def shapes(
    kinds: Sequence[str], lengths: Sequence[tuple[int, ...]], precision: str
) -> Iterator[Problem]:
    """Yields the problems of these sizes, by kind."""
    yield from (Problem(kind, shape, precision) for kind, shape in product(kinds, lengths))


def of_check() -> Iterable[Problem]:
    """Yields tiny problems of every kind and number of dimensions. Their lengths are not powers of
    two."""
    lengths = ((60,), (17, 12), (8, 6, 5))
    yield from (Problem(kind, shape) for kind, shape in product(KINDS, lengths))
    yield from (Problem(kind, n, "single") for kind, n in zip(KINDS, lengths, strict=True))
