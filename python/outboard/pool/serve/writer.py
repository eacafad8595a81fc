"""The thread that owns the state and the store. Everything that arrives while a commit is under way
shares the next commit."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from outboard.pool.core.apply import Outcome, apply
from outboard.pool.core.commands import Command, Resume, Start, Tick
from outboard.pool.core.replies import Notice
from outboard.pool.core.state import Config, State
from outboard.pool.core.transaction import Change
from outboard.pool.serve.clock import PoolClock
from outboard.pool.serve.history import History
from outboard.pool.store.base import Store, StoreError

TICK_S = 0.25  # what is due by time happens at most so late
_MOST_JOBS = 256  # of one commit
_MOST_PATIENT = 8  # patient jobs of one commit, so that others need not wait for many of them
# The process was stopped, its machine was suspended, or a commit took so long. Renewals that came
# meanwhile wait in sockets.
_PAUSE_MS = 2_000

Make = Callable[[State], Any]
Show = Callable[[State, Any], Any]
Watch = Callable[[list[Any], list[Change], float], None]


class Job:
    """A command for the state, or a look at it.

    `make` is a command; or a function that returns a command, or any other value, which is then the
    answer. `show` turns an answer into what the caller wants. Both run in the writer's thread.
    Jobs that come later may be done before a patient one.
    """

    __slots__ = ("future", "make", "patient", "show")

    def __init__(
        self,
        make: Command | Make,
        show: Show | None,
        future: asyncio.Future[Any],
        patient: bool = False,
    ) -> None:
        self.make, self.show, self.future, self.patient = make, show, future, patient


class Writer(threading.Thread):
    """Answers are delivered when all that they tell is stored.

    `deliver` gets the notices of a commit with its revision, in the event loop. Whoever waits for
    an answer goes on before those who wait for a notice, and after both are delivered.
    `fail` is called in the event loop after an error: memory may then be ahead of the store, and
    the process must end. `watch` gets the commands of a batch, the changed rows, and
    the seconds of its commit. `history` gets all that happens to the state.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        loop: asyncio.AbstractEventLoop,
        deliver: Callable[[list[Notice], int], None],
        fail: Callable[[BaseException], None],
        watch: Watch = lambda commands, changes, seconds: None,
        history: History | None = None,
    ) -> None:
        super().__init__(name="writer", daemon=True)
        self._store, self._loop = store, loop
        self._deliver, self._fail, self._watch = deliver, fail, watch
        self._history = history
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._patient: deque[Job] = deque()
        self._state = store.load(config)
        self.clock = PoolClock(self._state.now_ms)
        if history is not None:
            history.started(self._state.rev)
        self._applied_ms = self.clock.now_ms()  # of the latest command; there is one at each tick
        self._batch([Job(Start(), None, loop.create_future())])

    def do(
        self, make: Command | Make, show: Show | None = None, patient: bool = False
    ) -> asyncio.Future[Any]:
        """Hands a job over. Event loop only."""
        job = Job(make, show, self._loop.create_future(), patient)
        self._queue.put(job)
        return job.future

    def stop(self) -> None:
        """Commits what has been handed over, and ends the thread."""
        self._queue.put(None)
        if self.is_alive():
            self.join()
        self._store.close()

    def run(self) -> None:
        try:
            next_tick = time.monotonic() + TICK_S
            while (jobs := self._take(next_tick)) is not None:
                if time.monotonic() >= next_tick:
                    jobs.append(Job(Tick(), None, self._loop.create_future()))
                    next_tick = time.monotonic() + TICK_S
                if jobs:
                    self._batch(jobs)
        except BaseException as error:
            self._loop.call_soon_threadsafe(self._fail, error)

    def _take(self, next_tick: float) -> list[Job] | None:
        """Waits for jobs until the next tick; None: stop."""
        jobs: list[Job] = []
        patient = self._patient
        stops = False
        try:
            wait_s = 0.0 if patient else max(0.0, next_tick - time.monotonic())
            job = self._queue.get(timeout=wait_s)
            while job is not None:
                (patient if job.patient else jobs).append(job)
                if len(jobs) == _MOST_JOBS:
                    break
                job = self._queue.get_nowait()
            stops = job is None
        except queue.Empty:
            pass
        jobs += [patient.popleft() for _ in range(min(len(patient), _MOST_PATIENT))]
        if stops:
            if not jobs:
                return None
            self._queue.put(None)  # these first
        return jobs

    def _batch(self, jobs: list[Job]) -> None:
        changes: list[Change] = []
        notices: list[Notice] = []
        commands: list[Any] = []
        answers: list[tuple[asyncio.Future[Any], Any]] = []
        for job in jobs:
            made = (
                job.make if isinstance(job.make, msgspec.Struct) else _look(job.make, self._state)
            )
            if isinstance(made, Command):
                for command in self._after_a_pause(made):
                    commands.append(command)
                    outcome = self._apply(command)
                    changes += outcome.changes
                    notices += outcome.notices
                    made = outcome.answer
            if job.show is not None and not isinstance(made, BaseException):
                made = _look(partial(_shown, job.show, made), self._state)
            answers.append((job.future, made))
        begin = time.perf_counter()
        if changes:
            self._commit(changes)
        self._store.check(self._state.now_ms)
        self._watch(commands, changes, time.perf_counter() - begin if changes else 0.0)
        self._loop.call_soon_threadsafe(self._answer, answers, notices, self._state.rev)

    def _apply(self, command: Command) -> Outcome:
        outcome = apply(self._state, command, self._applied_ms)
        if self._history is not None:
            self._history.applied(command, outcome.answer, self._state.rev, self._applied_ms)
        return outcome

    def _commit(self, changes: list[Change]) -> None:
        if self._history is not None:
            self._history.flush()
        self._store.commit(self._state.rev, self._state.now_ms, changes)
        if self._history is not None:
            self._history.committed(self._state.rev)

    def _after_a_pause(self, command: Command) -> tuple[Command, ...]:
        """Returns what is to be applied now for a command."""
        before_ms, self._applied_ms = self._applied_ms, self.clock.now_ms()
        paused = self._applied_ms > before_ms + _PAUSE_MS
        return (Resume(), command) if paused else (command,)

    def _answer(
        self, answers: list[tuple[asyncio.Future[Any], Any]], notices: list[Notice], rev: int
    ) -> None:
        try:
            self._store.check(0)  # the process may have been stopped since the commit
        except StoreError as error:
            self._fail(error)
            return
        for future, value in answers:
            if future.done():  # whoever asked has gone
                continue
            if isinstance(value, BaseException):
                future.set_exception(value)
            else:
                future.set_result(value)
        self._deliver(notices, rev)


def _shown(show: Show, value: Any, state: State) -> Any:
    return show(state, value)


def _look(look: Make, state: State) -> Any:
    """Returns the value, or the exception: a look changes nothing, so the writer goes on."""
    try:
        return look(state)
    except Exception as error:
        return error
