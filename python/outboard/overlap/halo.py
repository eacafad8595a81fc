"""Plans that fill ghost cells."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from outboard.overlap import native
from outboard.overlap.agreement import agreed
from outboard.overlap.box import Box, box_of
from outboard.overlap.fields import field_of
from outboard.overlap.plan import ExchangePlan
from outboard.overlap.runtime import Runtime

if TYPE_CHECKING:
    import numpy as np
    from mpi4py import MPI
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Stencil:
    """The cells that an update reads; made by star(), cube() or offsets()."""

    kind: int
    reach: int = 0
    cells: tuple[tuple[int, ...], ...] = ()


def star(reach: int = 1) -> Stencil:
    """The cells along the axes, up to `reach` away."""
    return Stencil(native.STAR, reach)


def cube(reach: int = 1) -> Stencil:
    """The cells along axes and diagonals, up to `reach` away along each axis."""
    return Stencil(native.CUBE, reach)


def offsets(cells: Sequence[Sequence[int]]) -> Stencil:
    """The cells at these offsets."""
    return Stencil(native.OFFSETS, cells=tuple(tuple(int(n) for n in cell) for cell in cells))


class HaloPlan(ExchangePlan):
    """Fills the ghost cells of arrays of one shape, which share a message for each neighbour.

    Dimension d of the arrays is dimension d of the Cartesian communicator, which also says what is
    periodic. The arrays include the ghost cells.   `ghost`: the widths as numpy.pad() takes them: a
    number, a pair (before, after), or such a pair for each dimension.   `mask`: the cells that
    travel, as an array of bool with the shape of the arrays; a cell and its copies in the ghost
    cells of other ranks are marked alike. None: all cells travel.
    """

    def __init__(
        self,
        runtime: Runtime,
        cart: MPI.Comm,
        fields: NDArray[Any] | Sequence[NDArray[Any]],
        *,
        ghost: ArrayLike = 1,
        stencil: Stencil = star(1),  # noqa: B008  (it is frozen)
        mask: NDArray[np.bool_] | None = None,
        name: str = "halo",
    ) -> None:
        import numpy as np

        handle, raw_comm = runtime.handle, native.comm_handle(cart)
        arrays = [fields] if isinstance(fields, np.ndarray) else list(fields)
        options = agreed(cart, lambda: _options(arrays, ghost, stencil, mask, name))
        made = native.Handle()
        native.call("ob_overlap_halo", handle, raw_comm, options, made)
        super().__init__(runtime, cart, made)
        self._arrays += arrays
        self._dims = arrays[0].ndim

    @property
    def interior(self) -> Box:
        """The cells that can be updated between start and wait: they read no ghost cell that is
        received and write no cell that is sent. The box may be empty."""
        struct = native.BoxStruct()
        native.call("ob_overlap_interior", self.handle, struct)
        return box_of(struct, self._dims)

    @property
    def boundary(self) -> list[Box]:
        """The other cells of this rank, as disjoint boxes."""
        structs, count = (native.BoxStruct * 8)(), ctypes.c_int32()
        native.call("ob_overlap_boundary", self.handle, structs, count)
        return [box_of(struct, self._dims) for struct in structs[: count.value]]


def _options(
    arrays: list[NDArray[Any]],
    ghost: ArrayLike,
    stencil: Stencil,
    mask: NDArray[np.bool_] | None,
    name: str,
) -> native.HaloStruct:
    import numpy as np

    if not arrays:
        raise ValueError("a halo plan without arrays")
    fields = [
        field_of(array, f"array {i} of {name}", writes=True) for i, array in enumerate(arrays)
    ]
    dims = arrays[0].ndim
    widths = np.asarray(ghost)
    if widths.dtype.kind not in "iu" or widths.shape not in ((), (1,), (2,), (1, 2), (dims, 2)):
        raise ValueError(
            f"ghost widths {ghost!r} (unknown); give an integer, (before, after), or such a pair "
            f"for each of {dims} dimensions"
        )
    widths = np.broadcast_to(widths, (dims, 2))
    if any(len(cell) != dims for cell in stencil.cells):
        raise ValueError(
            f"a stencil of offsets that do not have {dims} numbers, as the arrays have"
        )
    options = native.HaloStruct(
        struct_bytes=ctypes.sizeof(native.HaloStruct),
        name=name.encode(),
        stencil=stencil.kind,
        reach=stencil.reach,
        offsets=(native.Index * len(stencil.cells))(*(native.Index(*c) for c in stencil.cells)),
        offset_count=len(stencil.cells),
        fields=(native.FieldStruct * len(fields))(*fields),
        field_count=len(fields),
    )
    if mask is not None:
        marks = field_of(mask, f"the mask of {name}", writes=False)
        if mask.dtype != np.bool_:
            raise TypeError(f"the mask of {name} has elements of {mask.dtype}; give bool")
        options.mask = ctypes.pointer(marks)
    options.ghost_low[:dims] = widths[:, 0].tolist()
    options.ghost_high[:dims] = widths[:, 1].tolist()
    return options
