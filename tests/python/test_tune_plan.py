"""Tests the choice of the measured sizes, with a clock that only calls advance."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from outboard.tune.plan import CALLS, Limits, Planner, Size, SkippedError

SIDES = (100, 200, 400, 800, 1600, 3200, 6400)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Call:
    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self.calls = 0
        self.closed = False

    def __call__(self) -> float:
        assert not self.closed
        self.calls += 1
        slow = 2 if self.calls == 1 else 1  # the first call warms up
        self._clock.now += slow * self._seconds
        return slow * self._seconds

    def close(self) -> None:
        self.closed = True


class Series:
    """A series of n^3 flop at a given rate."""

    def __init__(self, name: str, clock: Clock, flop_per_s: float) -> None:
        self.name = name
        self._clock = clock
        self._rate = flop_per_s
        self.made: list[Call] = []

    def sizes(self) -> Iterator[Size]:
        for n in SIDES:
            yield Size(f"n = {n}", n**3, 8.0 * n * n, n)

    def prepare(self, size: Size) -> Call:
        self.made.append(Call(self._clock, size.flop / self._rate))
        return self.made[-1]


class Broken(Series):
    def prepare(self, size: Size) -> Call:
        raise SkippedError("no such routine")


class Laborious(Series):
    """A series whose operands take a second for each 5 MB."""

    def prepare(self, size: Size) -> Call:
        self._clock.now += size.bytes / 5e6
        return super().prepare(size)


def limits(seconds: float, longest_s: float = 0.3, memory: float = 1e12) -> Limits:
    return Limits(seconds, longest_s, memory)


def quiet(_what: str, _part: float) -> None:
    pass


def sides(planner: Planner, name: str) -> list[int]:
    return [size.n for size, _ in planner.outcome.measured.get(name, [])]


def test_sizes_end_with_the_first_long_call() -> None:
    clock = Clock()
    one = Series("dgemm", clock, 1e9)  # n = 800 takes 0.5 s
    planner = Planner(limits(1000), quiet, clock)
    planner.run([one])
    assert sides(planner, "dgemm") == [100, 200, 400, 800]
    assert all(call.calls == CALLS and call.closed for call in one.made)
    # the best time without the first call
    assert planner.outcome.measured["dgemm"][0][1] == pytest.approx(1e-3)


@pytest.mark.parametrize("seconds", [0.5, 2.0, 7.0, 30.0])
@pytest.mark.parametrize("rate", [1e8, 1e9, 1e10, 1e12])
def test_time_is_kept(seconds: float, rate: float) -> None:
    clock = Clock()
    series = [Series(f"routine{i}", clock, rate * (1 + i)) for i in range(12)]
    begin = clock.now
    planner = Planner(limits(seconds), quiet, clock)
    planner.run(series)
    # The first size of each series is measured although its time is not known.
    unknown = sum(s.made[0].calls * 2 * 100**3 / rate for s in series if s.made)
    assert clock.now - begin <= 1.1 * seconds + unknown
    assert set(planner.outcome.no_time) == {s.name for s in series if not s.made}


def test_time_that_one_does_not_need_goes_to_the_next() -> None:
    clock = Clock()
    fast = [Series(f"fast{i}", clock, 1e15) for i in range(9)]
    slow = Series("slow", clock, 1e9)
    planner = Planner(limits(10), quiet, clock)
    planner.run([*fast, slow])
    assert sides(planner, "slow") == [100, 200, 400, 800]
    alone = Planner(limits(1), quiet, clock)
    alone.run([Series("slow", clock, 1e9)])
    assert sides(alone, "slow") == [100, 200, 400]


def test_each_has_its_part() -> None:
    clock = Clock()
    series = [Series(f"routine{i}", clock, 3.2e9) for i in range(4)]
    planner = Planner(limits(2), quiet, clock)
    planner.run(series)
    # n = 800 would take 3 * 0.16 s and a little more, which is over a fourth of the time
    assert sides(planner, "routine0") == [100, 200, 400]
    assert sides(planner, "routine3") == [100, 200, 400, 800], "what the others left"


def test_making_operands_takes_time_too() -> None:
    clock = Clock()
    one = Laborious("dgemm", clock, 1e12)
    begin = clock.now
    Planner(limits(10), quiet, clock).run([one])
    assert 1 < clock.now - begin <= 10


def test_memory_is_kept() -> None:
    clock = Clock()
    planner = Planner(limits(1000, memory=8.0 * 400 * 400), quiet, clock)
    planner.run([Series("dgemm", clock, 1e12)])
    assert sides(planner, "dgemm") == [100, 200, 400]


def test_what_cannot_be_measured_is_said() -> None:
    clock = Clock()
    planner = Planner(limits(10), quiet, clock)
    planner.run([Broken("dsyev", clock, 1e9), Series("dgemm", clock, 1e9)])
    assert planner.outcome.skipped == {"dsyev": "no such routine"}
    assert sides(planner, "dgemm") != []


def test_later_series_get_what_is_left() -> None:
    clock = Clock()
    planner = Planner(limits(1), quiet, clock)
    planner.run([Series("first", clock, 1e6)])  # takes 4 s
    planner.run([Series("later", clock, 1e9)])
    assert planner.outcome.no_time == ["later"]


def test_progress_rises_to_its_end() -> None:
    clock = Clock()
    parts: list[float] = []
    planner = Planner(limits(5), lambda _what, part: parts.append(part), clock)
    planner.run([Series(f"routine{i}", clock, 1e9) for i in range(4)])
    assert parts == sorted(parts)
    assert 0 <= parts[0] <= parts[-1] <= 1
