"""The calls that `outboard bench decide` makes: some sizes of each kind of work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from outboard_bench import fft_problems
from outboard_bench.problem import Problem

# The edges of matrices. For "thin", the other operand has 64 columns (bench/routine_call.hpp). Each
# kind has four edges, and most calls take less than 0.1 s with one thread.
EDGES: Mapping[str, Sequence[int]] = {
    "dgemm": (100, 250, 600, 2000),
    "dgemm fresh": (150, 400, 800, 1200),
    "sgemm": (100, 300, 800, 1600),
    "zgemm": (100, 200, 400, 800),
    "thin": (200, 500, 1000, 2000),
    "dsyrk": (100, 300, 700, 1400),
    "dtrsm": (100, 250, 500, 1000),
    "dgetrf": (100, 250, 600, 1500),
    "dpotrf": (100, 300, 800, 2000),
    "dgeqrf": (100, 200, 500, 1000),
    "dsyev": (50, 100, 150, 250),
}
TRANSFORMS = "c2c"
SHAPES = ((1 << 14,), (1 << 17,), (1 << 19,), (1 << 22,), (512, 512))
ROUTINES = (*EDGES, TRANSFORMS)
PROGRAMS = ("blas_calls", "fft_transforms")

_THIN = 64
# The operands that a call reads and writes, in n x n matrices. Whole matrices count, even if only a
# triangle is sent.
_READ = {"dgemm": 2, "sgemm": 2, "zgemm": 2, "dtrsm": 2}
# Flops over n^3. Source: LAPACK Working Note 41, appendix C; dsyev with vectors: about 9 n^3.
_FLOPS = {
    "dgemm": 2.0,
    "sgemm": 2.0,
    "zgemm": 8.0,
    "dsyrk": 1.0,
    "dtrsm": 1.0,
    "dgetrf": 2 / 3,
    "dpotrf": 1 / 3,
    "dgeqrf": 4 / 3,
    "dsyev": 9.0,
}
_ELEMENT_BYTES = {"sgemm": 4, "zgemm": 16}
# Sums of products of non-negative numbers are within n eps of the exact ones, and those of complex
# numbers within 4 times that. Matrices that are factored or solved have a condition near 1, and
# their results contain a few such sums (Higham, Accuracy and Stability of Numerical Algorithms,
# 3.5, 9, 10, 19).
_ROOM = {"dgemm": 2, "sgemm": 2, "thin": 2, "dsyrk": 2, "zgemm": 8}
_ROOM_OF_FACTORS = 20


@dataclass(frozen=True)
class Call:
    """One call of BLAS or LAPACK on square, packed operands. `fresh` means that it has new
    contents."""

    name: str
    n: int
    fresh: bool = False
    bench = "decide"

    def __str__(self) -> str:
        return f"{self.name}{' fresh' if self.fresh else ''} {self.n}"

    @property
    def group(self) -> object:
        return self.name, self.fresh

    @property
    def routine(self) -> str:
        return "dgemm" if self.name == "thin" else self.name

    @property
    def flops(self) -> float:
        n = float(self.n)
        return 2 * _THIN * n * n if self.name == "thin" else _FLOPS[self.name] * n**3

    @property
    def bytes_to(self) -> int:
        read = self.n * (self.n + _THIN) if self.name == "thin" else self._square(_READ)
        return read * self._element_bytes

    @property
    def bytes_from(self) -> int:
        written = self.n * _THIN if self.name == "thin" else self.n * self.n
        return written * self._element_bytes

    @property
    def error_bound(self) -> float:
        epsilon = 2.0**-23 if self.name == "sgemm" else 2.0**-52
        return _ROOM.get(self.name, _ROOM_OF_FACTORS) * (self.n + 4) * epsilon

    def arguments(self, planner: str) -> list[str]:
        del planner  # nothing is planned
        return [self.name, str(self.n)]

    @property
    def _element_bytes(self) -> int:
        return _ELEMENT_BYTES.get(self.name, 8)

    def _square(self, matrices: Mapping[str, int]) -> int:
        return matrices.get(self.name, 1) * self.n * self.n


def is_fresh(problem: Problem) -> bool:
    return isinstance(problem, Call) and problem.fresh


def program_of(problem: Problem) -> str:
    """Returns the compiled program that makes this call."""
    return PROGRAMS[0] if isinstance(problem, Call) else PROGRAMS[1]


def problems(
    routines: Sequence[str], edges: Sequence[int] = (), shapes: Sequence[tuple[int, ...]] = ()
) -> Iterator[list[Problem]]:
    """Yields the usual sizes of each of these routines, or only these edges and shapes."""
    for routine in routines:
        name, _, fresh = routine.partition(" ")
        if routine == TRANSFORMS:
            yield [fft_problems.Problem("c2c", shape) for shape in shapes or SHAPES]
        else:
            yield [Call(name, n, bool(fresh)) for n in edges or EDGES[routine]]


def of_check() -> list[list[Problem]]:
    """Returns tiny problems: a product, one with new operands, a factorisation, a transform."""
    transform = fft_problems.Problem("c2c", (32, 30))
    return [[Call("dgemm", 90), Call("zgemm", 60, fresh=True)], [Call("dgetrf", 70), transform]]


def chosen(
    groups: Sequence[Sequence[Problem]], place: int, device: int, share: int
) -> Iterator[Problem]:
    """Yields the problems of one place and device if one of `share` combinations is measured. Each
    routine has another size there, and each size another place and device."""
    for g, group in enumerate(groups):
        for i, problem in enumerate(group):
            if (g + i + place + device) % share == 0:
                yield problem
