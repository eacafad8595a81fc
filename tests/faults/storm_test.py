"""A storm: mixed programs with two daemons, and something goes wrong at a random moment of each.

No result may be wrong, no program may hang, and each ends within its local time and what it takes
to notice the faults. Everything random comes from the printed seed.
"""

from __future__ import annotations

import argparse
import collections
import collections.abc
import concurrent.futures
import contextlib
import dataclasses
import pathlib
import random
import signal
import subprocess
import threading
import time

import harness
import servers
from faults_test import wait_for_remote_call
from harness import CheckError, Daemon, Outcome, Suite, expect

ROUTINES = (
    "sgemm dgemm cgemm zgemm dsymm zhemm dsyrk zherk dtrmm dtrsm ztrsm "
    "sgesv dgesv zgesv dgetrf dgetrs dpotrf zpotrf dpotrs fftw fftwf"
).split()
LARGEST = 240
CALLS = 40
# A peer that says nothing is given up after so long (docs/cli.md).
NOTICED_S = 5.0
# Far above what a program takes by itself on a machine with many such programs.
PROGRAM_S = 60.0


@dataclasses.dataclass
class Place:
    """A daemon, and the valve before it where its link is what fails."""

    daemon: Daemon
    valve: servers.Valve | None
    address: str
    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True
        self.daemon.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.stopped = False
        self.daemon.signal(signal.SIGCONT)


Pause = collections.abc.Callable[[float], object]


def killed(place: Place, _pause: Pause, _pick: random.Random) -> None:
    place.daemon.kill()


def wedged(place: Place, _pause: Pause, _pick: random.Random) -> None:
    place.stop()


def halted(place: Place, pause: Pause, pick: random.Random) -> None:
    """For a while: shorter or longer than anybody waits."""
    place.stop()
    pause(pick.choice((0.05, 0.5, 2.0, 7.0)))
    place.go_on()


def drained(place: Place, _pause: Pause, _pick: random.Random) -> None:
    place.daemon.signal(signal.SIGTERM)


def reset(place: Place, pause: Pause, pick: random.Random) -> None:
    assert place.valve is not None
    for _ in range(pick.randint(1, 3)):
        place.valve.reset()
        pause(pick.random() * 0.2)


def partitioned(place: Place, _pause: Pause, _pick: random.Random) -> None:
    assert place.valve is not None
    place.valve.partition()


def cut_for_a_while(place: Place, pause: Pause, pick: random.Random) -> None:
    assert place.valve is not None
    place.valve.partition()
    pause(pick.choice((0.05, 0.5, 2.0, 7.0)))
    place.valve.heal()


@dataclasses.dataclass(frozen=True)
class Fault:
    """What goes wrong, how often (of all runs), and whether it is noticed only by silence."""

    name: str
    share: int
    strike: collections.abc.Callable[[Place, Pause, random.Random], None] | None
    on_link: bool = False
    silent: bool = False
    options: tuple[str, ...] = ()  # of the first daemon
    extra: tuple[tuple[str, str], ...] = ()  # environment of the program


FAULTS = (
    Fault("daemon killed", 8, killed),
    Fault("daemon stopped for good", 2, wedged, silent=True),
    Fault("daemon stopped for a while", 3, halted, silent=True),
    Fault("daemon told to end", 3, drained),
    Fault("connections reset", 5, reset, on_link=True),
    Fault("network partitioned", 2, partitioned, on_link=True, silent=True),
    Fault("network cut for a while", 3, cut_for_a_while, on_link=True, silent=True),
    Fault("allocations fail", 3, None, options=("--fail-allocations", "5")),
    Fault("little device memory", 2, None, options=("--device-memory", "1MB")),
    Fault("disk full for the trace", 1, killed, extra=(("OUTBOARD_TRACE", "/dev/full"),)),
)


