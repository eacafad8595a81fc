"""Measures how long a call takes whose daemon falls silent at a random moment: it is stopped, its
network is partitioned, or its machine loses its link.

The time of a run is the delay of the program's longest call: the time from its begin, or from the
fault if that came later, to its end, without the time that a call takes anyway on this machine,
which may be busy. All random values come from the printed seed.
"""

from __future__ import annotations

import argparse
import collections.abc
import concurrent.futures
import contextlib
import dataclasses
import functools
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import time

import harness
from faults_test import wait_for_remote_call
from harness import Daemon, Suite, expect
from network_test import cable, one_way, require, rules

from outboard_bench.netns import FAR_ADDRESS, TwoHosts, inside

# The time that a call with a silent daemon may take, besides its local time: 1.75 s (docs/wire.md,
# section 8) and slack for the local run. The median of the runs must hold it. A single run gets
# more, because the cores of this machine may be busy.
PROMISED_S = 2.5
BUSY_S = 2.5
SECONDS = 12.0
SIZES = (64, 200, 400, 800)
LONGEST = re.compile(
    r"longest ([0-9.]+) s, second ([0-9.]+) s\s+ended at ([0-9.]+) s, waited ([0-9.]+) s"
)


@dataclasses.dataclass(frozen=True)
class Shape:
    """The daemons of a run, and how the program uses them."""

    name: str
    transport: str = "tcp"
    devices: int = 1
    second: bool = False  # another daemon, which nothing disturbs


LOCAL_SHAPES = (
    Shape("tcp"),
    Shape("shm", transport="shm"),
    Shape("tcp, two devices", devices=2),
    Shape("shm, two devices", transport="shm", devices=2),
    Shape("tcp, then another daemon", second=True),
)
NETWORK_SHAPES = (
    Shape("one device"),
    Shape("two devices", devices=2),
    Shape("one device, then another daemon", second=True),
)


@dataclasses.dataclass
class Place:
    daemon: Daemon
    hosts: TwoHosts | None

    def program(self, words: list[str]) -> list[str]:
        return inside(self.hosts.near, words) if self.hosts else words


def stopped(place: Place) -> None:
    place.daemon.signal(signal.SIGSTOP)


def partitioned(place: Place) -> None:
    assert place.hosts is not None
    rules(place.hosts, "drop")
    one_way(place.hosts, "drop")


def unplugged(place: Place) -> None:
    assert place.hosts is not None
    cable(place.hosts, "down")


FAULTS = {fault.__name__: fault for fault in (stopped, partitioned, unplugged)}


@contextlib.contextmanager
def place(suite: Suite, shape: Shape, in_network: bool) -> collections.abc.Iterator[Place]:
    options = ["--devices", str(shape.devices)]
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(TwoHosts(9000)) if in_network else None
        daemon = (
            Daemon(suite.bench, options, host=FAR_ADDRESS, wrap=inside(hosts.far, []))
            if hosts
            else Daemon(suite.bench, options)
        )
        stack.callback(daemon.__exit__, harness.CheckError, None, None)
        yield Place(daemon, hosts)


@dataclasses.dataclass(frozen=True)
class Call:
    """The longest call of a program."""

    after_fault_s: float  # from the fault, or from its begin if that was later, to its end
    usual_s: float  # the time of the next longest one, which nothing hit
    waited_s: float  # its thread was ready to run and had no core
    said: str  # by the program on stderr, for example how long it heard nothing

    @property
    def delay_s(self) -> float:
        return self.after_fault_s - self.usual_s

    def __str__(self) -> str:
        return (
            f"{self.delay_s:.2f} s longer (the usual time is {self.usual_s:.2f} s; "
            f"{self.waited_s:.2f} s without a core, load {os.getloadavg()[0]:.1f}; {self.said})"
        )


