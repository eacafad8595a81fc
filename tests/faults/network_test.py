"""Tests faults of the network: packets lost, rejected or dropped one way, and a link taken down.
Programs and a daemon run on two hosts (network namespaces). A second daemon is always reachable.
"""

from __future__ import annotations

import argparse
import collections.abc
import concurrent.futures
import contextlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import harness
from faults_test import wait_for_remote_call
from harness import Daemon, MissingError, Suite, expect
from storm_test import CALLS, LARGEST, NOTICED_S, PROGRAM_S, ROUTINES

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from outboard_bench.netns import DEVICE, FAR_ADDRESS, TwoHosts, inside

Pause = collections.abc.Callable[[float], object]


def rules(hosts: TwoHosts, *lines: str) -> None:
    """Sets the rules by which the far host treats packets that arrive. No lines remove the
    rules."""
    chain = "\n".join(("type filter hook input priority 0", *lines))
    text = (
        f"table ip faults\ndelete table ip faults\ntable ip faults {{\nchain in {{\n{chain}\n}}\n}}"
    )
    subprocess.run(inside(hosts.far, ["nft", "-f", "-"]), input=text, text=True, check=True)


def one_way(hosts: TwoHosts, *lines: str) -> None:
    """Sets the rules for packets that the far host sends."""
    chain = "\n".join(("type filter hook output priority 0", *lines))
    text = f"table ip faults {{\nchain out {{\n{chain}\n}}\n}}"
    subprocess.run(inside(hosts.far, ["nft", "-f", "-"]), input=text, text=True, check=True)


def cable(hosts: TwoHosts, state: str) -> None:
    subprocess.run(["ip", "-n", hosts.far, "link", "set", DEVICE, state], check=True)


def few_lost(hosts: TwoHosts, _pause: Pause) -> None:
    rules(hosts, "numgen random mod 100 < 2 drop")


def many_lost(hosts: TwoHosts, _pause: Pause) -> None:
    # At 30 % TCP sends 100 kB/s and pauses for seconds, so the time of a program has no limit.
    rules(hosts, "numgen random mod 100 < 10 drop")


def all_lost_for_a_while(hosts: TwoHosts, pause: Pause) -> None:
    rules(hosts, "drop")
    pause(1.5)
    rules(hosts)


def rejected(hosts: TwoHosts, _pause: Pause) -> None:
    rules(hosts, "ip protocol tcp reject with tcp reset")


def questions_lost(hosts: TwoHosts, _pause: Pause) -> None:
    rules(hosts, "drop")


def answers_lost(hosts: TwoHosts, _pause: Pause) -> None:
    one_way(hosts, "drop")


def unplugged(hosts: TwoHosts, _pause: Pause) -> None:
    cable(hosts, "down")


def unplugged_for_a_while(hosts: TwoHosts, pause: Pause) -> None:
    cable(hosts, "down")
    pause(1.0)
    cable(hosts, "up")


FAULTS = (
    few_lost,
    many_lost,
    all_lost_for_a_while,
    rejected,
    questions_lost,
    answers_lost,
    unplugged,
    unplugged_for_a_while,
)


def require() -> None:
    if os.geteuid() != 0:
        raise MissingError("network namespaces need root")
    for program in ("ip", "nft"):
        if shutil.which(program) is None:
            raise MissingError(f"{program} (Debian: iproute2, nftables)")


def run_once(
    suite: Suite, fault: collections.abc.Callable[[TwoHosts, Pause], None], seed: int
) -> tuple[int, float]:
    """Returns the calls that went out, and the seconds from the fault to the program's end."""
    pick = random.Random(seed)
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(TwoHosts(9000))
        there = Daemon(suite.bench, host=FAR_ADDRESS, wrap=inside(hosts.far, []))
        stack.callback(there.__exit__, harness.CheckError, None, None)
        here = stack.enter_context(Daemon(suite.bench))
        struck = 0.0

        def during(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
            nonlocal struck

            def pause(seconds: float) -> None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(seconds)

            wait_for_remote_call(process, reports, 1)
            pause(pick.random() * 0.2)
            struck = time.monotonic()
            fault(hosts, pause)

        program = [
            suite.bench.program("e2e_survives"),
            ",".join(ROUTINES),
            str(LARGEST),
            str(CALLS),
        ]
        outcome = suite.bench.run(
            inside(hosts.near, program),
            "remote",
            f"{there.tcp},{here.shm}",
            extra={"OUTBOARD_TEST_SEED": str(seed), "OPENBLAS_NUM_THREADS": "1"},
            timeout_s=PROGRAM_S + 2 * NOTICED_S,
            during=during,
        )
        outcome.expect_ok().expect_stderr_lines(1)
        return outcome.total("*"), time.monotonic() - struck


def network(suite: Suite) -> None:
    require()
    longest = 0.0
    with concurrent.futures.ThreadPoolExecutor(suite.arguments.at_once) as pool:
        futures = {}
        for fault in FAULTS:
            for _ in range(suite.arguments.rounds):
                seed = suite.random.getrandbits(32)
                futures[f"{fault.__name__} (seed {seed})"] = pool.submit(
                    run_once, suite, fault, seed
                )
        for name, future in futures.items():

            def judge(future: concurrent.futures.Future[tuple[int, float]] = future) -> None:
                nonlocal longest
                out, seconds = future.result()
                expect(suite.bench.native or out > 0, "no call went out")
                longest = max(longest, seconds)

            suite.check(name, judge)
    print(f"{longest:.1f} s from a fault to the program's end at most")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=4)


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), network)