class Tally:
    """What all runs together did. Threads: any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts: collections.Counter[str] = collections.Counter()
        self.longest: dict[str, float] = {}

    def add(self, fault: Fault, outcome: Outcome, seconds: float) -> None:
        with self._lock:
            self.counts["calls that went out"] += outcome.total("*")
            self.counts["calls that fell back"] += outcome.total("*", "fell_back")
            self.counts[f"runs: {fault.name}"] += 1
            self.longest[fault.name] = max(self.longest.get(fault.name, 0.0), seconds)


@contextlib.contextmanager
def place(
    suite: Suite, fault: Fault | None, pick: random.Random
) -> collections.abc.Iterator[Place]:
    """A daemon; the one that `fault` is about, if any."""
    options = list(fault.options if fault else ())
    if suite.arguments.keys:
        options += ["--key", str(suite.arguments.keys / "good")]
    with contextlib.ExitStack() as stack:
        daemon = Daemon(suite.bench, ["--devices", "1", *options])
        stack.callback(daemon.__exit__, CheckError, None, None)  # killed, whatever became of it
        if fault and fault.on_link:
            valve = stack.enter_context(servers.Valve(daemon.tcp))
            yield Place(daemon, valve, valve.address)
        else:
            yield Place(daemon, None, daemon.address(pick.choice(("shm", "tcp"))))


def run_once(suite: Suite, fault: Fault, seed: int, tally: Tally) -> None:
    pick = random.Random(seed)
    quiet = pick.random() < 0.5
    with place(suite, fault, pick) as first, place(suite, None, pick) as second:
        moment_s = pick.random() * pick.choice((0.02, 0.2, 0.5))
        both_die = pick.random() < 0.15

        def during(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
            def pause(seconds: float) -> None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(seconds)

            wait_for_remote_call(process, reports, 1)
            pause(moment_s)
            if fault.strike:
                fault.strike(first, pause, pick)
            if both_die:
                pause(pick.random() * 0.2)
                second.daemon.kill()

        extra = {"OUTBOARD_TEST_SEED": str(seed), "OPENBLAS_NUM_THREADS": "1", **dict(fault.extra)}
        if suite.arguments.keys:
            extra["OUTBOARD_KEY"] = str(suite.arguments.keys / "good")
        started = time.monotonic()
        outcome = suite.bench.run(
            [suite.bench.program("e2e_survives"), ",".join(ROUTINES), str(LARGEST), str(CALLS)],
            "remote",
            f"{first.address},{second.address}",
            quiet=quiet,
            extra=extra,
            timeout_s=PROGRAM_S + 2 * NOTICED_S,
            during=during,
        )
        seconds = time.monotonic() - started
        outcome.expect_ok().expect_stderr_lines(0 if quiet else 1)
        tally.add(fault, outcome, seconds)


def storm(suite: Suite) -> None:
    tally = Tally()
    chosen = suite.random.choices(FAULTS, [fault.share for fault in FAULTS], k=suite.arguments.runs)
    seeds = [suite.random.getrandbits(32) for _ in chosen]
    # Silence takes seconds, and no core.
    with concurrent.futures.ThreadPoolExecutor(suite.arguments.at_once) as pool:
        futures = [
            pool.submit(run_once, suite, fault, seed, tally)
            for fault, seed in zip(chosen, seeds, strict=True)
        ]
        for fault, seed, future in zip(chosen, seeds, futures, strict=True):
            suite.check(f"{fault.name} (seed {seed})", future.result)

    def something_happened() -> None:
        for what in ("calls that went out", "calls that fell back"):
            expect(tally.counts[what] > 0, f"no {what}: nothing was shown")

    for what, count in sorted(tally.counts.items()):
        print(f"{count:7d} {what}")
    for name, seconds in sorted(tally.longest.items()):
        print(f"{seconds:7.1f} s longest: {name}")
    suite.check("calls went out, and were hit", something_happened)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--keys", type=pathlib.Path, help="daemons over TCP want one of these")


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), storm)
