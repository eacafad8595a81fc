"""Measures one call at one server in five processes of the same program, in turns: local twice,
forced remote, and mode auto without and with a profile."""

from __future__ import annotations

import contextlib
import random
import statistics
import time
from dataclasses import dataclass, replace
from pathlib import Path

from outboard.errors import OutboardError
from outboard_bench.decide_places import Server
from outboard_bench.decide_point import (
    AGAIN,
    KINDS,
    LIMITS,
    LOCAL,
    REMOTE,
    TUNED,
    UNTUNED,
    Point,
    Timed,
)
from outboard_bench.decide_problems import is_fresh, program_of
from outboard_bench.fft_program import Place, Transform, transform
from outboard_bench.problem import Problem

# The calls before the counted ones. Mode auto without a profile may try both sides in its first 20.
# With a profile it decides at once, and the first call connects. Other kinds reach their full speed
# in these calls, unless that takes longer than this time.
_WARM_UP = {UNTUNED: 20, TUNED: 2}
_MOST_WARM_UP = 20
_WARM_UP_NS = 20_000_000
# The calls of a round take about this time together, up to this number of calls.
_ROUND_NS = 8_000_000
_MOST_PER_ROUND = 500
# A side that is slower by this factor needs only a few rounds, because its exact time does not
# matter.
_HOPELESS = 3.0
_FEW_ROUNDS = 3
_LEAST_ROUNDS = 7
_MORE = 2  # this many times as many rounds, and as much time, if a ratio is above its limit


@dataclass(frozen=True)
class How:
    """The options that are the same for all points."""

    programs: Path  # the folder of the compiled programs
    preload: Path
    folder: Path  # holds results that go from one process to another
    seed: int
    rounds: int
    seconds: float  # the time of the rounds; there are at least seven


def measure(problem: Problem, server: Server, how: How) -> Point:
    """Measures the point. Measures it again for longer if a ratio is above its limit."""
    point = _measure_once(problem, server, how)
    if how.rounds > 1 and any(point.above(kind) for kind in LIMITS):
        longer = replace(how, rounds=_MORE * how.rounds, seconds=_MORE * how.seconds)
        point = replace(_measure_once(problem, server, longer), repeated=True)
    return point


def places_of(server: Server, preload: Path) -> dict[str, Place]:
    return {
        LOCAL: server.local(),
        AGAIN: server.local(),
        REMOTE: server.client(REMOTE, preload, "remote", "off"),
        UNTUNED: server.client(UNTUNED, preload, "auto", "off"),
        TUNED: server.client(TUNED, preload, "auto", str(server.profile)),
    }


def _measure_once(problem: Problem, server: Server, how: How) -> Point:
    program = how.programs / program_of(problem)
    places = places_of(server, how.preload)
    point = Point(problem, server.place, server.device, {kind: Timed() for kind in KINDS})
    with contextlib.ExitStack() as stack:
        running = {
            kind: stack.enter_context(transform(program, problem, place, "estimate", how.seed))
            for kind, place in places.items()
        }
        _compare(running, point, server, how)
        expected = {kind: _warm_up(running[kind], kind) for kind in KINDS}
        _turns(running, point, expected, how)
        if is_fresh(problem):
            for here in running.values():
                here.fresh(False)
        _compare(running, point, server, how)
        running[REMOTE].stages()  # raises if a call stayed local
    for place in places.values():
        _forget(place)
    return point


def _compare(running: dict[str, Transform], point: Point, server: Server, how: How) -> None:
    """Runs one call of each process, and compares the results with those of the first."""
    saved = how.folder / "results"
    for kind, here in running.items():
        here.run(1)
        if kind == LOCAL:
            here.save(saved)
        elif server.correct:
            _check(here, kind, point, here.distance(saved), how)


def _check(here: Transform, kind: str, point: Point, distance: float, how: How) -> None:
    # `not <=` also catches a NaN.
    if not distance <= here.problem.error_bound:
        raise OutboardError(
            f"{here.problem} over {here.place.name} is wrong: off by {distance:.2g}, relative, in "
            f"the 2-norm (allowed are {here.problem.error_bound:.2g}); seed {how.seed}"
        )
    point.timed[kind].distance = max(point.timed[kind].distance, distance)


def _warm_up(here: Transform, kind: str) -> int:
    """Runs the remaining warm-up calls. Returns the time of one [ns]."""
    if is_fresh(here.problem):
        here.fresh(True)
    if kind in _WARM_UP:
        return min(here.run(_WARM_UP[kind] - 1)[-2:])  # the first call is the one that was compared
    took = here.run(1)
    while len(took) < _MOST_WARM_UP and sum(took) < _WARM_UP_NS:
        took += here.run(1)
    return min(took)


def _turns(running: dict[str, Transform], point: Point, expected: dict[str, int], how: How) -> None:
    gone = {kind: _went_out(running[kind]) for kind in LIMITS}
    until = time.monotonic() + how.seconds
    order = random.Random(how.seed)
    hopeless: set[str] = set()
    for turn in range(how.rounds):
        if turn == _FEW_ROUNDS:
            hopeless = hopeless_of(point)
        if turn >= _LEAST_ROUNDS and time.monotonic() > until:
            break
        # The order varies, so that each kind follows each other: a device that is this machine's
        # cores is not idle at once.
        for kind in order.sample(KINDS, len(KINDS)):
            if kind not in hopeless:
                took = running[kind].run(times(expected[kind]))
                expected[kind] = round(statistics.median(took))
                point.timed[kind].rounds.append(took)
                if kind in LIMITS:
                    before, gone[kind] = gone[kind], _went_out(running[kind])
                    point.timed[kind].shares.append((gone[kind] - before) / len(took))


def hopeless_of(point: Point) -> set[str]:
    """Returns the processes that need no more rounds."""
    if point.local > _HOPELESS * point.remote:
        return {LOCAL, AGAIN}
    return {REMOTE} if point.remote > _HOPELESS * point.local else set()


def times(expected_ns: int) -> int:
    """Returns the number of calls in a round."""
    return max(1, min(_MOST_PER_ROUND, _ROUND_NS // max(1, expected_ns)))


def _went_out(here: Transform) -> int:
    return here.counted()[0].remote


def _forget(place: Place) -> None:
    """Removes the counters of `place`, because those of the next point are read from the same
    folder."""
    for file in place.counters.glob("report.*.bin") if place.counters else ():
        file.unlink()
