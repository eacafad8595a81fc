"""Fourier transforms of arrays of a device, with NumPy's definitions and normalisation.

    f = fft.rfft(a)
    b = fft.irfft(f, a.shape[-1])

`fft`, `ifft`, `rfft` and `irfft` transform the last axis of arrays in C order; `fftn` and `ifftn`
transform all axes, in either order. Plans are kept with the device. The operands keep their
elements, and nothing waits for the work.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from outboard.device import native
from outboard.device.array import Array

_C2C, _R2C, _C2R = 0, 1, 2
# The other type of elements, for transforms between real and complex ones.
_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_REAL = {other: real for real, other in _COMPLEX.items()}
_SCALE = {"float32": "sscal", "float64": "dscal", "complex64": "csscal", "complex128": "zdscal"}
_MOST_PLANS = 64  # of a device


class _Shape(NamedTuple):
    """What a plan is made for."""

    kind: int
    is_double: bool
    sign: int
    extents: tuple[int, ...]
    batch: int


class Plans:
    """The plans of a device. A new plan replaces the one that was not used for longest."""

    def __init__(self) -> None:
        self._made: dict[_Shape, Any] = {}

    def plan(self, device: Any, shape: _Shape) -> Any:
        handle = self._made.pop(shape, None) or _make(device, shape)
        self._made[shape] = handle
        if len(self._made) > _MOST_PLANS:
            oldest = next(iter(self._made))
            native.call("ob_plan_destroy", self._made.pop(oldest))
        return handle


def fft(a: Array) -> Array:
    """The transform of the last axis of a complex array."""
    return _along_last_axis(a, -1)


def ifft(a: Array) -> Array:
    """The inverse of fft()."""
    return _scaled(_along_last_axis(a, 1), a.shape[-1])


def fftn(a: Array) -> Array:
    """The transform of all axes of a complex array."""
    return _along_all_axes(a, -1)


def ifftn(a: Array) -> Array:
    """The inverse of fftn()."""
    return _scaled(_along_all_axes(a, 1), a.size)


def rfft(a: Array) -> Array:
    """The transform of the last axis of a real array: the first n // 2 + 1 elements."""
    _check(a, _COMPLEX, "rfft")
    length = a.shape[-1]
    shape = (*a.shape[:-1], length // 2 + 1)
    result = Array(a.device, shape, _COMPLEX[a.dtype.name], "C")
    return _execute(a, result, _shape(a, _R2C, -1, (length,), a.size // length))


def irfft(a: Array, n: int | None = None) -> Array:
    """The inverse of rfft(), with `n` elements in the last axis; by default an even number."""
    _check(a, _REAL, "irfft")
    length = 2 * (a.shape[-1] - 1) if n is None else n
    if length < 1 or length // 2 + 1 != a.shape[-1]:
        raise ValueError(
            f"irfft() of {a.shape[-1]} elements gives {2 * (a.shape[-1] - 1)} or "
            f"{2 * a.shape[-1] - 1}, not {length}"
        )
    shape = (*a.shape[:-1], length)
    result = Array(a.device, shape, _REAL[a.dtype.name], "C")
    # A transform to real elements may destroy its input.
    _execute(a.copy(), result, _shape(a, _C2R, 1, (length,), result.size // length))
    return _scaled(result, length)


def _check(a: Array, types: dict[str, str], function: str) -> None:
    if a.dtype.name not in types or not a.dtype.isnative or a.size == 0:
        raise TypeError(
            f"{function}() takes an array of {' or '.join(types)} that is not empty (it got {a!r})"
        )
    if a.ndim == 2 and a.order != "C":
        raise ValueError(
            f"{function}() transforms the last axis, of an array in C order (it got Fortran order);"
            " make it with gpu.array(numpy.ascontiguousarray(a))"
        )


def _shape(a: Array, kind: int, sign: int, extents: tuple[int, ...], batch: int) -> _Shape:
    return _Shape(kind, a.dtype.name in ("float64", "complex128"), sign, extents, batch)


def _along_last_axis(a: Array, sign: int) -> Array:
    _check(a, _REAL, "fft" if sign < 0 else "ifft")
    length = a.shape[-1]
    result = Array(a.device, a.shape, a.dtype, a.order)
    return _execute(a, result, _shape(a, _C2C, sign, (length,), a.size // length))


def _along_all_axes(a: Array, sign: int) -> Array:
    if a.order == "C":
        _check(a, _REAL, "fftn" if sign < 0 else "ifftn")
        extents = a.shape
    else:  # the same memory is an array in C order with the axes turned round
        _check(a.T, _REAL, "fftn" if sign < 0 else "ifftn")
        extents = a.shape[::-1]
    result = Array(a.device, a.shape, a.dtype, a.order)
    return _execute(a, result, _shape(a, _C2C, sign, extents, 1))


def _make(device: Any, shape: _Shape) -> Any:
    transform = native.FftStruct(
        struct_bytes=ctypes.sizeof(native.FftStruct),
        kind=shape.kind,
        precision=1 if shape.is_double else 0,
        sign=shape.sign,
        in_place=0,
        rank=len(shape.extents),
        batch=shape.batch,
    )
    for axis, extent in enumerate(shape.extents):
        transform.n[axis] = extent
    made = native.Handle()
    native.call("ob_plan_create", device.handle, ctypes.byref(transform), ctypes.byref(made))
    return made


def _execute(a: Array, result: Array, shape: _Shape) -> Array:
    plan = a.device.plans.plan(a.device, shape)
    places = (native.Place(a.buffer, 0), native.Place(result.buffer, 0))
    native.call("ob_plan_execute", plan, a.device.own_queue.handle, *places)
    return result


def _scaled(a: Array, divisor: int) -> Array:
    factor, _ = native.scalar(1 / divisor, is_complex=False)
    operands = (native.integer(a.size), factor, native.matrix(a.buffer, 1))
    a.device.own_queue.call(_SCALE[a.dtype.name], operands)
    return a
