"""The machine that a benchmark runs on: its load, and the kernels of its BLAS."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from outboard.doctor import openblas
from outboard.errors import OutboardError

# The libraries that programs of the system bind (update-alternatives(1) of Debian), best first.
_LIBRARIES = ("libblas.so.3", "libopenblas.so.0")
_CORE_TYPE = "OPENBLAS_CORETYPE"
_MEASURE_N = 1500  # one product takes some 10 ms, long enough for all threads to work


def say_if_busy() -> None:
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load > cores / 2:
        print(
            f"outboard: this machine has other work (a load of {load:.1f} on {cores} cores); "
            "small differences will say little",
            file=sys.stderr,
        )


def best_kernels(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that make OpenBLAS use the best kernels of this processor.

    The result is empty if OpenBLAS uses them anyway, or if the user chose. An older OpenBLAS does
    not know a newer processor, and local calls would then be no fair baseline.
    """
    best = openblas.best_core_type()
    if best is None or _CORE_TYPE in environment:
        return {}
    for library in _LIBRARIES:
        said = openblas.ask(library, environment)
        if isinstance(said, openblas.OpenBlas) and said.core:
            used = openblas.level_of_core(said.core)
            return {} if used == openblas.processor_level() else {_CORE_TYPE: best}
    return {}


def dgemm_gflops(environment: Mapping[str, str]) -> float:
    """Returns the rate of square products [GFLOP/s] of the system's BLAS in this environment."""
    for library in _LIBRARIES:
        said = openblas.ask(library, environment, _MEASURE_N)
        if isinstance(said, openblas.OpenBlas) and said.gflops:
            return said.gflops
    raise OutboardError(
        f"none of {', '.join(_LIBRARIES)} can be opened (no BLAS is installed); install "
        "libopenblas0-pthread, or name a rate"
    )
