"""NumPy arrays as the library takes them: in place, with their strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from outboard.overlap import native

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def field_of(array: NDArray[Any], what: str, *, writes: bool) -> native.FieldStruct:
    """Returns an array whose elements the library reads or writes in place.

    `what` names the array in messages.   Raises: TypeError, ValueError
    """
    import numpy as np

    if not isinstance(array, np.ndarray):
        raise TypeError(
            f"{what} is no NumPy array but {type(array).__name__} (a copy of its elements would "
            "not be seen by the program); make a NumPy array and keep the data in it"
        )
    if writes and not array.flags.writeable:
        raise ValueError(f"{what} is read-only, but messages arrive in it; give a writable array")
    strides = element_strides(array, what)
    return layout_of(array.shape, array.dtype, strides, array.ctypes.data, what)


def layout_of(
    shape: Sequence[int], dtype: np.dtype[Any], strides: Sequence[int], data: int | None, what: str
) -> native.FieldStruct:
    """Returns elements at an address, or the layout of those that are elsewhere."""
    if dtype.hasobject:
        raise TypeError(f"{what} has Python objects (dtype {dtype}), which stay in a process")
    if dtype.itemsize == 0:
        raise TypeError(f"{what} has elements without bytes (dtype {dtype})")
    if not 1 <= len(shape) <= native.DIMS:
        raise ValueError(
            f"{what} has {len(shape)} dimensions (1 to {native.DIMS} are possible); give a view"
        )
    field = native.FieldStruct(data=data, element_bytes=dtype.itemsize, dims=len(shape))
    field.extents[: len(shape)] = list(shape)
    field.strides[: len(shape)] = list(strides)
    return field


def element_strides(array: NDArray[Any], what: str) -> list[int]:
    """Returns the strides of an array in elements, none of which is used twice."""
    item = max(1, array.dtype.itemsize)
    if any(stride % item for stride in array.strides):
        raise ValueError(
            f"{what} has strides of {array.strides} bytes (no multiples of its {item} bytes per "
            "element, as in a part of a packed record); give a whole record or a copy"
        )
    span = 0  # of the elements along the dimensions so far
    dims = list(zip(array.strides, array.shape, strict=True))
    for stride, extent in sorted((abs(s) // item, n) for s, n in dims if array.size):
        if extent > 1 and stride <= span:
            raise ValueError(
                f"{what} has elements that share memory (strides {array.strides}), as "
                "numpy.broadcast_to makes them; give a copy"
            )
        span += stride * (extent - 1)
    # A dimension of one element may have any stride, and strides of 0 mean order C.
    return [s // item if n > 1 else 1 for s, n in dims]


def packed_strides(shape: Sequence[int], order: str) -> list[int]:
    """Returns the strides of an array without gaps, in elements."""
    if order not in ("C", "F"):
        raise ValueError(f'an order "{order}" (unknown); write "C" or "F"')
    strides = [1] * len(shape)
    step = 1
    dims = range(len(shape))
    for d in dims if order == "F" else reversed(dims):
        strides[d] = step
        step *= max(1, shape[d])
    return strides
