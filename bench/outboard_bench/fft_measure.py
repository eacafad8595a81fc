"""Measures one problem in all places, in turns, and checks that the results agree."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from outboard.errors import OutboardError
from outboard_bench.fft_program import Place, Stages, Transform, transform
from outboard_bench.problem import Problem
from outboard_bench.turns import in_turns

# The executions of a round take about this time together, up to this number of executions.
_ROUND_NS = 50_000_000
_MOST_PER_ROUND = 64


@dataclass
class Result:
    """The times of one place for a problem [ns]. Those of a round are per execution."""

    place: Place
    first_plan: int = 0  # includes connecting, if there is a daemon
    first_execute: int = 0
    rounds: list[float] = field(default_factory=list)  # medians
    first_stages: Stages = field(default_factory=Stages)
    round_stages: list[Stages] = field(default_factory=list)
    distance: float = 0.0  # distance of the first results from the local ones

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def first(self) -> int:
        return self.first_plan + self.first_execute


@dataclass(frozen=True)
class How:
    """The options that are the same for all problems."""

    program: Path
    folder: Path  # holds results that go from one process to another
    planner: str = "estimate"
    seed: int = 1
    rounds: int = 5
    correct: bool = True  # False: the daemon computes nothing


def measure(problem: Problem, places: Sequence[Place], how: How) -> list[Result]:
    """Measures each place. All results must agree with those of the first place, which is local."""
    results = []
    with contextlib.ExitStack() as stack:
        running = []
        for place in places:
            here = stack.enter_context(
                transform(how.program, problem, place, how.planner, how.seed)
            )
            running.append(here)
            results.append(_first(here, running[0], how))
        times = [_times(result) for result in results]
        for i in in_turns(len(running), how.rounds):
            _round(running[i], results[i], times[i])
    return results


def _first(here: Transform, local: Transform, how: How) -> Result:
    result = Result(here.place, here.plan_ns)
    (result.first_execute,) = here.run(1)
    saved = how.folder / "results"
    if here is local:
        here.save(saved)
    result.distance = here.distance(saved)
    # `not <=` also catches a NaN.
    if how.correct and not result.distance <= here.problem.error_bound:
        raise OutboardError(
            f"{here.problem} over {here.place.name} is wrong: off by {result.distance:.2g}, "
            f"relative, in the 2-norm (allowed are {here.problem.error_bound:.2g}); seed {how.seed}"
        )
    if here.place.remote:
        result.first_stages = _checked(here.stages(), here.problem, 1)
    return result


def _round(here: Transform, result: Result, times: int) -> None:
    before = here.stages() if here.place.remote else Stages()
    result.rounds.append(statistics.median(here.run(times)))
    if here.place.remote:
        result.round_stages.append(_checked(here.stages() - before, here.problem, times))


def _checked(stages: Stages, problem: Problem, calls: int) -> Stages:
    found = (stages.calls, stages.bytes_to, stages.bytes_from)
    expected = (calls, calls * problem.bytes_to, calls * problem.bytes_from)
    if found != expected:
        raise OutboardError(
            f"{problem}: the library counted calls, bytes to and bytes from {found}, but these "
            f"were {expected}; is another program using its folder?"
        )
    return stages


def _times(result: Result) -> int:
    return max(1, min(_MOST_PER_ROUND, _ROUND_NS // max(1, result.first_execute)))


def best_local(results: Sequence[Result]) -> Result:
    return min((r for r in results if not r.place.remote), key=lambda r: r.median)


def shares(stages: Sequence[Stages], whole_ns: float | None = None) -> Mapping[str, float]:
    """Returns the parts of the whole, by the names of tables and rows. Their sum is 1."""
    sums = {
        "to device": sum(s.to_device for s in stages),
        "plan": sum(s.plan for s in stages),
        "compute": sum(s.compute for s in stages),
        "back": sum(s.back for s in stages),
    }
    named = sum(sums.values())
    whole = max(whole_ns if whole_ns is not None else sum(s.whole for s in stages), named, 1)
    return {name: part / whole for name, part in sums.items()} | {"other": 1 - named / whole}
