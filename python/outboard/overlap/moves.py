"""Plans of any regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outboard.overlap import native
from outboard.overlap.box import whole
from outboard.overlap.fields import field_of
from outboard.overlap.plan import ExchangePlan
from outboard.overlap.runtime import Runtime

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray


class MovePlan(ExchangePlan):
    """Moves any regions between ranks, or within one. A region is a view of an array, such as
    `u[1:3, ::2]`.

    Messages between the same ranks have different tags, 0 to 16383.
    """

    def __init__(self, runtime: Runtime, comm: MPI.Comm, *, name: str = "moves") -> None:
        handle, raw_comm = runtime.handle, native.comm_handle(comm)
        made = native.Handle()
        native.call("ob_overlap_moves", handle, raw_comm, name.encode(), made)
        super().__init__(runtime, comm, made)
        self._name = name

    def send(self, region: NDArray[Any], to: int, tag: int = 0) -> None:
        """Adds a message to another rank."""
        field = self._field(region, writes=False)
        native.call("ob_overlap_send", self.handle, field, whole(region.shape), to, tag)

    def receive(self, region: NDArray[Any], source: int, tag: int = 0) -> None:
        """Adds a message from another rank."""
        field = self._field(region, writes=True)
        native.call("ob_overlap_receive", self.handle, field, whole(region.shape), source, tag)

    def move(self, source: NDArray[Any], target: NDArray[Any]) -> None:
        """Adds a copy within this rank."""
        out, into = self._field(source, writes=False), self._field(target, writes=True)
        boxes = whole(source.shape), whole(target.shape)
        native.call("ob_overlap_move", self.handle, out, boxes[0], into, boxes[1])

    def _field(self, region: NDArray[Any], *, writes: bool) -> native.FieldStruct:
        try:
            field = field_of(region, f"a region of {self._name}", writes=writes)
        except (TypeError, ValueError) as failure:
            raise self._note(failure) from None
        self._arrays.append(region)
        return field
