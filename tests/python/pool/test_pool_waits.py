"""Who waits at the manager: waits that begin together end apart, and jobs that can wait let others
pass. No manager runs."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import Any

import pytest

from outboard.pool.core.state import Config, State
from outboard.pool.serve import manager
from outboard.pool.serve.waits import Spread
from outboard.pool.serve.writer import Writer
from outboard.pool.store.memory import MemoryStore


def test_waits_that_begin_together_end_apart() -> None:
    async def wait() -> None:
        spread = Spread()
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # The last fifth of 1 s has 20 slots, or 21.
        waits = [asyncio.ensure_future(spread.passed(change, 1.0)) for _ in range(200)]
        await asyncio.sleep(0)
        counts = Counter(spread._ends.values())
        assert sum(slots * each for each, slots in counts.items()) == 200
        assert max(counts) <= 11, counts
        change.set_result(None)
        await asyncio.gather(*waits)
        assert spread._ends == {}

    asyncio.run(wait())


def test_a_lone_wait_takes_its_time() -> None:
    async def wait() -> None:
        spread, loop = Spread(), asyncio.get_running_loop()
        begin = loop.time()
        change: asyncio.Future[None] = loop.create_future()
        await asyncio.wait_for(spread.passed(change, 0.5), 30)
        # The slot of 10 ms in which the time ends begins before.
        assert loop.time() - begin > 0.48

    asyncio.run(wait())


def test_patient_jobs_let_others_pass() -> None:
    done: list[int] = []

    async def hand_over() -> None:
        def fail(error: BaseException) -> None:
            raise error

        facts = (MemoryStore(), Config(), asyncio.get_running_loop(), lambda notices, rev: None)
        writer = Writer(*facts, fail)

        def job(number: int, patient: bool) -> asyncio.Future[None]:
            def look(state: State) -> None:
                done.append(number)

            return writer.do(look, patient=patient)

        waits = [job(number, patient=number < 30) for number in range(40)]
        writer.start()
        await asyncio.wait_for(asyncio.gather(*waits), 30)
        late = [job(number, patient=True) for number in range(40, 60)]
        await asyncio.to_thread(writer.stop)  # all that was handed over is done before
        await asyncio.wait_for(asyncio.gather(*late), 30)

    asyncio.run(hand_over())
    assert done == [*range(30, 40), *range(30), *range(40, 60)]


class SlowWriter:
    """Takes commands, and has done none of them yet."""

    def __init__(self) -> None:
        self.jobs: list[asyncio.Future[Any]] = []

    def do(self, make: Any) -> asyncio.Future[Any]:
        self.jobs.append(asyncio.get_running_loop().create_future())
        return self.jobs[-1]


def test_commands_that_nobody_waits_for_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager, "SOON_S", 60)

    async def check() -> None:
        writer = SlowWriter()
        facts: list[Any] = [writer, *[None] * 8]
        start = partial(manager.Manager(*facts).start, lambda state: None)
        most = manager.MOST_UNWAITED
        assert [start() for _ in range(most + 1)] == [True] * most + [False]
        assert writer.jobs == []  # answers go first
        await asyncio.sleep(0)
        assert len(writer.jobs) == most
        writer.jobs[0].set_result(None)
        writer.jobs[1].set_exception(ValueError("told in the log"))
        await asyncio.sleep(0)
        assert [start() for _ in range(3)] == [True, True, False]
        await asyncio.sleep(0)
        for job in writer.jobs[2:]:
            job.set_result(None)
        await asyncio.sleep(0)
        assert start()
        # A store that does not answer gets no more of them.
        monkeypatch.setattr(manager, "SOON_S", 0.01)
        await asyncio.sleep(0.02)
        assert not start()

    asyncio.run(check())
