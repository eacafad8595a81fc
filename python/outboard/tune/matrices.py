"""The BLAS and LAPACK routines to measure, and their arguments for n x n matrices."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from outboard.tune.operands import Operands, integer, text
from outboard.tune.plan import Size, SkippedError

# The sizes start at 10^6 flop of a product. The factor between them is about 4 in flop, or 8 where
# the measurement must be fast.
SIZES = (80, 128, 200, 320, 512, 800, 1280, 2048, 3200, 5120, 8192, 12800)
FEW_SIZES = (100, 200, 400, 800, 1600, 3200, 6400)
_RIGHT_SIDES = 16  # right-hand sides of systems of equations
_PANEL = 64  # workspace per column: LAPACK's block size

Arguments = list[Any]
Build = Callable[[Operands, int], Arguments]


def _gemm(o: Operands, n: int) -> Arguments:
    a, b, c, size = o.random(n * n), o.random(n * n), o.empty(n * n), integer(n)
    one, zero = o.scalar(1.0), o.scalar(0.0)
    return [text("N"), text("N"), size, size, size, one, a, size, b, size, zero, c, size]


def _symm(o: Operands, n: int) -> Arguments:
    a, b, c, size = o.random(n * n), o.random(n * n), o.empty(n * n), integer(n)
    one, zero = o.scalar(1.0), o.scalar(0.0)
    return [text("L"), text("L"), size, size, one, a, size, b, size, zero, c, size]


def _syrk(o: Operands, n: int) -> Arguments:
    a, c, size = o.random(n * n), o.empty(n * n), integer(n)
    one, zero = o.scalar(1.0), o.scalar(0.0)
    return [text("L"), text("N"), size, size, one, a, size, zero, c, size]


def _herk(o: Operands, n: int) -> Arguments:
    a, c, size = o.random(n * n), o.empty(n * n), integer(n)
    one, zero = o.real_scalar(1.0), o.real_scalar(0.0)
    return [text("L"), text("N"), size, size, one, a, size, zero, c, size]


def _triangular(o: Operands, n: int) -> Arguments:
    """Makes the arguments of trmm and trsm."""
    a, b, size = o.dominant(n), o.overwritten(o.random(n * n)), integer(n)
    flags = [text("L"), text("L"), text("N"), text("N")]
    return [*flags, size, size, o.scalar(1.0), a, size, b, size]


def _getrf(o: Operands, n: int) -> Arguments:
    a, size = o.overwritten(o.dominant(n)), integer(n)
    return [size, size, a, size, (ctypes.c_int64 * n)(), integer(0)]


def _gesv(o: Operands, n: int) -> Arguments:
    a, b = o.overwritten(o.dominant(n)), o.overwritten(o.random(n * _RIGHT_SIDES))
    size, sides, pivots = integer(n), integer(_RIGHT_SIDES), (ctypes.c_int64 * n)()
    return [size, sides, a, size, pivots, b, size, integer(0)]


def _potrf(o: Operands, n: int) -> Arguments:
    a, size = o.overwritten(o.dominant(n)), integer(n)
    return [text("L"), size, a, size, integer(0)]


def _geqrf(o: Operands, n: int) -> Arguments:
    a, size = o.overwritten(o.random(n * n)), integer(n)
    count = n * _PANEL
    return [size, size, a, size, o.empty(n), o.empty(count), integer(count), integer(0)]


def _gels(o: Operands, n: int) -> Arguments:
    a, b = o.overwritten(o.dominant(n)), o.overwritten(o.random(n * _RIGHT_SIDES))
    size, sides, count = integer(n), integer(_RIGHT_SIDES), 2 * n * _PANEL
    tail = [o.empty(count), integer(count), integer(0)]
    return [text("N"), size, size, sides, a, size, b, size, *tail]


def _syev(o: Operands, n: int) -> Arguments:
    a, size, count = o.overwritten(o.random(n * n)), integer(n), n * (_PANEL + 2)
    work = [o.empty(count), integer(count)]
    return [text("V"), text("L"), size, a, size, o.empty(n), *work, integer(0)]


def _syevd(o: Operands, n: int) -> Arguments:
    a, size = o.overwritten(o.random(n * n)), integer(n)
    count, whole = 1 + 6 * n + 2 * n * n, 3 + 5 * n
    work = [o.empty(count), integer(count), (ctypes.c_int64 * whole)(), integer(whole)]
    return [text("V"), text("L"), size, a, size, o.empty(n), *work, integer(0)]


def _gesvd(o: Operands, n: int) -> Arguments:
    a, u, v, size = o.overwritten(o.random(n * n)), o.empty(n * n), o.empty(n * n), integer(n)
    count = n * (n + _PANEL + 5)
    out = [o.empty(n), u, size, v, size]
    work = [o.empty(count), integer(count), integer(0)]
    return [text("S"), text("S"), size, size, a, size, *out, *work]


def _gesdd(o: Operands, n: int) -> Arguments:
    a, u, v, size = o.overwritten(o.random(n * n)), o.empty(n * n), o.empty(n * n), integer(n)
    count = n * (4 * n + _PANEL + 7)
    out = [o.empty(n), u, size, v, size]
    work = [o.empty(count), integer(count), (ctypes.c_int64 * (8 * n))(), integer(0)]
    return [text("S"), size, size, a, size, *out, *work]


@dataclass(frozen=True)
class Family:
    """Routines that differ only in precision."""

    build: Build
    flop: float  # factor of n^3, for real elements
    matrices: int  # number of n x n matrices; a matrix that is restored counts twice


FAMILIES = {
    "gemm": Family(_gemm, 2, 3),
    "symm": Family(_symm, 2, 3),
    "syrk": Family(_syrk, 1, 2),
    "herk": Family(_herk, 1, 2),
    "trmm": Family(_triangular, 1, 3),
    "trsm": Family(_triangular, 1, 3),
    "getrf": Family(_getrf, 2 / 3, 2),
    "gesv": Family(_gesv, 2 / 3, 2),
    "potrf": Family(_potrf, 1 / 3, 2),
    "geqrf": Family(_geqrf, 4 / 3, 2),
    "gels": Family(_gels, 4 / 3, 2),
    "syev": Family(_syev, 9, 2),
    "syevd": Family(_syevd, 5, 4),
    "gesvd": Family(_gesvd, 22, 5),
    "gesdd": Family(_gesdd, 9, 8),
}


class MatrixCall:
    """A routine with its operands."""

    def __init__(self, function: Any, operands: Operands, arguments: Arguments, texts: int) -> None:
        self._function = function
        self._operands = operands
        # The hidden lengths of Fortran's character arguments come last.
        self._arguments = arguments + [ctypes.c_size_t(1)] * texts

    def __call__(self) -> float:
        self._operands.restore()
        begin = time.perf_counter()
        self._function(*self._arguments)
        return time.perf_counter() - begin

    def close(self) -> None:
        self._arguments = []


class MatrixSeries:
    """One routine of the BLAS or of LAPACK. `scope` finds the entry of the drop-in library;
    `originals` are the libraries behind it."""

    def __init__(self, name: str, scope: Any, originals: Sequence[Any], few: bool) -> None:
        self.name = name
        self._family = FAMILIES[name[1:]]
        self._scope = scope
        self._originals = originals
        self._few = few

    def sizes(self) -> Iterator[Size]:
        element = Operands(self.name[0]).element_bytes
        work = self._family.flop * (4 if self.name[0] in "cz" else 1)
        for n in FEW_SIZES if self._few else SIZES:
            yield Size(f"n = {n}", work * n**3, self._family.matrices * n * n * element, n)

    def prepare(self, size: Size) -> MatrixCall:
        symbol = self.name + "_"
        if not any(hasattr(library, symbol) for library in self._originals):
            raise SkippedError("the local library does not have it")
        operands = Operands(self.name[0])
        arguments = self._family.build(operands, size.n)
        function = getattr(self._scope, symbol)
        function.restype = None
        texts = sum(type(a) is _BY_REFERENCE and _is_text(a) for a in arguments)
        return MatrixCall(function, operands, arguments, texts)


_BY_REFERENCE = type(ctypes.byref(ctypes.c_char()))


def _is_text(reference: Any) -> bool:
    return isinstance(reference._obj, ctypes.c_char)
