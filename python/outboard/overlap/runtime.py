"""The library in this process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from outboard.overlap import native
from outboard.overlap.agreement import agreed
from outboard.overlap.failures import refusal

if TYPE_CHECKING:
    from mpi4py import MPI

Mode = Literal["automatic", "sync", "async", "ticked", "shared", "proxy"]

# Arrays of runs that have never ended: MPI may still write to them.
_abandoned: list[Any] = []


class Kept(Protocol):
    """The part of a plan that its runtime uses. It has the arrays, too."""

    @property
    def under_way(self) -> bool: ...


class Runtime:
    """Moves the messages of plans while the program computes, until close().

    `workers`: threads of the process that compute; 0: OMP_NUM_THREADS, or 1.   `core`: of the
    proxy; None: chosen.   `proxies`: threads that move messages in modes with a thread; more than
    one need MPI_THREAD_MULTIPLE.   `check`: finds wrong accesses between start and wait.
    `on_stuck` gets a report when nothing has moved for `patience_s`; without it the report goes to
    stderr, and MPI_Abort ends the job. It must not call this package.

    Collective over `comm`. All ranks make plans, use and close them in the same order. Threads: one
    at a time; tick() any.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        mode: Mode = "automatic",
        *,
        workers: int = 0,
        core: int | None = None,
        proxies: int = 1,
        check: bool = False,
        patience_s: float = 60.0,
        on_stuck: Callable[[str], None] | None = None,
    ) -> None:
        self._handle: native.Handle | None = None
        self._plans: list[Kept] = []
        self._was_stuck = False
        raw_comm = native.comm_handle(comm)
        self._stuck = self._callback(on_stuck)  # the library may call it until the end
        options = agreed(
            comm,
            lambda: native.OptionsStruct(
                struct_bytes=ctypes.sizeof(native.OptionsStruct),
                mode=_number(mode),
                workers=workers,
                core=-1 if core is None else core,
                check=check,
                patience_s=patience_s,
                on_stuck=self._stuck,
                proxies=proxies,
            ),
        )
        made = native.Handle()
        native.call("ob_overlap_attach", raw_comm, options, made)
        self._handle = made

    def _callback(self, on_stuck: Callable[[str], None] | None) -> Any:
        if on_stuck is None:
            return native.Stuck()

        def call(report: bytes, _context: Any) -> None:
            self._was_stuck = True
            on_stuck(report.decode(errors="replace"))

        return native.Stuck(call)

    @property
    def handle(self) -> native.Handle:
        """The handle of the C library.   Raises: InvalidArgumentError if the runtime is closed"""
        if self._handle is None:
            raise refusal("the runtime is closed; make another one, and its plans anew")
        return self._handle

    @property
    def closed(self) -> bool:
        return self._handle is None

    def tick(self) -> None:
        """Moves messages in mode ticked. Call it every 0.1 to 1 ms of a computation."""
        native.call("ob_overlap_tick", self.handle)

    def explain(self) -> str:
        """Returns what was measured and chosen."""
        needed = ctypes.c_size_t()
        native.call("ob_overlap_explain", self.handle, None, 0, needed)
        text = ctypes.create_string_buffer(needed.value)
        native.call("ob_overlap_explain", self.handle, text, needed, None)
        return text.value.decode(errors="replace")

    def keep(self, plan: Kept) -> None:
        """Keeps a plan and its arrays, which MPI uses, until it is let go or the runtime ends."""
        self._plans.append(plan)

    def let_go(self, plan: Kept) -> None:
        self._plans.remove(plan)

    def close(self) -> None:
        """Waits for what is under way, ends the plans and the runtime. Collective, and before
        MPI.Finalize(), which mpi4py calls at exit."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        native.call("ob_overlap_detach", handle)
        if self._was_stuck:
            _abandoned.extend([self._stuck, *self._plans])
        self._plans.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # After a failure of this rank alone, what is under way may never end. Waiting would hide
        # the failure, which then ends the program.
        if kind is None or not any(plan.under_way for plan in self._plans):
            self.close()


def _number(mode: str) -> int:
    number = ctypes.c_int32()
    native.call("ob_overlap_mode_named", mode.encode(), number)
    return number.value
