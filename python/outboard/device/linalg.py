"""LAPACK on arrays of a device: device in, device out, without waiting for the work.

    factor, info = linalg.cholesky(a)
    x, info = linalg.solve(a, b)
    linalg.check(info)                 # waits; raises numpy.linalg.LinAlgError

Matrices are arrays of two dimensions in Fortran order; a symmetric matrix may have either order.
`info` is LAPACK's, an array of one integer on the device. The operands keep their elements.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from outboard.device import native
from outboard.device.array import Array

# The letter of the routines of each element type, and the type of the real numbers beside them.
_PRECISIONS = {
    "float32": ("s", "float32"),
    "float64": ("d", "float64"),
    "complex64": ("c", "float32"),
    "complex128": ("z", "float64"),
}


class Factor(NamedTuple):
    factor: Array
    info: Array


class Solution(NamedTuple):
    x: Array
    info: Array


class Qr(NamedTuple):
    q: Array
    r: Array
    info: Array


class Eigen(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array
    info: Array


class Svd(NamedTuple):
    u: Array
    s: Array
    vh: Array
    info: Array


def cholesky(a: Array) -> Factor:
    """Factors a symmetric (Hermitian) positive definite matrix: a = l l^H, l lower triangular.
    Reads the lower triangle of `a`."""
    n = _order(a, "cholesky")
    factor = a.copy()
    info = _info(a)
    uplo, full = ("L", _lower) if a.order == "F" else ("U", _upper)  # C order is the transpose
    _call(a, "potrf", native.flag(uplo), native.integer(n), _matrix(factor), _vector(info))
    return Factor(full(factor), info)


def solve(a: Array, b: Array) -> Solution:
    """Solves a x = b, for a right-hand side or a matrix of them."""
    n = _order(a, "solve")
    if b.device is not a.device or b.dtype != a.dtype:
        raise TypeError("solve() takes two arrays of one device and one type")
    if b.shape[0] != n:
        raise ValueError(f"shapes {a.shape} and {b.shape} do not fit in solve()")
    if b.ndim == 2:
        b = _fortran(b, "solve")
    factor, x, info = a.copy(), b.copy(), _info(a)
    pivots = Array(a.device, (n,), "int64")
    columns = native.integer(b.shape[1] if b.ndim == 2 else 1)
    order = native.integer(n)
    if a.order == "F":
        operands = (_matrix(factor), _vector(pivots), _matrix(x), _vector(info))
        _call(a, "gesv", order, columns, *operands)
        return Solution(x, info)
    # C order is the transpose. Its factors of a singular matrix give no solution, as in gesv.
    _call(a, "getrf", order, order, _matrix(factor), _vector(pivots), _vector(info))
    unused = _info(a)  # getrs has no failure of its own
    operands = (_matrix(factor), _vector(pivots), _matrix(x), _vector(unused))
    _call(a, "getrs", native.flag("T"), order, columns, *operands)
    return Solution(x, info)


def qr(a: Array) -> Qr:
    """Factors a = q r: q has min(m, n) orthonormal columns, r is upper triangular."""
    letter, _ = _precision(a, "qr")
    a = _fortran(a, "qr")
    m, n = a.shape
    least = min(m, n)
    factor, info = a.copy(), _info(a)
    tau = Array(a.device, (least,), a.dtype)
    rows, inner = native.integer(m), native.integer(least)
    _call(a, "geqrf", rows, native.integer(n), _matrix(factor), _vector(tau), _vector(info))
    q = _part(factor, m, least)
    reflectors = "ungqr" if letter in "cz" else "orgqr"
    unused = _info(a)  # geqrf and orgqr have no failures
    _call(a, reflectors, rows, inner, inner, _matrix(q), _vector(tau), _vector(unused))
    return Qr(q, _upper(factor, least), info)


def eigh(a: Array) -> Eigen:
    """Eigenvalues, ascending, and eigenvectors of a symmetric (Hermitian) matrix. Reads the lower
    triangle of `a`."""
    letter, real = _precision(a, "eigh")
    n = _order(a, "eigh")
    if a.order == "C" and letter in "cz":
        _fortran(a, "eigh")  # the transpose of a Hermitian matrix has conjugate vectors
    vectors, info = a.copy(), _info(a)
    vectors.order = "F"
    values = Array(a.device, (n,), real)
    operands = (native.integer(n), _matrix(vectors), _vector(values), _vector(info))
    routine = "heevd" if letter in "cz" else "syevd"
    _call(a, routine, native.flag("V"), native.flag("L" if a.order == "F" else "U"), *operands)
    return Eigen(values, vectors, info)


def svd(a: Array) -> Svd:
    """Factors a = u diag(s) vh, with the first min(m, n) vectors of each side."""
    _, real = _precision(a, "svd")
    a = _fortran(a, "svd")
    m, n = a.shape
    least = min(m, n)
    u = Array(a.device, (m, least), a.dtype)
    vh = Array(a.device, (least, n), a.dtype)
    s, info, work = Array(a.device, (least,), real), _info(a), a.copy()
    results = (_vector(s), _matrix(u), _matrix(vh), _vector(info))
    shape = (native.integer(m), native.integer(n))
    _call(a, "gesdd", native.flag("S"), *shape, _matrix(work), *results)
    return Svd(u, s, vh, info)


def check(info: Array) -> None:
    """Waits for `info`.   Raises: numpy.linalg.LinAlgError if it is not 0"""
    import numpy as np

    number = int(info.numpy()[0])
    if number != 0:
        raise np.linalg.LinAlgError(
            f"info = {number}: the matrix is singular or not positive definite, or an iteration "
            "did not converge; LAPACK's page of the routine says what the number means"
        )


# --- operands ------------------------------------------------------------------------------------


def _precision(a: Array, function: str) -> tuple[str, str]:
    found = _PRECISIONS.get(a.dtype.name) if a.dtype.isnative else None
    if found is None or a.ndim != 2 or min(a.shape) == 0:
        raise TypeError(
            f"{function}() takes a matrix of float32, float64, complex64 or complex128 that is "
            f"not empty (it got {a!r})"
        )
    return found


def _order(a: Array, function: str) -> int:
    _precision(a, function)
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"{function}() takes a square matrix (it got shape {a.shape})")
    return a.shape[0]


def _fortran(a: Array, function: str) -> Array:
    """Returns `a`, or if it has a single row or column, the same memory in Fortran order."""
    if a.order == "F":
        return a
    if min(a.shape) > 1:
        raise ValueError(
            f"{function}() takes a matrix in Fortran order (it got C order); make it with "
            "gpu.array(numpy.asfortranarray(a))"
        )
    view = a.T
    view.shape = a.shape
    return view


def _info(a: Array) -> Array:
    return Array(a.device, (1,), "int64")


def _matrix(a: Array) -> native.Operand:
    rows, cols = (a.shape[0], 1) if a.ndim == 1 else a.shape
    return native.matrix(a.buffer, max(1, rows if a.order == "F" or a.ndim == 1 else cols))


def _vector(a: Array) -> native.Operand:
    return native.matrix(a.buffer, 0)


def _call(a: Array, base: str, *operands: native.Operand) -> None:
    letter, _ = _PRECISIONS[a.dtype.name]
    a.device.own_queue.call(letter + base, operands)


# --- parts of matrices ---------------------------------------------------------------------------


def _zeros(like: Array, rows: int, cols: int, order: str) -> Array:
    """Makes a matrix of zeros on the device, as a product with no inner dimension."""
    made = Array(like.device, (rows, cols), like.dtype, order)
    is_complex = like.dtype.kind == "c"
    zero, keep = native.scalar(0, is_complex)
    ld = rows if order == "F" else cols
    nothing = native.matrix(None, max(rows, cols))
    shape = (native.integer(ld), native.integer(made.size // ld), native.integer(0))
    flags = (native.flag("N"), native.flag("N"))
    result = native.matrix(made.buffer, ld)
    _call(like, "gemm", *flags, *shape, zero, nothing, nothing, zero, result)
    del keep  # the library has read it
    return made


def _copy_columns(source: Array, target: Array, parts: list[tuple[int, int]]) -> Array:
    """Copies elements from the first to before the second of each column, as the matrices lie in
    memory."""
    size = source.dtype.itemsize
    source_ld = source.shape[0] if source.order == "F" else source.shape[1]
    target_ld = target.shape[0] if target.order == "F" else target.shape[1]
    queue: Any = source.device.own_queue.handle
    for column, (first, end) in enumerate(parts):
        to = native.Place(target.buffer, (column * target_ld + first) * size)
        start = native.Place(source.buffer, (column * source_ld + first) * size)
        native.call("ob_copy", queue, to, start, (end - first) * size)
    return target


def _lower(a: Array) -> Array:
    """The lower triangle of a square matrix in Fortran order, with zeros above."""
    n = a.shape[0]
    return _copy_columns(a, _zeros(a, n, n, a.order), [(column, n) for column in range(n)])


def _upper(a: Array, rows: int | None = None) -> Array:
    """The upper triangle of the first rows, as the matrix lies in memory, with zeros below."""
    count = a.shape[0] if rows is None else rows
    parts = [(0, min(column + 1, count)) for column in range(a.shape[1])]
    return _copy_columns(a, _zeros(a, count, a.shape[1], a.order), parts)


def _part(a: Array, rows: int, cols: int) -> Array:
    """The first columns of a matrix in Fortran order, in memory of their own."""
    made = Array(a.device, (rows, cols), a.dtype)
    return _copy_columns(a, made, [(0, rows)] * cols)