def run_once(suite: Suite, fault: str, shape: Shape, seed: int) -> Call:
    pick = random.Random(seed)
    struck_s = 0.0
    with contextlib.ExitStack() as stack:
        there = stack.enter_context(place(suite, shape, fault != "stopped"))
        servers = [there.daemon.address(shape.transport)]
        if shape.second:
            servers.append(stack.enter_context(Daemon(suite.bench)).shm)

        def during(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
            nonlocal struck_s
            wait_for_remote_call(process, reports, 2)
            time.sleep(pick.random())  # the moment of the fault, not a wait for an event
            struck_s = time.monotonic()
            FAULTS[fault](there)

        program = [suite.bench.program("e2e_longest_call"), str(pick.choice(SIZES)), str(SECONDS)]
        outcome = suite.bench.run(
            there.program(program),
            "remote",
            ",".join(servers),
            extra={
                "OPENBLAS_NUM_THREADS": "1",
                "OUTBOARD_DEVICES": f"always:{shape.devices}" if shape.devices > 1 else "1",
            },
            during=during,
        )
        outcome.expect_ok().expect_stderr_lines(1)
        found = LONGEST.search(outcome.stdout)
        assert found is not None
        expect(suite.bench.native or outcome.total("*") > 0, "no call went out")
        longest_s, second_s, ended_s, waited_s = map(float, found.groups())
        return Call(min(longest_s, ended_s - struck_s), second_s, waited_s, outcome.stderr.strip())


def chosen(suite: Suite) -> list[tuple[Shape, int]]:
    """Returns the runs: of all shapes in turns, or one run again with its seed."""
    shapes = LOCAL_SHAPES if suite.arguments.fault == "stopped" else NETWORK_SHAPES
    if suite.arguments.again is None:
        return [
            (shapes[i % len(shapes)], suite.random.getrandbits(32))
            for i in range(suite.arguments.runs)
        ]
    name, seed = suite.arguments.again
    [shape] = [shape for shape in shapes if shape.name == name]
    return [(shape, int(seed))] * suite.arguments.runs


def expect_median(times: list[float]) -> None:
    if not times:
        return  # each run has failed
    middle = statistics.median(times)
    expect(middle < PROMISED_S, f"the median of {len(times)} calls is {middle:.2f} s longer")


def liveness(suite: Suite) -> None:
    fault = suite.arguments.fault
    if fault != "stopped":
        require()
    all_runs = chosen(suite)
    times: dict[Shape, list[float]] = {shape: [] for shape, _ in all_runs}
    with concurrent.futures.ThreadPoolExecutor(suite.arguments.at_once) as pool:
        runs = []
        for shape, seed in all_runs:
            runs.append((shape, seed, pool.submit(run_once, suite, fault, shape, seed)))
        for shape, seed, future in runs:

            def judge(
                shape: Shape = shape,
                seed: int = seed,
                future: concurrent.futures.Future[Call] = future,
            ) -> None:
                call = future.result()
                times[shape].append(call.delay_s)
                if call.delay_s > PROMISED_S:
                    print(f"late: --fault {fault} --again '{shape.name}' {seed}: {call}")
                expect(call.delay_s < PROMISED_S + BUSY_S, f"a call took {call}")

            suite.check(f"{fault}, {shape.name} (seed {seed})", judge)
    everything = [taken for some in times.values() for taken in some]
    suite.check(f"{fault}, the median", functools.partial(expect_median, everything))
    for name, some in [(shape.name, some) for shape, some in times.items()] + [("all", everything)]:
        if some:
            middle, most = statistics.median(some), max(some)
            late = sum(taken > PROMISED_S for taken in some)
            print(
                f"{fault}, {name}: {len(some)} runs, median {middle:.2f} s, "
                f"longest {most:.2f} s, {late} above {PROMISED_S} s"
            )


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fault", choices=sorted(FAULTS), required=True)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument(
        "--again", nargs=2, metavar=("SHAPE", "SEED"), help="repeat a run of this shape and seed"
    )


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), liveness)
