"""The problems of `outboard bench gpu`: those of the papers, and larger ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from outboard_bench import fft_problems

_SINGLE, _DOUBLE = 4, 8  # bytes
_EPSILON = {_SINGLE: 2.0**-23, _DOUBLE: 2.0**-52}
_INDEX = 4
# For each routine: bytes of an element, and flops over n^3 (LAPACK Working Note 41).
_ROUTINES = {
    "dgemm": (_DOUBLE, 2.0),
    "sgesv": (_SINGLE, 2 / 3),
    "dpotrf": (_DOUBLE, 1 / 3),
    "dgeqrf": (_DOUBLE, 4 / 3),
}


@dataclass(frozen=True)
class Call:
    """One call on square, packed operands: dgemm with beta = 0, sgesv with one right-hand side."""

    routine: str
    n: int
    bench = "gpu"

    def __str__(self) -> str:
        return f"{self.routine} {self.n}"

    @property
    def group(self) -> object:
        return self.routine

    @property
    def flops(self) -> float:
        return _ROUTINES[self.routine][1] * float(self.n) ** 3

    @property
    def bytes_to(self) -> int:
        n = self.n
        size = _ROUTINES[self.routine][0]
        whole = {"dgemm": 2 * n * n, "sgesv": n * n + n, "dgeqrf": n * n}
        # the result of dpotrf is a triangle
        return size * whole.get(self.routine, n * (n + 1) // 2)

    @property
    def bytes_from(self) -> int:
        n = self.n
        size = _ROUTINES[self.routine][0]
        if self.routine == "dgemm":
            return size * n * n
        return self.bytes_to + {"sgesv": _INDEX * n, "dgeqrf": size * n}.get(self.routine, 0)

    @property
    def error_bound(self) -> float:
        """Returns the same bound as blas_problems.Call: factors have one sign or a dominant
        diagonal."""
        return 2 * (self.n + 4) * _EPSILON[_ROUTINES[self.routine][0]]

    def arguments(self, planner: str) -> list[str]:
        del planner  # nothing is planned
        return [self.routine, str(self.n)]


Problem = Call | fft_problems.Problem


def _all(calls: dict[str, Sequence[int]], shapes: Sequence[tuple[int, ...]]) -> tuple[Problem, ...]:
    made = [Call(routine, n) for routine, sizes in calls.items() for n in sizes]
    return (*made, *(fft_problems.Problem("c2c", shape) for shape in shapes))


# Transforms of 10 to 270 million points, and cubes of as many.
FULL = _all(
    {
        "dgemm": (2000, 4000, 8000),
        "sgesv": (5000, 10_000, 20_000, 30_000),
        "dpotrf": (10_240,),
        "dgeqrf": (10_240,),
    },
    (
        (10_000_000,),
        (30_000_000,),
        (90_000_000,),
        (270_000_000,),
        (4096, 4096),
        (16_384, 16_384),
        (256, 256, 256),
        (640, 640, 640),
    ),
)
QUICK = _all(
    {"dgemm": (2000,), "sgesv": (3000,), "dpotrf": (2048,), "dgeqrf": (2048,)},
    ((1_000_000,), (1024, 1024), (128, 128, 128)),
)
CHECK = _all(
    {"dgemm": (130,), "sgesv": (131,), "dpotrf": (132,), "dgeqrf": (133,)},
    ((4100,), (66, 67), (16, 17, 18)),
)


def device_arguments(problem: Problem) -> list[str]:
    """Returns the arguments of bench/gpu/device_calls."""
    if isinstance(problem, Call):
        return [problem.routine, str(problem.n)]
    return [problem.kind, problem.lengths]
