"""The calls that `outboard bench blas` makes: one of each level of the BLAS (RCPU, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

ROUTINES = ("dgemm", "dgemv", "ddot")
# The orders of square matrices, and the elements of a vector.
SIZES: Mapping[str, Sequence[int]] = {
    "dgemm": (250, 500, 1000, 2000, 4000, 6000),
    "dgemv": (500, 1000, 2000, 4000, 8000),
    "ddot": (10_000, 100_000, 1_000_000, 10_000_000),
}
_DOUBLE = 8
_EPSILON = 2.0**-52


@dataclass(frozen=True)
class Call:
    """One call on square, packed operands, with beta = 0."""

    routine: str
    n: int
    bench = "blas"

    def __str__(self) -> str:
        return f"{self.routine} {self.n}"

    @classmethod
    def parse(cls, text: str) -> Call:
        """Parses the result of str()."""
        routine, n = text.split(" ")
        return cls(routine, int(n))

    @property
    def group(self) -> object:
        return self.routine

    @property
    def flops(self) -> float:
        return 2 * float(self.n) ** (3 - ROUTINES.index(self.routine))

    @property
    def bytes_to(self) -> int:
        n = self.n
        return _DOUBLE * {"dgemm": 2 * n * n, "dgemv": n * n + n, "ddot": 2 * n}[self.routine]

    @property
    def bytes_from(self) -> int:
        return _DOUBLE * {"dgemm": self.n**2, "dgemv": self.n, "ddot": 1}[self.routine]

    @property
    def error_bound(self) -> float:
        """Returns the largest relative error. Operands are not negative, so each result is within n
        eps of the exact one, with a margin for tiny n (Higham, Accuracy and Stability of Numerical
        Algorithms, 3.5)."""
        return 2 * (self.n + 4) * _EPSILON

    def arguments(self, planner: str) -> list[str]:
        del planner  # nothing is planned
        return [self.routine, str(self.n)]


def calls(routines: Sequence[str], most: Mapping[str, int]) -> Iterator[Call]:
    """Yields the usual sizes up to a limit, by routine."""
    for routine in routines:
        for n in SIZES[routine]:
            if n <= most[routine]:
                yield Call(routine, n)


def of_check(routines: Sequence[str]) -> Iterable[Call]:
    """Returns tiny problems."""
    return (Call(routine, 60 + len(routine)) for routine in routines)
