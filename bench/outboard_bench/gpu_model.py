"""The least times that a device and the way to it allow. All figures are assumptions about an H200
in a machine of its time, and printed as such, beside measured ones."""

from __future__ import annotations

from outboard_bench.gpu_problems import Call, Problem

MEMORY_BYTES_PER_S = 4.3e12  # rate of copies in the device's memory
PCIE_BYTES_PER_S = 55e9  # PCIe 5 x16, page-locked memory, each way
COPY_BYTES_PER_S = 10e9  # memcpy by one core, with cold caches
DGEMM_FLOPS = 59e12  # 0.88 of the peak of 67
SGEMM_FLOPS = 54e12
FACTORISATION = 0.65  # rate of a factorisation over that of the product
_POINT_BYTES = 16
# points of a transform; a larger one passes through memory three times
_TWO_PASSES_POINTS = 1 << 24
_TAIL = 1 / 16  # part of a product that cannot overlap with anything else


def compute_s(problem: Problem) -> float:
    """Returns the time on the device alone."""
    if not isinstance(problem, Call):
        passes = 2 if problem.points <= _TWO_PASSES_POINTS else 3
        return passes * 2 * _POINT_BYTES * problem.points / MEMORY_BYTES_PER_S
    if problem.routine == "dgemm":
        return problem.flops / DGEMM_FLOPS
    rate = SGEMM_FLOPS if problem.routine.startswith("s") else DGEMM_FLOPS
    return problem.flops / (rate * FACTORISATION)


def whole_s(problem: Problem, bytes_per_s: float, computing_s: float | None = None) -> float:
    """Returns the time of a call including its operands and results, which travel at a given rate.
    Products overlap with both. The others wait for the last operand, and have their results at the
    end."""
    computing = compute_s(problem) if computing_s is None else computing_s
    there, back = problem.bytes_to / bytes_per_s, problem.bytes_from / bytes_per_s
    if isinstance(problem, Call) and problem.routine == "dgemm":
        return max(there + _TAIL * computing, computing) + _TAIL * back
    return there + computing + back


def pcie_s(problem: Problem) -> float:
    """Returns the time if the device itself reads operands in shared memory."""
    return whole_s(problem, PCIE_BYTES_PER_S)


def shm_s(problem: Problem) -> float:
    """Returns the time with one copy into shared memory and one out of it."""
    return whole_s(problem, COPY_BYTES_PER_S)
