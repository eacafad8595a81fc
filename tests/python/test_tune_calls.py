"""Tests the calls of `outboard tune`: every routine, with small sizes and the system's own
library."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import math
from typing import Any

import pytest

from outboard.tune import calls, libraries, matrices, transforms
from outboard.tune.operands import Operands
from outboard.tune.plan import Size, SkippedError

ROUTINES = sorted({*calls.FIRST, *calls.LATER, *calls.QUICK})
MATRIX_ROUTINES = [name for name in ROUTINES if " " not in name]
TRANSFORMS = [name for name in ROUTINES if " " in name]
WITHOUT_INFO = ("gemm", "symm", "syrk", "herk", "trmm", "trsm")


def scope_with(*names: str) -> Any:
    """Returns the first of these libraries; the test is skipped without one."""
    for name in names:
        if found := ctypes.util.find_library(name):
            return ctypes.CDLL(found)
    pytest.skip(f"none of {names} is installed")


def size_of(n: int) -> Size:
    return Size(f"n = {n}", n**3, n * n, n)


@pytest.mark.parametrize("name", MATRIX_ROUTINES)
def test_routine_takes_its_arguments(name: str) -> None:
    library = scope_with("openblas", "lapack")
    if not hasattr(library, f"{name}_"):
        pytest.skip(f"no {name}")
    call = matrices.MatrixSeries(name, library, [library], few=True).prepare(size_of(23))
    arguments = [a for a in call._arguments if not isinstance(a, ctypes.c_size_t)]
    arrays = [a for a in arguments if isinstance(a, ctypes.Array) and len(a) > 2]
    reals = [a for a in arrays if a._type_ is not ctypes.c_int64]
    before = [list(a) for a in reals]
    for _ in range(3):
        assert call() > 0
        assert all(math.isfinite(x) for a in reals for x in a)
        if name[1:] not in WITHOUT_INFO:
            assert arguments[-1]._obj.value == 0, "info"
    assert any(list(a) != b for a, b in zip(reals, before, strict=True)), "nothing was computed"
    call.close()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"{prefix} {kind}", one)
        for prefix in ("fftw", "fftwf")
        for kind, kinds in transforms.KINDS.items()
        for one in kinds
    ],
)
@pytest.mark.parametrize("plan_s", [0.0, 0.01])
def test_transform_is_planned_and_executed(name: str, kind: transforms.Kind, plan_s: float) -> None:
    library = scope_with("fftw3f" if name.startswith("fftwf") else "fftw3")
    series = transforms.TransformSeries(name, kind, library, [library], plan_s, few=True)
    call = series.prepare(size_of(32))
    first = None
    for _ in range(3):
        assert call() > 0
        got = list(call._result)
        assert any(got)
        assert all(math.isfinite(x) for x in got)
        assert first in (None, got), "the input was not put back"
        first = got
    call.close()


def test_what_a_library_lacks_is_skipped() -> None:
    nothing = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
    with pytest.raises(SkippedError):
        matrices.MatrixSeries("dgemm", nothing, [nothing], few=True).prepare(size_of(10))
    one = transforms.KINDS["c2c"][0]
    with pytest.raises(SkippedError):
        transforms.TransformSeries("fftw c2c", one, nothing, [nothing], 0, few=True).prepare(
            size_of(16)
        )


@pytest.mark.parametrize("precision", "sdcz")
def test_operands(precision: str) -> None:
    operands = Operands(precision)
    count = 70000  # more than one period
    made = operands.random(count)
    assert len(made) == count * operands.parts
    assert ctypes.sizeof(made) == count * operands.element_bytes
    assert all(-0.5 <= x <= 0.5 for x in made)
    assert list(made[:1000]) != list(made[1000:2000])
    assert list(made[:100]) == list(made[65537:65637])
    changed = operands.overwritten(operands.random(10))
    before = list(changed)
    changed[0] = 17.0
    operands.restore()
    assert list(changed) == before
    assert list(operands.dominant(5))[:: operands.parts * 6] == [5.0] * 5


def test_series_grow_from_a_million_flop() -> None:
    for few in (False, True):
        for name in MATRIX_ROUTINES:
            sizes = list(matrices.MatrixSeries(name, None, [], few).sizes())
            works = [s.flop for s in sizes]
            assert works == sorted(works)
            assert all(b / a <= 8.1 for a, b in itertools.pairwise(works))
        for name in TRANSFORMS:
            for kind in transforms.KINDS[name.split()[1]]:
                one = transforms.TransformSeries(name, kind, None, [], 0, few)
                assert len({s.label for s in one.sizes()}) == len(list(one.sizes())) >= 4


def test_plain_names() -> None:
    assert libraries.is_plain(frozenset({"dgemm_", "sgemm_"}))
    assert libraries.is_plain(frozenset({"fftwf_execute"}))
    assert not libraries.is_plain(frozenset({"scipy_dgemm_64_", "cblas_dgemm64_"}))
