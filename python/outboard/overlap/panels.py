"""Plans that send panels from their owners to a group."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from outboard.overlap import native
from outboard.overlap.agreement import agreed
from outboard.overlap.fields import element_strides, field_of, layout_of, packed_strides
from outboard.overlap.plan import Plan
from outboard.overlap.runtime import Runtime

if TYPE_CHECKING:
    import numpy as np
    from mpi4py import MPI
    from numpy.typing import DTypeLike, NDArray

Broadcast = Literal["automatic", "ring", "tree"]  # in the library's order


class PanelPlan(Plan):
    """Sends panels from their owners to all ranks of a group, several at a time.

        a = PanelPlan(rt, row)
        for k in range(n):
            a.add(owner(k), panel(k) if owner(k) == row.rank else None, shape=(m, nb))
        a.commit()
        a.start(0)
        for k in range(n):
            if k + 1 < n:
                a.start(k + 1)
            a.wait(k)
            c += a[k] @ b[k]

    `look_ahead`: panels under way beside the one in use, 0 to 62.
    """

    def __init__(
        self,
        runtime: Runtime,
        group: MPI.Comm,
        *,
        look_ahead: int = 1,
        broadcast: Broadcast = "automatic",
        name: str = "panels",
    ) -> None:
        handle, raw_comm = runtime.handle, native.comm_handle(group)
        options = agreed(
            group,
            lambda: native.PanelsStruct(
                struct_bytes=ctypes.sizeof(native.PanelsStruct),
                name=name.encode(),
                look_ahead=look_ahead,
                broadcast=_number(broadcast),
            ),
        )
        made = native.Handle()
        native.call("ob_overlap_panels", handle, raw_comm, options, made)
        super().__init__(runtime, group, made)
        self._rank = group.Get_rank()
        self._panels: list[_Panel] = []
        self._started: set[int] = set()

    @property
    def under_way(self) -> bool:
        return bool(self._started)

    def add(
        self,
        owner: int,
        panel: NDArray[Any] | None = None,
        *,
        shape: Sequence[int] | None = None,
        dtype: DTypeLike = "float64",
        order: str = "C",
    ) -> None:
        """Adds the next panel, on all ranks alike.

        `panel`: the elements on their owner, in place. On other ranks: None and the shape, type and
        order ("C" or "F") of the owner's, or an array like it, whose elements are not used.
        """
        try:
            added = self._described(owner, panel, shape, dtype, order)
        except (TypeError, ValueError) as failure:
            raise self._note(failure) from None
        native.call("ob_overlap_panel", self.handle, owner, added.field)
        self._panels.append(added)
        if owner == self._rank:
            self._arrays.append(panel)

    def _described(
        self,
        owner: int,
        panel: NDArray[Any] | None,
        shape: Sequence[int] | None,
        dtype: DTypeLike,
        order: str,
    ) -> _Panel:
        import numpy as np

        what = f"panel {len(self._panels)}"
        if panel is not None:
            field = field_of(panel, what, writes=False)
            return _Panel(field, panel.shape, panel.dtype, element_strides(panel, what))
        if owner == self._rank:
            raise ValueError(f"{what} has no array on its owner, which is this rank; give it here")
        if shape is None:
            raise ValueError(f"{what} has neither array nor shape; give the shape of its owner's")
        strides = packed_strides(shape, order)
        kind = np.dtype(dtype)
        return _Panel(layout_of(shape, kind, strides, None, what), tuple(shape), kind, strides)

    def start(self, panel: int) -> None:
        """Starts the next panel in their order, or panel 0. Do not wait in MPI, between a start and
        its wait, for a rank that waits for panels."""
        native.call("ob_overlap_panel_start", self.handle, panel)
        self._started.add(panel)

    def wait(self, panel: int) -> None:
        """Waits until the panel is here. Its owner may then write to its elements again."""
        native.call("ob_overlap_panel_wait", self.handle, panel)
        self._started.discard(panel)

    def __getitem__(self, panel: int) -> NDArray[Any]:
        """Returns the elements of a panel, read only, in memory of the library.

        They are there from the wait for the panel until the start of the one that comes
        look_ahead + 1 later. Afterwards other elements are there, and after close() none.
        """
        address = ctypes.c_void_p()
        native.call("ob_overlap_panel_data", self.handle, panel, address)
        return self._panels[panel].view(address.value)


class _Panel:
    """The layout of a panel."""

    def __init__(
        self,
        field: native.FieldStruct,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        strides: list[int],
    ) -> None:
        self.field = field
        self.shape = shape
        self.dtype = dtype
        # The library packs from the dimension with the largest stride to that with the smallest.
        self.order = sorted(range(len(shape)), key=lambda d: -abs(strides[d]))

    def view(self, address: int | None) -> NDArray[Any]:
        import numpy as np

        elements: NDArray[Any]
        if math.prod(self.shape) == 0 or address is None:
            elements = np.empty(self.shape, self.dtype)
        else:
            count = math.prod(self.shape) * self.dtype.itemsize
            memory = (ctypes.c_char * count).from_address(address)
            packed = np.frombuffer(memoryview(memory), self.dtype)
            packed = packed.reshape([self.shape[d] for d in self.order])
            elements = packed.transpose(np.argsort(self.order))
        elements.flags.writeable = False
        return elements


def _number(broadcast: str) -> int:
    ways = get_args(Broadcast)
    if broadcast not in ways:
        raise ValueError(f'a broadcast "{broadcast}" (unknown); write one of {", ".join(ways)}')
    return ways.index(broadcast)
