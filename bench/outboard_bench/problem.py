"""A problem that can be measured in several places. See fft_problems.py, blas_problems.py."""

from __future__ import annotations

from typing import Protocol


class Problem(Protocol):
    """One call of a library. str() names it, without a comma."""

    @property
    def bench(self) -> str:
        """Returns the benchmark that makes rows of it."""

    @property
    def group(self) -> object:
        """Returns its group. Problems of the same group share a table."""

    @property
    def routine(self) -> str:
        """Returns the routine's name in the library's counters."""

    @property
    def flops(self) -> float: ...

    @property
    def bytes_to(self) -> int: ...

    @property
    def bytes_from(self) -> int: ...

    @property
    def error_bound(self) -> float:
        """Returns the largest relative difference of two good results, in the 2-norm."""

    def arguments(self, planner: str) -> list[str]:
        """Returns the arguments of the program that runs it, before threads and seed."""
