"""Calls that run on several devices, with arrays of NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from outboard.device import native

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from outboard.device.opened import Device

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def run(devices: Sequence[Device], routine: str, operands: Sequence[native.Operand]) -> None:
    """Runs a routine on the devices, and waits; the operands are those of ob_on_devices()."""
    handles = (native.Handle * len(devices))(*(device.handle for device in devices))
    arguments = (native.Operand * len(operands))(*operands)
    native.call("ob_on_devices", handles, len(devices), routine.encode(), arguments, len(operands))


def _matrix(array: NDArray[Any]) -> native.Operand:
    return native.host(array.ctypes.data, max(1, array.shape[0]))


def _vector(array: NDArray[Any]) -> native.Operand:
    return native.host(array.ctypes.data)


def _letter(array: NDArray[Any]) -> str:
    if array.dtype.name not in _LETTERS or array.ndim != 2:
        raise TypeError(
            f"an array of {array.ndim} dimensions and {array.dtype} (matrices of single and double "
            "precision are possible); convert it with astype()"
        )
    return _LETTERS[array.dtype.name]


def matmul(devices: Sequence[Device], a: ArrayLike, b: ArrayLike) -> NDArray[Any]:
    """Returns the product of two matrices, of which each device computes a part."""
    import numpy as np

    kind = np.result_type(a, b)
    left, right = np.asfortranarray(a, kind), np.asfortranarray(b, kind)
    letter = _letter(left)
    if right.ndim != 2 or left.shape[1] != right.shape[0]:
        raise ValueError(f"matrices of {left.shape} and {right.shape} have no product")
    m, k, n = left.shape[0], left.shape[1], right.shape[1]
    result = np.zeros((m, n), kind, order="F")
    alpha, _one = native.scalar(1, letter in "cz")
    beta, _zero = native.scalar(0, letter in "cz")
    sizes = [native.integer(size) for size in (m, n, k)]
    matrices = [alpha, _matrix(left), _matrix(right), beta, _matrix(result)]
    run(devices, f"{letter}gemm", [native.flag("N"), native.flag("N"), *sizes, *matrices])
    return result


def cholesky(devices: Sequence[Device], a: ArrayLike) -> tuple[NDArray[Any], int]:
    """Returns a lower factor L, a = L L^H, and LAPACK's info: 0, or the order of the first minor
    that is not positive definite. Only the lower triangle of `a` is read."""
    import numpy as np

    factor = np.array(a, order="F")
    letter = _letter(factor)
    if factor.shape[0] != factor.shape[1]:
        raise ValueError(f"a matrix of {factor.shape} is not square")
    info = ctypes.c_int64(0)
    order = native.integer(factor.shape[0])
    told = native.host(ctypes.addressof(info))
    run(devices, f"{letter}potrf", [native.flag("L"), order, _matrix(factor), told])
    return np.tril(factor), info.value


def lu(devices: Sequence[Device], a: ArrayLike) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Returns both factors in one matrix, the pivots of LAPACK (from 1), and info."""
    import numpy as np

    factors = np.array(a, order="F")
    letter = _letter(factors)
    pivots = np.zeros(min(factors.shape), np.int64)
    info = ctypes.c_int64(0)
    sizes = [native.integer(size) for size in factors.shape]
    told = native.host(ctypes.addressof(info))
    run(devices, f"{letter}getrf", [*sizes, _matrix(factors), _vector(pivots), told])
    return factors, pivots, info.value


def qr(devices: Sequence[Device], a: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns R above the reflectors in one matrix, and the factors of the reflectors, as LAPACK's
    geqrf does."""
    import numpy as np

    factors = np.array(a, order="F")
    letter = _letter(factors)
    tau = np.zeros(min(factors.shape), factors.dtype)
    info = ctypes.c_int64(0)
    sizes = [native.integer(size) for size in factors.shape]
    told = native.host(ctypes.addressof(info))
    run(devices, f"{letter}geqrf", [*sizes, _matrix(factors), _vector(tau), told])
    return factors, tau
