"""Arrays on a device, of one or two dimensions, without gaps."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from outboard.device import native

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray


# DLPack's kinds of devices (dlpack.h): kDLCPU and kDLExtDev.
_CPU = (1, 0)
_EXTENSION_DEVICE = 12


def _takes_versions() -> bool:
    """True if this NumPy knows the versions of DLPack; from 2.1 on."""
    import numpy as np

    return tuple(int(part) for part in np.__version__.split(".")[:2]) >= (2, 1)


class CommandQueue(Protocol):
    """The part of a queue that arrays use."""

    @property
    def handle(self) -> Any: ...
    def call(self, routine: str, operands: Sequence[native.Operand]) -> None: ...


class Owner(Protocol):
    """The part of a device that arrays use."""

    @property
    def handle(self) -> Any: ...
    @property
    def own_queue(self) -> CommandQueue: ...
    @property
    def plans(self) -> Any: ...


class Buffer:
    """The memory of arrays. A transposed array shares it."""

    def __init__(self, device: Owner, size_bytes: int) -> None:
        self.handle: Any = None
        made = native.Handle()
        # An empty array has memory, too, because the library has no empty buffers.
        native.call("ob_buffer_create", device.handle, max(1, size_bytes), 0, ctypes.byref(made))
        self.handle = made

    def __del__(self) -> None:
        # If the device is closed, the buffer has ended with it.
        if self.handle is not None:
            native.end("ob_buffer_destroy", self.handle)


class Array:
    """Elements in the memory of a device.

    `a @ b` computes products on the device's own queue; `numpy()` brings the elements back.
    """

    __array_ufunc__ = None  # NumPy leaves `numpy_array @ array` to this class

    def __init__(
        self, device: Owner, shape: Sequence[int], dtype: DTypeLike = "float64", order: str = "F"
    ) -> None:
        import numpy as np

        if order not in ("F", "C"):
            raise ValueError(f'an order "{order}" (unknown); write "F" or "C"')
        self.device = device
        self.shape = tuple(int(extent) for extent in shape)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        if self.dtype.hasobject:
            raise TypeError("an array of Python objects (a device has none); use numbers")
        if not 1 <= len(self.shape) <= 2 or min(self.shape) < 0:
            raise ValueError(f"a shape {self.shape}; arrays have one or two dimensions")
        self.order = order
        self._memory = Buffer(device, self.nbytes)

    @property
    def buffer(self) -> Any:
        """The handle of the buffer."""
        return self._memory.handle

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> Array:  # noqa: N802
        """The transposed array, in the same memory. NumPy gave it this name."""
        view = Array.__new__(Array)
        view.device = self.device
        view.shape = self.shape[::-1]
        view.dtype = self.dtype
        view.order = "C" if self.order == "F" else "F"
        view._memory = self._memory
        return view

    @property
    def _numpy_order(self) -> Literal["F", "C"]:
        return "F" if self.order == "F" else "C"

    def __repr__(self) -> str:
        return f"<device array, shape {self.shape}, {self.dtype}, order {self.order}>"

    def copy(self, queue: CommandQueue | None = None) -> Array:
        """Returns a copy in memory of its own, after the commands of the queue so far."""
        made = Array(self.device, self.shape, self.dtype, self.order)
        chosen = queue or self.device.own_queue
        to, source = native.Place(made.buffer, 0), native.Place(self.buffer, 0)
        native.call("ob_copy", chosen.handle, to, source, self.nbytes)
        return made

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """For np.asarray(): brings the elements to the host."""
        if copy is False:
            raise ValueError("the elements lie on a device; only copies reach the host")
        elements = self.numpy()
        return elements if dtype is None else elements.astype(dtype, copy=False)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Tells consumers of DLPack that the elements lie on none of their devices."""
        return _EXTENSION_DEVICE, 0

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Exports a copy in host memory, for np.from_dlpack(array, device="cpu") and its like.

        Raises: BufferError for any other device, or without a copy
        """
        if dl_device is None or tuple(dl_device) != _CPU:
            raise BufferError("the elements lie on a remote device; ask for device='cpu'")
        if copy is False:
            raise BufferError("the elements lie on a remote device; allow a copy")
        elements = self.numpy()
        if max_version is None or not _takes_versions():
            return elements.__dlpack__()
        return elements.__dlpack__(max_version=max_version)

    def __matmul__(self, other: object) -> Array:
        if not isinstance(other, Array):
            return NotImplemented
        return multiply(self, other)

    def numpy(self, queue: CommandQueue | None = None) -> NDArray[Any]:
        """Returns the elements, after the commands of the queue so far."""
        import numpy as np

        result: NDArray[Any] = np.empty(self.shape, self.dtype, order=self._numpy_order)
        chosen = queue or self.device.own_queue
        place = native.Place(self.buffer, 0)
        native.call("ob_read", chosen.handle, result.ctypes.data, place, result.nbytes, native.WAIT)
        return result

    def packed(self, host: ArrayLike) -> NDArray[Any]:
        """Returns the elements of `host` as they lie in this array; copies if need be."""
        import numpy as np

        elements: NDArray[Any] = np.asarray(host, dtype=self.dtype, order=self._numpy_order)
        if elements.shape != self.shape:
            raise ValueError(f"an array of shape {elements.shape} for one of {self.shape}")
        return elements

    def check_destination(self, host: NDArray[Any]) -> None:
        """Raises ValueError if elements cannot be copied to `host` as they lie here."""
        contiguous = host.flags.f_contiguous if self.order == "F" else host.flags.c_contiguous
        fits = host.shape == self.shape and host.dtype == self.dtype
        if not (fits and contiguous and host.flags.writeable):
            raise ValueError(
                f"the destination does not fit {self!r}; make it with numpy.empty() of that shape, "
                "type and order"
            )


# The routine of each element type.
_GEMM = {"float32": "sgemm", "float64": "dgemm", "complex64": "cgemm", "complex128": "zgemm"}


def _stored(array: Array, rows: int, cols: int) -> tuple[str, int]:
    """Returns how gemm takes a matrix: flag and leading dimension. A matrix in C order is the
    transpose of one in Fortran order."""
    if array.order == "F" or array.ndim == 1:
        return "N", max(1, rows)
    return "T", max(1, cols)


def multiply(a: Array, b: Array) -> Array:
    """Returns a @ b. A vector on the left is a row, on the right a column, as in NumPy."""
    routine = _GEMM.get(a.dtype.name)
    if routine is None or a.dtype != b.dtype or not a.dtype.isnative:
        raise TypeError(
            f"a product of {a.dtype} and {b.dtype} (no routine computes it); use two arrays of one "
            "type: float32, float64, complex64 or complex128"
        )
    if a.device is not b.device:
        raise ValueError("a product of arrays of two devices; copy one of them")
    if a.ndim == 1 and b.ndim == 1:
        raise ValueError("a product of two vectors; use a matrix of one row for one of them")
    m, k = a.shape if a.ndim == 2 else (1, a.shape[0])
    rows, n = b.shape if b.ndim == 2 else (b.shape[0], 1)
    if rows != k:
        raise ValueError(f"a product of shapes {a.shape} and {b.shape} (the inner extents differ)")
    shape = [m] * (a.ndim - 1) + [n] * (b.ndim - 1)
    result = Array(a.device, shape, a.dtype, "F")
    trans_a, lda = _stored(a, m, k)
    trans_b, ldb = _stored(b, k, n)
    is_complex = a.dtype.kind == "c"
    alpha, keep_alpha = native.scalar(1, is_complex)
    beta, keep_beta = native.scalar(0, is_complex)
    operands = [
        native.flag(trans_a),
        native.flag(trans_b),
        native.integer(m),
        native.integer(n),
        native.integer(k),
        alpha,
        native.matrix(a.buffer, lda),
        native.matrix(b.buffer, ldb),
        beta,
        native.matrix(result.buffer, max(1, m)),
    ]
    if m > 0 and n > 0:
        a.device.own_queue.call(routine, operands)
    del keep_alpha, keep_beta  # the library has read them
    return result
