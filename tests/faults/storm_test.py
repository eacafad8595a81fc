"""A storm: mixed programs run with two daemons, and a fault occurs at a random moment of each run.

No result may be wrong and no program may hang. Each program ends within its local time and the time
to notice the faults. Every run reaches its daemons in one of the ways that this build supports. All
random values come from the printed seed.
"""

from __future__ import annotations

import argparse
import collections
import collections.abc
import concurrent.futures
import contextlib
import pathlib
import random
import subprocess
import threading
import time

import harness
import servers
from faults_test import wait_for_remote_call
from harness import CheckError, Daemon, Outcome, Suite, expect
from storm_faults import FAULTS, Fault, Place
from storm_ways import WAYS, Way

ROUTINES = (
    "sgemm dgemm cgemm zgemm dsymm zhemm dsyrk zherk dtrmm dtrsm ztrsm "
    "sgesv dgesv zgesv dgetrf dgetrs dpotrf zpotrf dpotrs fftw fftwf"
).split()
LARGEST = 240
CALLS = 40
# A silent peer is given up after this time (docs/cli.md).
NOTICED_S = 5.0
# This is far more than a program takes by itself on a machine with many such programs.
PROGRAM_S = 60.0
# This is far less than an operand, so every stream of a striped connection carries some data.
STRIPE_BYTES = "4093"
JOINED = "stream 1 of a client"


def ways_of(suite: Suite) -> list[Way]:
    """Returns the ways that this build supports."""
    keys, ucx = suite.arguments.keys is not None, suite.arguments.ucx
    return [way for way in WAYS if (keys or not way.key) and (ucx or way.first != "ucx")]


