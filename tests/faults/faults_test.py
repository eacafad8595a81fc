"""Runs programs with servers that die, hang, are missing or are something else. Answers must be
right, in bounded time, with one line of output at most.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import pathlib
import random
import signal
import subprocess
import time

import harness
import servers
from harness import CheckError, Daemon, Outcome, Suite, expect

# The sizes are large enough that killing the server hits a call, and small enough to finish locally
# at once.
SIZE = {"dgemm": 600, "zgemm": 400, "dgetrf": 700, "dgesv": 700, "dpotrf": 700, "fftw": 600}


def survivor(suite: Suite, routine: str, calls: int, size: int = 0) -> list[str]:
    return [suite.bench.program("e2e_survives"), routine, str(size or SIZE[routine]), str(calls)]


def judge(outcome: Outcome, quiet: bool) -> Outcome:
    return outcome.expect_ok().expect_stderr_lines(0 if quiet else 1)


def wait_for_remote_call(
    process: subprocess.Popen[bytes], reports: pathlib.Path, count: int
) -> None:
    """Returns when the running program has made `count` remote calls. Its counters are in a file
    while it runs.
    """
    deadline = time.monotonic() + 60
    while process.poll() is None:
        for path in reports.iterdir():
            try:
                report = harness.read_report(path)
            except (CheckError, OSError):
                continue  # the report is still being made
            if sum(row["remote"] for row in report.rows.values()) >= count:
                return
        expect(time.monotonic() < deadline, "no call went out within 60 s")
        time.sleep(0.0005)


def kill_while_running(
    suite: Suite, daemon: Daemon, transport: str, routine: str, delay_s: float, stop: bool
) -> int:
    """Kills the daemon `delay_s` after the first call went out. Returns the number of calls that
    had to be repeated.
    """

    def during(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
        wait_for_remote_call(process, reports, 1)
        time.sleep(delay_s)  # the moment of the fault, not a wait for an event
        if stop:
            daemon.signal(signal.SIGSTOP)
            time.sleep(0.3)
        daemon.kill()

    quiet = suite.random.random() < 0.5
    outcome = suite.bench.run(
        survivor(suite, routine, 12),
        "remote",
        daemon.address(transport),
        quiet=quiet,
        during=during,
    )
    judge(outcome, quiet)
    expect(outcome.total("*") >= 1, f"no call went out before the kill\n{outcome.counters()}")
    return outcome.total("*", "fell_back")


def killed(suite: Suite, stop: bool = False) -> None:
    """Tests several kill times per transport. At least one kill must hit the middle of a call."""
    for transport in ("shm", "tcp"):
        repeated: list[int] = []

        def once(
            routine: str, delay_s: float, transport: str = transport, repeated: list[int] = repeated
        ) -> None:
            if suite.bench.native:
                suite.bench.run(survivor(suite, routine, 4)).expect_ok()
                repeated.append(1)
                return
            with Daemon(suite.bench) as daemon:
                repeated.append(
                    kill_while_running(suite, daemon, transport, routine, delay_s, stop)
                )

        what = "stopped, then killed" if stop else "killed"
        routines = (
            ("dgemm", "dgetrf", "fftw")
            if stop
            else ("dgemm", "dgetrf", "dpotrf", "fftw", "dgemm", "dgesv")
        )
        for routine in routines:
            delay_s = suite.random.random() * 0.03
            name = f"{what} during {routine} over {transport}, after {delay_s * 1000:.1f} ms"
            suite.check(name, functools.partial(once, routine, delay_s))

        def some_hit(repeated: list[int] = repeated) -> None:
            expect(sum(repeated) > 0, "every kill missed; nothing was shown")

        suite.check(f"{what}: some call over {transport} was hit in the middle", some_hit)


def cut(
    suite: Suite,
    routine: str,
    to_server: bool,
    limit: int,
    kill: bool,
    in_call: bool,
    streams: int,
) -> None:
    """Lets exactly `limit` bytes pass one way, then kills the daemon or cuts the link.

    Counting starts with the first byte, or with in_call after a call went out. The bytes before
    that belong to the handshake and to measuring the link.
    """
    if suite.bench.native:
        suite.bench.run(survivor(suite, routine, 3)).expect_ok()
        return
    quiet = suite.random.random() < 0.5

    def during(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
        if in_call:
            wait_for_remote_call(process, reports, 1)
            relay.arm(limit)

    with Daemon(suite.bench) as daemon:
        end = daemon.kill if kill else lambda: None
        with servers.Relay(daemon.tcp, to_server, end) as relay:
            if not in_call:
                relay.arm(limit)
            command = survivor(suite, routine, 12 if in_call else 2)
            outcome = suite.bench.run(
                command,
                "remote",
                relay.address,
                quiet=quiet,
                during=during,
                extra={"OUTBOARD_STREAMS": str(streams)},
            )
            expect(relay.did_cut, f"too little was sent for this cut\n{outcome.counters()}")
    judge(outcome, quiet)
    if in_call:
        expect(
            outcome.total("*") >= 1 and outcome.total("*", "fell_back") >= 1,
            f"no call was hit in the middle\n{outcome.counters()}",
        )
    else:
        outcome.expect_none_out()


def cuts(suite: Suite) -> None:
    """Tests cuts at exact bytes of the handshake, the first measurement, uploads and results."""

    def check(routine: str, to_server: bool, limit: int, in_call: bool, streams: int = 1) -> None:
        kill = suite.random.random() < 0.7
        what = "daemon killed" if kill else "link cut"
        way = "to" if to_server else "from"
        when = ", in a call" if in_call else ""
        over = f", {streams} streams" if streams > 1 else ""
        name = f"{routine}: {what} after {limit} bytes {way} the server{when}{over}"
        body = functools.partial(cut, suite, routine, to_server, limit, kill, in_call, streams)
        suite.check(name, body)

    for limit in (1, 31, 60):  # bytes of the hello
        check("dgemm", True, limit, in_call=False)
    for limit in (20, 32, 100, 150):  # bytes of the welcome
        check("dgemm", False, limit, in_call=False)
    check("fftw", True, 60, in_call=False)
    for routine in ("dgemm", "dgesv", "dpotrf", "fftw"):
        # A usual call of these sizes moves 0.5 MB or more. A dozen calls move more than any limit.
        for most in (5_000, 1_000_000):
            check(routine, True, suite.random.randint(1, most), in_call=True)
            check(routine, False, suite.random.randint(1, most), in_call=True)
    # bytes of the hello, then of the messages by which further streams join
    for limit in (60, 100, 180, 230):
        check("dgemm", True, limit, in_call=False, streams=3)
    # bytes of the welcome, then of the messages that grant and join further streams
    for limit in (150, 230, 260):
        check("dgemm", False, limit, in_call=False, streams=3)
    for to_server in (True, False):
        limit = suite.random.randint(1, 2_000_000)
        check("dgemm", to_server, limit, in_call=True, streams=3)


def stays_local(suite: Suite, server: str) -> None:
    """Checks answers with an unusable server: right ones, with one line at most, or with none if
    quiet."""
    for quiet in (False, True):
        for command in (
            survivor(suite, "dgemm", 5, 200),
            [suite.bench.program("e2e_poison"), "1", "60"],
        ):
            judge(suite.bench.run(command, "remote", server, quiet=quiet), quiet).expect_none_out()
    judge(
        suite.bench.run(survivor(suite, "dgemm", 3, 200), "auto", server), False
    ).expect_none_out()


def unreachable(suite: Suite) -> None:
    with servers.dead_address() as dead:
        suite.check("nobody listens", functools.partial(stays_local, suite, dead))
    suite.check(
        "no such socket file",
        functools.partial(stays_local, suite, "unix:/nonexistent/outboard.sock"),
    )
    for malformed in ("nonsense", "127.0.0.1:99999", "unix:", ",,"):
        suite.check(f"server {malformed!r}", functools.partial(stays_local, suite, malformed))


def lists(suite: Suite) -> None:
    """Checks that a list of servers is tried from the front."""

    def second(server: str) -> None:
        outcome = suite.bench.run([suite.bench.program("e2e_poison"), "2", "60"], "remote", server)
        judge(outcome, False).expect_out({"dgemm": 2, "zpotrf": 2, "fftw*": 4})

    with suite.server() as daemon, servers.dead_address() as dead:
        live = (daemon.tcp, daemon.shm) if daemon else ("", "")
        suite.check("dead first, then live over tcp", lambda: second(f"{dead},{live[0]}"))
        suite.check("dead first, then live over shm", lambda: second(f"{dead},{live[1]}"))
        suite.check(
            "no socket file first", lambda: second(f"unix:/nonexistent/outboard.sock,{live[0]}")
        )
        with servers.Stranger(servers.http) as stranger:
            suite.check("a web server first", lambda: second(f"{stranger.address},{live[0]}"))


def strangers(suite: Suite) -> None:
    """Checks servers that are no daemon of this version."""
    for name, behaviour in servers.STRANGERS.items():
        with servers.Stranger(behaviour) as stranger:

            def asked(stranger: servers.Stranger = stranger) -> None:
                expect(suite.bench.native or stranger.connections > 0, "nobody connected to it")

            stays = functools.partial(stays_local, suite, stranger.address)
            suite.check(f"a server that is {name}", stays)
            suite.check(f"{name} was asked at all", asked)


def versions(suite: Suite) -> None:
    """Checks a daemon of another version: the one line says so, and names both versions."""
    for behaviour in (servers.refuses_version, servers.welcomes_in_another_version):
        with servers.Stranger(behaviour) as stranger:

            def told(server: str = stranger.address) -> None:
                outcome = suite.bench.run(survivor(suite, "dgemm", 2, 200), "remote", server)
                judge(outcome, False)
                line = outcome.stderr
                good = "version 8" in line and "version 4" in line
                expect(suite.bench.native or good, f"the line names no versions: {line!r}")

            suite.check(behaviour.__name__, told)


def silent(suite: Suite) -> None:
    """Checks that a server which accepts and never answers does not block a program for ever."""

    def run(server: str) -> None:
        judge(
            suite.bench.run(survivor(suite, "dgemm", 5, 200), "remote", server), False
        ).expect_none_out()

    def goes_on(server: str) -> None:
        """Mode auto does not wait. If the program is over first, the report says so."""
        extra = {"OUTBOARD_FIRST_WAIT": "0"}
        outcome = suite.bench.run(survivor(suite, "dgemm", 5, 200), "auto", server, extra=extra)
        outcome.expect_ok().expect_none_out()
        for report in outcome.reports:
            ended_before = "ended before the first answer" in report.reason
            given_up = "does not answer" in report.notice
            expect(ended_before != given_up, f"reason {report.reason!r}, notice {report.notice!r}")

    with servers.Stranger(servers.silent) as stranger:
        suite.check("a server that never answers", lambda: run(stranger.address))
        suite.check("the same in mode auto", lambda: goes_on(stranger.address))


def survives_own_clients(suite: Suite) -> None:
    """Checks the opposite direction: if clients die in the middle of their calls, the daemon serves
    the next one.
    """

    def run(daemon: Daemon | None, transport: str, pick: random.Random) -> None:
        if daemon is None:
            return
        for routine in ("dgemm", "fftw", "dgetrf"):

            def during(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
                wait_for_remote_call(process, reports, 1)
                time.sleep(pick.random() * 0.03)
                process.kill()

            outcome = suite.bench.run(
                survivor(suite, routine, 200), "remote", daemon.address(transport), during=during
            )
            expect(outcome.code == -signal.SIGKILL, f"the client ended by itself ({outcome.code})")
        after = suite.bench.run(
            [suite.bench.program("e2e_poison"), "1", "60"], "remote", daemon.address(transport)
        )
        judge(after, True).expect_out({"dgemm": 1, "zpotrf": 1, "fftw*": 2})

    with suite.server() as daemon:
        for transport in ("shm", "tcp"):
            body = functools.partial(run, daemon, transport, suite.random)
            suite.check(f"clients killed over {transport}", body)


def stopped(suite: Suite) -> None:
    """Checks a daemon that hangs (SIGSTOP) in the middle of a call, and is killed a little
    later."""
    killed(suite, stop=True)


def hangs(suite: Suite) -> None:
    """Checks a daemon that hangs and is not killed: the program must continue."""

    def run(transport: str) -> None:
        if suite.bench.native:
            return
        with Daemon(suite.bench) as daemon:

            def during(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
                wait_for_remote_call(process, reports, 1)
                daemon.signal(signal.SIGSTOP)

            outcome = suite.bench.run(
                survivor(suite, "dgemm", 12), "remote", daemon.address(transport), during=during
            )
            daemon.kill()
        judge(outcome, False)
        expect(outcome.total("*", "fell_back") >= 1, f"nothing hung\n{outcome.counters()}")

    for transport in ("shm", "tcp"):
        suite.check(f"the daemon hangs, {transport}", functools.partial(run, transport))


def executors_of(daemon: Daemon) -> list[int]:
    """Returns the executor processes of a daemon, also those without an owner."""
    tasks = pathlib.Path(f"/proc/{daemon.process.pid}/task")
    children = [path.read_text().split() for path in tasks.glob("*/children")]
    return [int(pid) for pids in children for pid in pids]


def executors(suite: Suite) -> None:
    """Executors are killed in the middle of calls. The daemon lives on, and answers are right."""
    if suite.bench.native:
        return

    def run(daemon: Daemon, transport: str, routine: str, seen: set[int]) -> None:
        def during(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
            wait_for_remote_call(process, reports, 1)
            for _ in range(3):
                time.sleep(suite.random.random() * 0.05)  # the moment of the fault
                for pid in executors_of(daemon):
                    seen.add(pid)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

        outcome = suite.bench.run(
            survivor(suite, routine, 12), "remote", daemon.address(transport), during=during
        )
        outcome.expect_ok()
        expect(daemon.process.poll() is None, f"the daemon ended\n{daemon.errors()}")

    with Daemon(suite.bench) as daemon:
        seen: set[int] = set()
        for transport in ("shm", "tcp"):
            for routine in ("dgemm", "dgetrf", "fftw"):
                suite.check(
                    f"executors killed during {routine} over {transport}",
                    functools.partial(run, daemon, transport, routine, seen),
                )
        suite.check(
            "executors were replaced",
            lambda: expect(len(seen) > 2, f"only {len(seen)} executors were seen"),
        )


def small_device(suite: Suite) -> None:
    """Checks calls larger than the device's memory, among others that fit."""

    def run(daemon: Daemon | None, transport: str) -> None:
        server = daemon.address(transport) if daemon else ""
        large = suite.bench.run(survivor(suite, "dgemm", 3, 1500), "remote", server)
        judge(large, False)
        small = suite.bench.run([suite.bench.program("e2e_poison"), "1", "60"], "remote", server)
        judge(small, True).expect_out({"dgemm": 1, "fftw*": 2})

    with suite.server(["--device-memory", "8MB"]) as daemon:
        for transport in ("shm", "tcp"):
            body = functools.partial(run, daemon, transport)
            suite.check(f"8 MB of device memory, {transport}", body)


CASES = {
    case.__name__: case
    for case in (
        killed,
        stopped,
        hangs,
        small_device,
        cuts,
        unreachable,
        lists,
        strangers,
        versions,
        silent,
        survives_own_clients,
        executors,
    )
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", choices=sorted(CASES), required=True)


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), lambda suite: CASES[suite.arguments.case](suite))
