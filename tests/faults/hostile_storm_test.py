"""A storm of hostile calls: clients send damaged calls of all routines to a daemon with executors,
while a victim computes all the time and checks each result.

Nothing may change but the results of accepted calls, the victim's results must be right, and the
daemon must not end. A hostile call may end the executor of its own client. The storm also kills
executors, and prints how long their clients wait for new ones. The printed seed repeats all calls.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import json
import os
import pathlib
import statistics
import subprocess
import typing

import harness
from harness import Daemon, Suite, expect

# A guard against hangs, wide enough for a busy machine and a sanitizer.
LONGEST_S = 6000.0
# Lines of a sanitizer about code of this project, not about a library that crashed.
REPORTS = ("runtime error:", "AddressSanitizer: heap", "AddressSanitizer: stack", "LeakSanitizer")

# The part of an attacker's calls that may cost it its connection. Nearly none do.
MOST_ENDED = 0.05
# An attacker kills its executor once in so many calls (hostile_clients.cpp).
CALLS_TO_A_KILL = 250

Report = dict[str, typing.Any]


@dataclasses.dataclass(frozen=True)
class Attack:
    """One attacker: its way to the daemon, and whether it kills its executors."""

    transport: str
    kills: bool = False


@dataclasses.dataclass(frozen=True)
class Storm:
    """The isolation of a daemon, its attackers, and the way of the victim."""

    isolation: str
    attacks: tuple[Attack, ...]
    victim: str


# Clients of a Unix socket have one uid, and with `user` one executor. Over TCP without keys each
# session has its own.
STORMS = (
    Storm("session", (Attack("shm", kills=True), Attack("tcp")), "shm"),
    Storm("user", (Attack("shm"), Attack("tcp")), "tcp"),
)


def program(suite: Suite) -> pathlib.Path:
    return suite.bench.build / "tests" / "hostile_clients"


class Clients:
    """The processes of a storm."""

    def __init__(self, suite: Suite, daemon: Daemon, storm: Storm, calls: int, seed: int) -> None:
        self.program = str(program(suite))
        self.share = calls // len(storm.attacks)
        self.errors = (daemon.folder / "clients").open("wb+")
        self.victim = self.start(["victim", daemon.address(storm.victim)], stdin=subprocess.PIPE)
        self.attackers = [
            self.start(
                ["attack", daemon.address(attack.transport), str(seed + i), "0", str(self.share)]
                + ([str(daemon.process.pid)] if attack.kills else [])
            )
            for i, attack in enumerate(storm.attacks)
        ]

    def start(
        self, arguments: list[str], stdin: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.program, *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=self.errors
        )

    def finish(self) -> tuple[Report, list[Report]]:
        """Waits for the attackers, then ends the victim. Returns their reports."""
        reports = [self.report(attacker) for attacker in self.attackers]
        return self.report(self.victim), reports

    def report(self, process: subprocess.Popen[bytes]) -> Report:
        output, _ = process.communicate(timeout=LONGEST_S)  # closes the victim's stdin
        expect(output.endswith(b"}\n"), f"a client ended with {process.returncode}{self.said()}")
        report: Report = json.loads(output)
        return report

    def expect_success(self) -> None:
        for process in (self.victim, *self.attackers):
            status = process.returncode
            expect(status == 0, f"a client ended with {status}{self.said()}")

    def said(self) -> str:
        self.errors.flush()
        return "\n" + pathlib.Path(self.errors.name).read_text(errors="replace")[-6000:]

    def kill(self) -> None:
        for process in (self.victim, *self.attackers):
            harness.kill_quietly(process)
        self.errors.close()


def show_times(name: str, times_ms: list[float]) -> None:
    if not times_ms:
        print(f"{0:8d} {name}")
        return
    middle, most = statistics.median(times_ms), max(times_ms)
    times = f"{middle:.1f} ms (median), {most:.1f} ms (most)"
    print(f"{len(times_ms):8d} {name}, replaced after {times}")


def show(storm: Storm, victim: Report, reports: list[Report]) -> None:
    codes: collections.Counter[str] = collections.Counter()
    crashed: collections.Counter[str] = collections.Counter()
    for report in reports:
        codes.update(report["codes"])
        crashed.update(report["crashed"])
    ways = " and ".join(attack.transport for attack in storm.attacks)
    print(f"\nisolation {storm.isolation}, attackers over {ways}, victim over {storm.victim}")
    print(f"{sum(codes.values()):8d} hostile calls, the longest {longest(reports):.0f} ms")
    for code, count in codes.most_common():
        print(f"{count:8d}     {code}")
    show_times("executors ended by a call", [ms for r in reports for ms in r["ended_ms"]])
    for text, count in crashed.most_common(12):
        print(f"{count:8d}     {text}")
    show_times("executors killed", [ms for r in reports for ms in r["killed_ms"]])
    print(f"{sum(r['violations'] for r in reports):8d} violations")
    own = sum(r["own_damages"] for r in reports)
    print(f"{own:8d} changes of buffers of the same client, by numbers changed during the call")
    print(f"{victim['calls']:8d} calls of the victim, the longest {victim['longest_ms']:.0f} ms")
    print(f"{victim['wrong']:8d}     wrong\n{victim['failed']:8d}     failed\n", flush=True)


def longest(reports: list[Report]) -> float:
    return max(float(report["longest_ms"]) for report in reports)


def expect_attack(attack: Attack, report: Report, share: int) -> None:
    """An attacker that sent nothing, or whose calls never reached a library, shows nothing."""
    codes = collections.Counter(report["codes"])
    expect(codes.total() == share, f"{codes.total()} of {share} calls were sent")
    expect(codes["ok"] > 0, f"no call was accepted: {codes}")
    expect(codes["invalid argument"] > 0, f"no call was refused: {codes}")
    ended = codes["connection ended"]
    expect(ended <= share * MOST_ENDED, f"{ended} connections ended in {share} calls")
    if attack.kills and share >= CALLS_TO_A_KILL:
        expect(len(report["killed_ms"]) > 0, "no executor was killed")


def run_storm(suite: Suite, storm: Storm) -> None:
    calls = suite.arguments.calls // len(STORMS)
    options = ["--devices", "1", "--isolation", storm.isolation]
    with Daemon(suite.bench, options) as daemon:
        clients = Clients(suite, daemon, storm, calls, suite.random.randrange(1, 2**31))
        try:
            victim, reports = clients.finish()
            show(storm, victim, reports)
            log = pathlib.Path(daemon.log.name).read_text(errors="replace")
            expect(daemon.process.poll() is None, f"the daemon ended\n{log[-6000:]}")
            expect(sum(r["violations"] for r in reports) == 0, f"violations{clients.said()}")
            expect(victim["wrong"] == 0, f"wrong results{clients.said()}")
            expect(victim["failed"] == 0, f"calls of the victim failed{clients.said()}")
            expect(victim["calls"] > 0, "the victim computed nothing")
            for attack, report in zip(storm.attacks, reports, strict=True):
                expect_attack(attack, report, clients.share)
            clients.expect_success()
            found = [line for line in log.splitlines() if any(word in line for word in REPORTS)]
            expect(not found, "a sanitizer reported\n" + "\n".join(found[:20]))
        finally:
            clients.kill()
            save(suite, storm, daemon)


def save(suite: Suite, storm: Storm, daemon: Daemon) -> None:
    if suite.arguments.logs:
        for name in ("clients", "stderr"):
            text = (daemon.folder / name).read_text(errors="replace")
            (suite.arguments.logs / f"{storm.isolation}-{name}").write_text(text)


def main(suite: Suite) -> None:
    os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    # As without a sanitizer: a workspace that is too large fails.
    os.environ.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1")
    for storm in STORMS:
        suite.check(f"isolation {storm.isolation}", functools.partial(run_storm, suite, storm))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--calls", type=int, default=3000, help="hostile calls, all together")
    parser.add_argument("--logs", type=pathlib.Path, help="keep what processes said here")


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), main)