class Tally:
    """The results of all runs together, by fault and by way. Threads: any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.runs: collections.Counter[str] = collections.Counter()
        self.out: collections.Counter[str] = collections.Counter()
        self.fell_back: collections.Counter[str] = collections.Counter()
        self.longest_s: dict[str, float] = {}
        self.striped = 0
        self.between = 0

    def add(self, fault: Fault, way: Way, outcome: Outcome, seconds: float) -> None:
        with self._lock:
            self.between += outcome.total("*", "bytes_between")
            for name in (fault.name, way.name):
                self.runs[name] += 1
                self.out[name] += outcome.total("*")
                self.fell_back[name] += outcome.total("*", "fell_back")
                self.longest_s[name] = max(self.longest_s.get(name, 0.0), seconds)

    def add_striped(self, connections: int) -> None:
        with self._lock:
            self.striped += connections

    def show(self) -> None:
        for kind in (FAULTS, WAYS):
            print("\n   runs     out  fell back  longest")
            for name in (each.name for each in kind if self.runs[each.name] > 0):
                counts = f"{self.runs[name]:7d} {self.out[name]:7d} {self.fell_back[name]:10d}"
                print(f"{counts} {self.longest_s[name]:6.1f} s  {name}")
        print(f"{self.striped:7d} connections were striped")
        print(f"{self.between:7d} bytes went from daemon to daemon\n")


def daemon_options(suite: Suite, way: Way, transport: str) -> list[str]:
    options = ["--devices", "1"]
    if way.streams > 1:
        options += ["--stripe", STRIPE_BYTES, "--log-level", "debug"]
    if way.key:
        options += ["--key", str(suite.arguments.keys / "good")]
    if way.plain:
        options += ["--plain"]
    if transport == "ucx":
        options += ["--listen", "ucx:127.0.0.1:0"]
    return options


@contextlib.contextmanager
def place(
    suite: Suite, way: Way, fault: Fault | None, tally: Tally
) -> collections.abc.Iterator[Place]:
    """Runs a daemon, and applies `fault` to it, if there is one."""
    transport = way.first if fault else way.second
    options = [*daemon_options(suite, way, transport), *(fault.options if fault else ())]
    with contextlib.ExitStack() as stack:
        daemon = Daemon(suite.bench, options)
        # kills the daemon, whatever its state
        stack.callback(daemon.__exit__, CheckError, None, None)
        address = daemon.others[0] if transport == "ucx" else daemon.address(transport)
        valve = None
        if fault and fault.on_link:
            # Only the part of UCX that makes a connection and watches its peer passes the valve.
            before = "ucx:" if transport == "ucx" else ""
            valve = stack.enter_context(servers.Valve(address.removeprefix(before)))
            address = before + valve.address
        yield Place(daemon, valve, address)
        tally.add_striped(pathlib.Path(daemon.log.name).read_text(errors="replace").count(JOINED))


def environment(suite: Suite, fault: Fault, way: Way, seed: int) -> dict[str, str]:
    extra = {"OUTBOARD_TEST_SEED": str(seed), "OPENBLAS_NUM_THREADS": "1", **dict(fault.extra)}
    extra["OUTBOARD_STREAMS"] = str(way.streams)
    # Half of the runs share their products: the program's own library computes a part of each.
    extra["OUTBOARD_SHARE"] = "0.5" if seed % 2 else "off"
    # Half of the runs share every call that can be cut between the devices of both daemons.
    extra["OUTBOARD_DEVICES"] = "always:2" if seed % 4 < 2 else "1"
    if way.key:
        extra["OUTBOARD_KEY"] = str(suite.arguments.keys / "good")
    if way.plain:
        extra["OUTBOARD_PLAIN"] = "1"
    return extra


def run_once(suite: Suite, fault: Fault, way: Way, seed: int, tally: Tally) -> None:
    pick = random.Random(seed)
    quiet = pick.random() < 0.5
    with place(suite, way, fault, tally) as first, place(suite, way, None, tally) as second:
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

        started = time.monotonic()
        outcome = suite.bench.run(
            [suite.bench.program("e2e_survives"), ",".join(ROUTINES), str(LARGEST), str(CALLS)],
            "remote",
            f"{first.address},{second.address}",
            quiet=quiet,
            extra=environment(suite, fault, way, seed),
            timeout_s=PROGRAM_S + 2 * NOTICED_S,
            during=during,
        )
        seconds = time.monotonic() - started
        outcome.expect_ok().expect_stderr_lines(0 if quiet else 1)
        tally.add(fault, way, outcome, seconds)


def drawn(suite: Suite) -> list[tuple[Fault, Way, int]]:
    """Draws fault, way and seed of each run. Each fault occurs at least once, and the ways occur
    equally often. A link can fail only if it is not shared memory."""
    more = suite.arguments.runs - len(FAULTS)
    shares = [fault.share for fault in FAULTS]
    faults = [*FAULTS, *suite.random.choices(FAULTS, shares, k=max(0, more))]
    suite.random.shuffle(faults)
    used = collections.Counter(dict.fromkeys(ways_of(suite), 0))
    runs = []
    for fault in faults:
        possible = [way for way in used if way.first != "shm" or not fault.on_link]
        way = min(possible, key=lambda each: (used[each], suite.random.random()))
        used[way] += 1
        runs.append((fault, way, suite.random.getrandbits(32)))
    return runs


def storm(suite: Suite) -> None:
    tally = Tally()
    runs = drawn(suite)
    # Waiting for a silent peer takes seconds, but no core.
    with concurrent.futures.ThreadPoolExecutor(suite.arguments.at_once) as pool:
        futures = [pool.submit(run_once, suite, *run, tally) for run in runs]
        for (fault, way, seed), future in zip(runs, futures, strict=True):
            suite.check(f"{fault.name}, {way.name} (seed {seed})", future.result)

    def something_happened() -> None:
        for way in {way for _, way, _ in runs}:
            expect(tally.out[way.name] > 0, f"no call went out: {way.name}")
        expect(tally.fell_back.total() > 0, "no call fell back: nothing was shown")
        striped = any(way.streams > 1 for _, way, _ in runs)
        expect(tally.striped > 0 or not striped, "no connection was striped")

    tally.show()
    suite.check("calls went out in every way, and were hit", something_happened)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=66, help="at least one for each fault")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument(
        "--keys", type=pathlib.Path, help="also with daemons that want one of these"
    )
    parser.add_argument("--ucx", action="store_true", help="over UCX, too")


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), storm)
