"""`outboard bench fftw_flops`: the number of operations that FFTW reports for transforms, by size.
Source: RCPU, section 4.1, figure 4.6; FFTW's manual, "Using Plans" (fftw_flops)"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from outboard.errors import OutboardError
from outboard_bench import paper_plot, rows
from outboard_bench.fft_problems import Problem, cubes

_FORWARD = -1  # constants of fftw3.h
# For plans with SIMD, FFTW counts instructions, each of which computes several numbers.
_ESTIMATE, _NO_SIMD = 1 << 6, 1 << 17
_QUICK_POINTS, _FULL_POINTS, _CHECK_POINTS = 1 << 20, 1 << 24, 1 << 12


class FftwFlops:
    """Additions, multiplications and fused operations of complex transforms, as FFTW plans them."""

    name = "fftw_flops"
    summary = "operations of FFTW's plans by size (--full: up to 2^24 points)"
    draw = staticmethod(paper_plot.draw_flops)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        parser = argparse.ArgumentParser(prog="outboard bench fftw_flops")
        parser.add_argument("--full", action="store_true", help="up to 2^24 points")
        parser.add_argument("--check", action="store_true", help="small ones, to see that it runs")
        options = parser.parse_args(arguments)
        most = _FULL_POINTS if options.full else _QUICK_POINTS
        most = _CHECK_POINTS if options.check else most
        counted = list(_all(_library(), most))
        rows.print_table(counted)
        if json_file:
            rows.write(counted, json_file)
        return 0


def _library() -> ctypes.CDLL:
    name = ctypes.util.find_library("fftw3")
    if name is None:
        raise OutboardError("FFTW counts its operations (it was not found); install libfftw3")
    library = ctypes.CDLL(name)
    library.fftw_malloc.restype = library.fftw_plan_dft.restype = ctypes.c_void_p
    library.fftw_malloc.argtypes = [ctypes.c_size_t]
    library.fftw_plan_dft.argtypes = [
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_int),
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_uint,
    ]
    library.fftw_free.argtypes = library.fftw_destroy_plan.argtypes = [ctypes.c_void_p]
    library.fftw_free.restype = library.fftw_destroy_plan.restype = None
    library.fftw_flops.argtypes = [ctypes.c_void_p] + [ctypes.POINTER(ctypes.c_double)] * 3
    library.fftw_flops.restype = None
    return library


def _all(library: ctypes.CDLL, most_points: int) -> Iterator[rows.Row]:
    for problem in cubes(("c2c",), (1, 2, 3), "double", (0, most_points)):
        added, multiplied, fused = operations(library, problem)
        per_point = (added + multiplied + 2 * fused) / problem.points
        yield _row(problem, "additions", added, "flop")
        yield _row(problem, "multiplications", multiplied, "flop")
        yield _row(problem, "fused", fused, "flop")
        yield _row(problem, "ratio", per_point, "flop per element")


def operations(library: ctypes.CDLL, problem: Problem) -> tuple[float, float, float]:
    """Returns additions, multiplications, and fused operations. Planning by estimate touches no
    array."""
    rank = len(problem.shape)
    lengths = (ctypes.c_int * rank)(*problem.shape)
    arrays = [library.fftw_malloc(problem.bytes_to) for _ in range(2)]
    try:
        plan = None
        if all(arrays):
            plan = library.fftw_plan_dft(rank, lengths, *arrays, _FORWARD, _ESTIMATE | _NO_SIMD)
        if not plan:
            raise OutboardError(f"FFTW makes no plan for {problem}; is there enough memory?")
        counts = [ctypes.c_double() for _ in range(3)]
        library.fftw_flops(plan, *map(ctypes.byref, counts))
        library.fftw_destroy_plan(plan)
    finally:
        for array in arrays:
            library.fftw_free(array)
    added, multiplied, fused = (count.value for count in counts)
    if not math.isfinite(added + multiplied + fused) or added <= 0:
        raise OutboardError(f"FFTW counts {added} additions for {problem}; is it intact?")
    return added, multiplied, fused


def _row(problem: Problem, what: str, value: float, unit: str) -> rows.Row:
    return rows.Row(
        bench="fftw_flops",
        case=f"{len(problem.shape)}-D, {problem.lengths}, {what}",
        bytes=problem.bytes_to,
        value=value,
        unit=unit,
        ceiling=None,
        ceiling_name=None,
        ratio=None,
        min=value,
        max=value,
        runs=1,
    )
