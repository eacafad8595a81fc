"""Measures one program at one place: native, forced remote and auto, each in a new process, in
turns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from outboard_bench.programs_list import Interpreters, Program
from outboard_bench.programs_outcome import AUTO, KINDS, NATIVE, REMOTE, Outcome
from outboard_bench.programs_places import Client
from outboard_bench.programs_run import Run, RunError, run

# A side that takes so many times the other's time in the first round runs no more, because its
# exact time does not matter.
HOPELESS = 3.0
# A run is ended after so many times the native time, and at least after these seconds.
_TOO_LONG, _TOO_LONG_S = 20.0, 60.0
_NATIVE_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class How:
    """The options that are the same for all programs."""

    interpreters: Interpreters
    rounds: int
    seed: int
    small: bool = False


def measure(program: Program, client: Client, how: How) -> Outcome:
    """Measures the program. A program that cannot run, fails or is wrong has a reason and no
    figures that count."""
    outcome = Outcome(program, str(client.place))
    outcome.skipped = how.interpreters.missing(program)
    if not outcome.skipped:
        argument = program.small if how.small else None
        words = how.interpreters.command(program, argument)
        try:
            _rounds(outcome, words, client, how)
        except RunError as error:
            outcome.failed = str(error)
    return outcome


def _rounds(outcome: Outcome, words: Sequence[str], client: Client, how: How) -> None:
    # The files of the program are in memory after this run. It is not counted.
    command, environment = client.command(NATIVE, words), client.environment(NATIVE)
    reference = run(command, environment, _NATIVE_TIMEOUT_S, None)
    if not reference.result:
        raise RunError(f"{NATIVE}: no end in {_NATIVE_TIMEOUT_S:.0f} s")
    longest = max(_TOO_LONG_S, _TOO_LONG * reference.seconds)
    order = random.Random(how.seed)
    hopeless: set[str] = set()
    for turn in range(how.rounds):
        if turn == 1:
            hopeless = hopeless_of(outcome)
        for kind in order.sample(KINDS, len(KINDS)):
            if kind not in hopeless:
                found = _run_kind(kind, words, client, longest)
                _keep(outcome, kind, turn, found)
                if client.place.computes and found.result:
                    _compare(outcome, kind, reference.distance(found))


def _run_kind(kind: str, words: Sequence[str], client: Client, longest: float) -> Run:
    counted = None if kind == NATIVE else client.counters
    try:
        return run(client.command(kind, words), client.environment(kind), longest, counted)
    except RunError as error:
        raise RunError(f"{kind}: {error}") from error


def _keep(outcome: Outcome, kind: str, turn: int, found: Run) -> None:
    timed = outcome.timed[kind]
    timed.seconds[turn] = found.seconds
    timed.too_long = not found.result
    if kind == NATIVE or timed.too_long:
        return
    timed.calls.append(found.calls)
    timed.out.append(found.out)
    timed.traffic_bytes = found.traffic_bytes
    if kind == REMOTE and found.out == 0:
        raise RunError(f"{kind}: none of {found.calls} calls went out; is the daemon alive?")


def _compare(outcome: Outcome, kind: str, distance: float) -> None:
    outcome.distance = max(outcome.distance, distance)
    if not distance <= outcome.program.tolerance:  # `not <=` also catches a NaN
        raise RunError(
            f"{kind}: the result is off by {distance:.2g}, relative (allowed are "
            f"{outcome.program.tolerance:.2g})"
        )


def hopeless_of(outcome: Outcome) -> set[str]:
    """Returns the kinds that need no more rounds."""
    timed = outcome.timed
    found = {kind for kind in (REMOTE, AUTO) if timed[kind].too_long}
    if timed[NATIVE].median > HOPELESS * timed[REMOTE].median:
        found.add(NATIVE)
    if timed[REMOTE].median > HOPELESS * timed[NATIVE].median:
        found.add(REMOTE)
    return found
