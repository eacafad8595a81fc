"""What all plans have, and the runs of halo and move plans."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from outboard.overlap import native
from outboard.overlap.agreement import agree
from outboard.overlap.box import Box, struct_of
from outboard.overlap.failures import DeadlineError, refusal
from outboard.overlap.runtime import Runtime

if TYPE_CHECKING:
    from mpi4py import MPI


class Plan:
    """A pattern of messages that is described once and runs many times.

    Its runtime ends it, or close() before. Letting it go ends nothing, because the end is
    collective.
    """

    def __init__(self, runtime: Runtime, comm: MPI.Comm, handle: native.Handle) -> None:
        self._runtime = runtime
        self._comm = comm
        self._handle: native.Handle | None = handle
        self._arrays: list[Any] = []  # their elements are sent and received in place
        self._failure: Exception | None = None
        runtime.keep(self)

    @property
    def handle(self) -> native.Handle:
        """The handle of the C library.   Raises: InvalidArgumentError if the plan has ended"""
        if self._handle is None:
            raise refusal("the plan is closed; make another one")
        _ = self._runtime.handle  # the end of the runtime has ended its plans
        return self._handle

    @property
    def under_way(self) -> bool:
        """True from a start until its wait."""
        return False

    @property
    def ticks(self) -> bool:
        """True if a run under way moves by tick() only, so that the computation should be cut."""
        return bool(native.library().ob_overlap_ticks(self.handle))

    def commit(self) -> None:
        """Compares both ends of all messages, and makes the requests. Collective; all ranks fail if
        one does, also for a mistake in the description before."""
        handle = self.handle
        agree(self._comm, self._failure)
        native.call("ob_overlap_commit", handle)

    def close(self) -> None:
        """Waits for what is under way, and ends the plan. Collective."""
        if self._handle is None or self._runtime.closed:
            return
        native.call("ob_overlap_plan_destroy", self._handle)
        self._handle = None
        self._runtime.let_go(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None or not self.under_way:  # see Runtime.__exit__()
            self.close()

    def _note(self, failure: Exception) -> Exception:
        """Keeps a mistake for commit(), where the other ranks hear of it."""
        self._failure = self._failure or failure
        return failure


class ExchangePlan(Plan):
    """A plan with one run at a time."""

    _started = False

    @property
    def under_way(self) -> bool:
        return self._started

    def start(self, *, hold: bool = False) -> Iteration:
        """Starts a run. Until its wait, the program may read everything but what is being received,
        and write everything but what is being sent or received.

        `hold`: each message leaves when Iteration.ready() has named all of its cells, or with wait.
        Raises: DeadlineError in mode sync; then wait() goes on
        """
        try:
            native.call("ob_overlap_start", self.handle, native.HOLD if hold else 0)
        except DeadlineError:
            self._started = True
            raise
        self._started = True
        return Iteration(self._runtime, self)

    def wait(self) -> None:
        """Waits until the run is over: the messages have arrived, and those sent may be changed.

        Raises: DeadlineError; the run is still under way then, and wait() may be called again
        """
        try:
            native.call("ob_overlap_wait", self.handle)
        except DeadlineError:
            raise
        except Exception:
            self._started = False
            raise
        self._started = False


class Iteration:
    """A run that is under way. `with plan.start() as run:` waits at the end."""

    def __init__(self, runtime: Runtime, plan: ExchangePlan) -> None:
        self._runtime = runtime
        self._plan: ExchangePlan | None = plan

    @property
    def plan(self) -> ExchangePlan:
        if self._plan is None:
            raise refusal("the iteration is over (it was waited for); start the plan again")
        return self._plan

    def ready(self, cells: Sequence[slice]) -> None:
        """After start(hold=True): the cells of this box have their final values. Ghost cells arrive
        meanwhile, so this suits updates that read them from another array."""
        native.call("ob_overlap_ready", self.plan.handle, struct_of(cells))

    def tick(self) -> None:
        """Moves messages in mode ticked."""
        self._runtime.tick()

    def wait(self) -> None:
        """As ExchangePlan.wait()."""
        try:
            self.plan.wait()
        except DeadlineError:
            raise
        except Exception:
            self._plan = None
            raise
        self._plan = None

    def for_tiles(
        self, box: Box, update: Callable[[Box], object], at_most_s: float = 500e-6
    ) -> None:
        """Calls `update` for boxes that make up `box`, and ticks between them. A box has whole
        layers of the first dimension, as many as take about `at_most_s`. If nothing needs ticks, it
        is one call."""
        if box.empty:
            return
        if not self.plan.ticks:
            update(box)
            return
        layers = 1
        at, end = box[0].start, box[0].stop
        while at < end:
            tile = Box((slice(at, min(at + layers, end)), *box[1:]))
            began = time.perf_counter()
            update(tile)
            took = time.perf_counter() - began
            self._runtime.tick()
            at = tile[0].stop
            if took < at_most_s / 2:
                layers *= 2
            elif took > at_most_s:
                layers = max(1, layers // 2)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # After a failed wait() the program decides whether it waits again.
        if self._plan is not None and not isinstance(value, DeadlineError):
            self.wait()
