"""Compares random transforms by pyFFTW with SciPy's own in long double; pytest runs this file.

EXAMPLES gives the number of examples for each scheme. The file COUNTS gets the number of examples
that compute something, by the names that the drop-in library counts them under.
"""

from __future__ import annotations

import collections
import json
import math
import os
import pathlib
from typing import Any

import numpy as np
import pyfftw
import pytest
import scipy.fft
from fft_problems import POISON, Array, Problem, problems
from hypothesis import HealthCheck, given, settings

# ||got - want||_2 <= C log2(N) eps ||want||_2, with N the points of the (logical) transform and eps
# = 2u. For powers of two, Higham (Accuracy and Stability of Numerical Algorithms, 2nd edition,
# theorem 24.2) proves u (mu + 4 (sqrt(2) + mu)) log2(N) with mu the error of a twiddle factor over
# u: with factors correctly rounded (mu = 1/sqrt(2)) 9.2 u, that is 4.6 eps. Other lengths have
# larger proven bounds. Rounding errors add up like a random walk, so errors in practice stay below
# eps for all of them. The oracle's own error is 2^-11 of a double's, and does not matter.
C = 5.0

COMPUTED: collections.Counter[str] = collections.Counter()
DCT_TYPES = {"00": 1, "10": 2, "01": 3, "11": 4}


def teardown_module() -> None:
    pathlib.Path(os.environ["COUNTS"]).write_text(json.dumps(COMPUTED))


def arrays(problem: Problem) -> list[tuple[Array, Array]]:
    """Returns (memory, array) of the input and the output."""
    real, complex_ = problem.real_type, problem.complex_type
    if problem.scheme in ("r2c", "c2r"):
        last = problem.axes[-1]
        if problem.in_place:  # rows of reals are as long as the complex ones
            memory, half = problem.source.with_dense_axis(last).make(problem.half_shape, complex_)
            rows = np.moveaxis(half, last, -1).view(real)[..., : problem.shape[last]]
            sides = [(memory, np.moveaxis(rows, -1, last)), (memory, half)]
        else:
            places = (problem.source, problem.target)
            reals, halves = places if problem.scheme == "r2c" else reversed(places)
            sides = [reals.make(problem.shape, real), halves.make(problem.half_shape, complex_)]
        return sides if problem.scheme == "r2c" else sides[::-1]
    dtype = complex_ if problem.scheme == "c2c" else real
    source = problem.source.make(problem.shape, dtype)
    return [source, source if problem.in_place else problem.target.make(problem.shape, dtype)]


def numbers(problem: Problem) -> Any:
    """Returns the input's values in long double. For c2r they are a spectrum of reals."""
    random = np.random.default_rng(problem.seed)
    values: Any = np.zeros(
        problem.shape, np.clongdouble if problem.scheme == "c2c" else np.longdouble
    )
    if problem.data == "random":
        values += random.standard_normal(problem.shape)
        if problem.scheme == "c2c":
            values += 1j * random.standard_normal(problem.shape)
    elif problem.data == "impulse":
        values.flat[random.integers(values.size)] = 1
    elif problem.data == "wave":
        values += np.cos(random.uniform(0, np.pi) * np.arange(values.size)).reshape(problem.shape)
    values *= np.longdouble(2) ** problem.exponent
    return scipy.fft.rfftn(values, axes=problem.axes) if problem.scheme == "c2r" else values


def expected(problem: Problem, values: Any) -> Any:
    """Returns the transform, not normalised, in long double."""
    axes: Any = problem.axes
    if problem.scheme == "r2r":
        for axis, kind in zip(axes, problem.directions, strict=True):
            transform = scipy.fft.dct if kind[6] == "E" else scipy.fft.dst
            values = transform(values, type=DCT_TYPES[kind[-2:]], axis=axis)
        return values
    if problem.scheme == "r2c":
        return scipy.fft.rfftn(values, axes=axes)
    if problem.scheme == "c2r":
        return scipy.fft.irfftn(values, s=problem.lengths, axes=axes, norm="forward")
    if problem.directions == ("FFTW_FORWARD",):
        return scipy.fft.fftn(values, axes=axes)
    return scipy.fft.ifftn(values, axes=axes, norm="forward")


def logical_points(problem: Problem) -> int:
    """Returns the points of the DFT. A DCT or DST is the DFT of a real even or odd array of 2 (n -
    1), 2 n or 2 (n + 1) points."""
    extra = {"FFTW_REDFT00": -1, "FFTW_RODFT00": 1}
    if problem.scheme != "r2r":
        return problem.points
    kinds = zip(problem.lengths, problem.directions, strict=True)
    return math.prod(2 * (n + extra.get(kind, 0)) for n, kind in kinds)


def execute(problem: Problem, values: Array) -> tuple[Array, Array]:
    """Returns the result of pyFFTW, and the exact numbers that it was given. Checks the memory
    around both arrays."""
    (_, planned_in), (_, planned_out) = first = arrays(problem)
    transform = pyfftw.FFTW(
        planned_in,
        planned_out,
        axes=problem.axes,
        direction=problem.directions,
        flags=(problem.effort,),
        threads=problem.threads,
        planning_timelimit=0.2,
    )
    sides = arrays(problem) if problem.other_arrays else first
    (in_memory, source), (out_memory, target) = sides
    for memory in (in_memory, out_memory):
        memory[:] = POISON  # a planner that measures overwrites the arrays
    source[...] = values
    given_values = source.copy()
    if problem.other_arrays:
        transform.update_arrays(source, target)
    transform.execute()
    got = target.copy()
    # pyFFTW asks FFTW to keep inputs, except those of c2r in several dimensions.
    kept = not problem.in_place and (problem.scheme != "c2r" or len(problem.axes) == 1)
    assert not kept or np.array_equal(source, given_values), "the input has changed"
    for memory, view in sides if not problem.in_place else [max(sides, key=lambda s: s[1].nbytes)]:
        view[...] = np.frombuffer(bytes([POISON]) * view.itemsize, view.dtype)[0]
        assert np.all(memory == POISON), "memory around the array has changed"
    return got, given_values


def check(problem: Problem) -> None:
    got, values = execute(problem, numbers(problem))
    if problem.points > 1:  # a transform of one point is a copy
        COMPUTED[f"fftw{'f' if problem.single else ''} {problem.scheme}"] += 1
    wide = np.clongdouble if values.dtype.kind == "c" else np.longdouble
    want = expected(problem, values.astype(wide))
    assert want.dtype.itemsize >= 2 * got.dtype.itemsize or not problem.single, "oracle is narrow"
    error = np.linalg.norm((got - want).ravel())
    size = np.linalg.norm(want.ravel())
    bound = C * math.log2(max(2, logical_points(problem))) * np.finfo(problem.real_type).eps
    assert error <= bound * size, f"error {error / size:.3g} above {bound:.3g}"


SETTINGS = settings(
    max_examples=int(os.environ["EXAMPLES"]),
    deadline=None,
    derandomize=False,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("scheme", ("c2c", "r2c", "c2r", "r2r"))
def test_transforms(scheme: str) -> None:
    @SETTINGS
    @given(problems(scheme))
    def hold(problem: Problem) -> None:
        check(problem)

    hold()
