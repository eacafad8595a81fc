"""Boxes of cells."""

from __future__ import annotations

from collections.abc import Sequence

from outboard.overlap import native
from outboard.overlap.failures import refusal


class Box(tuple[slice, ...]):
    """Cells of an array: a slice for each dimension, so that `u[box]` is a view of them."""

    @property
    def empty(self) -> bool:
        return any(cells.stop <= cells.start for cells in self)

    def shift(self, *by: int) -> Box:
        """Returns the box moved by so many cells along each dimension."""
        if len(by) != len(self):
            raise ValueError(f"a shift by {by} of a box of {len(self)} dimensions")
        return Box(slice(s.start + n, s.stop + n) for s, n in zip(self, by, strict=True))


def box_of(struct: native.BoxStruct, dims: int) -> Box:
    return Box(slice(struct.low[d], struct.high[d]) for d in range(dims))


def struct_of(box: Sequence[slice]) -> native.BoxStruct:
    """Returns slices with a beginning and an end as the library takes them."""
    struct = native.BoxStruct()
    struct.high[:] = [1] * native.DIMS
    if not 1 <= len(box) <= native.DIMS:
        raise refusal(f"a box of {len(box)} dimensions (1 to 4 are possible)")
    for d, cells in enumerate(box):
        if cells.start is None or cells.stop is None or cells.step not in (None, 1):
            raise refusal(f"{cells} in a box; give it a beginning, an end and no step")
        struct.low[d] = cells.start
        struct.high[d] = cells.stop
    return struct


def whole(shape: Sequence[int]) -> native.BoxStruct:
    """Returns all cells of an array."""
    return struct_of([slice(0, extent) for extent in shape])
