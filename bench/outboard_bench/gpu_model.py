"""Floors: what a device and the way to it allow. All figures are assumed, of an H200 in a machine
of its time, and marked so where they are printed; measured ones stand beside them."""

from __future__ import annotations

from outboard_bench.gpu_problems import Call, Problem

MEMORY_BYTES_PER_S = 4.3e12  # of the device, copying
PCIE_BYTES_PER_S = 55e9  # PCIe 5 x16, page-locked, each way
COPY_BYTES_PER_S = 10e9  # memcpy by one core, cold
DGEMM_FLOPS = 59e12  # 0.88 of the peak of 67
SGEMM_FLOPS = 54e12
FACTORISATION = 0.65  # of the product's rate
_POINT_BYTES = 16
_TWO_PASSES_POINTS = 1 << 24  # of a transform; larger ones pass through memory three times
_TAIL = 1 / 16  # of a product, which nothing else can hide


def compute_s(problem: Problem) -> float:
    """On the device alone."""
    if not isinstance(problem, Call):
        passes = 2 if problem.points <= _TWO_PASSES_POINTS else 3
        return passes * 2 * _POINT_BYTES * problem.points / MEMORY_BYTES_PER_S
    if problem.routine == "dgemm":
        return problem.flops / DGEMM_FLOPS
    rate = SGEMM_FLOPS if problem.routine.startswith("s") else DGEMM_FLOPS
    return problem.flops / (rate * FACTORISATION)


def whole_s(problem: Problem, bytes_per_s: float, computing_s: float | None = None) -> float:
    """With its operands there and its results back at a rate: products overlap with both, the
    others wait for the last operand and have their results at the end."""
    computing = compute_s(problem) if computing_s is None else computing_s
    there, back = problem.bytes_to / bytes_per_s, problem.bytes_from / bytes_per_s
    if isinstance(problem, Call) and problem.routine == "dgemm":
        return max(there + _TAIL * computing, computing) + _TAIL * back
    return there + computing + back


def pcie_s(problem: Problem) -> float:
    """Operands in shared memory that the device reads by itself."""
    return whole_s(problem, PCIE_BYTES_PER_S)


def shm_s(problem: Problem) -> float:
    """One copy into shared memory and one out of it."""
    return whole_s(problem, COPY_BYTES_PER_S)
