"""Disturbs a pool of several hosts while jobs come and go, a program computes under `outboard run`,
another one takes devices by itself, and a lease grows and shrinks. Results stay right, nothing is
left over, and the history checker finds nothing in the logs.

The times that each disturbance took are printed; none fails by them.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pool_commands import fresh_seed
from pool_daemon import PATIENCE_S, Worker, until
from pool_histories import (
    VIOLATIONS,
    History,
    check_history,
    events_of_daemon,
    expect_found,
)
from pool_hosts import Hosts, Star, inside

from conftest import clean_environment, command_line
from outboard import paths
from outboard.errors import OutboardError

# Daemons serve for so long without their manager: longer than most cuts, and shorter than one.
GRACE_S = 25
TTL_S = 10
# The longest time until a program that takes devices by itself has one again after a disturbance.
OWN_S = 180.0
# After so many cases all that may happen has happened.
MANY_CASES = 10
PREFIX = 5000  # events of a history into which violations are put

# Moments of the load: nobody asks the manager, a request is being stored, programs compute, and a
# release is being stored.
IDLE, ASKING, COMPUTING, RELEASING = MOMENTS = ("idle", "asking", "computing", "releasing")

# A job of a moment. The oracle is numpy's product of integers.
JOB = """
import sys, numpy as np
rng = np.random.default_rng(int(sys.argv[1]))
for _ in range(20):
    whole = rng.integers(-8, 9, (2, 100, 100))
    a, b = whole.astype(float)
    if not (a @ b == whole[0] @ whole[1]).all():
        sys.exit("a wrong product")
"""

# A lease that grows and shrinks until its input ends, on one line of output for each answer. It
# pauses between two leases when it reads "pause", until it reads "go".
GROWER = """
import json, os, select, sys, time
from outboard.errors import OutboardError
from outboard.pool.client import PoolClient
url, name, ttl_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
pool = PoolClient(url)

def ask(method, path, body=None, wait_s=0):
    asked = time.monotonic_ns()
    told = pool.ask(method, path, body, wait_s=wait_s)
    if told is not None:
        handles = [[h["device"], h["epoch"]] for h in told["handles"]]
        print(json.dumps({"t": time.monotonic_ns(), "event": "answer", "lease": told["id"],
                          "rev": told["rev"], "asked": asked, "handles": handles}), flush=True)
    return told

turn = 0
while True:
    if select.select([sys.stdin], [], [], 0.2)[0]:
        line = sys.stdin.readline()
        if line.strip() == "pause":
            print(json.dumps({"t": time.monotonic_ns(), "event": "paused"}), flush=True)
            line = sys.stdin.readline()
        if not line:
            break
    turn += 1
    path = f"/v1/leases/{name}-{turn}"
    try:
        ask("PUT", path, {"ttl_s": ttl_s, "wait_s": 2}, 2)
        told = ask("POST", path + "/handles", {"part": "more", "count": 1, "wait_s": 1}, 1)
        for handle in told["handles"][1:]:
            ask("DELETE", path + "/handles/" + handle["device"].replace("/", "%2F"))
        ask("GET", path)
        ask("DELETE", path)
    except OutboardError as error:
        print(json.dumps({"t": time.monotonic_ns(), "event": "failed", "why": str(error)[:200]}),
              flush=True)
"""


class Pauses(threading.Thread):
    """Looks at the calls of programs, and knows how long each has made none."""

    def __init__(self, programs: dict[str, Worker]) -> None:
        super().__init__(daemon=True)
        self._programs = programs
        self.longest: dict[str, float] = {}
        self._ended = threading.Event()

    def run(self) -> None:
        last: dict[str, tuple[int, float]] = {}
        while not self._ended.wait(0.05):
            now = time.monotonic()
            for name, program in list(self._programs.items()):
                with contextlib.suppress(OSError, AssertionError):
                    calls = program.counted("remote") + program.counted("local_calls")
                    if calls != last.get(name, (-1, now))[0]:
                        last[name] = (calls, now)
                    pause = now - last[name][1]
                    self.longest[name] = max(pause, self.longest.get(name, 0))

    def end(self) -> dict[str, float]:
        self._ended.set()
        self.join()
        return self.longest


class Load:
    """Programs, jobs and a lease on the client's host."""

    def __init__(self, hosts: Hosts, seed: int) -> None:
        self.hosts, self._seed = hosts, seed
        self._turn = 0
        self.programs: dict[str, Worker] = {}
        self.start_program()
        self.start_own()
        self.notes = hosts.folder / "grower.jsonl"
        words = [sys.executable, "-c", GROWER, hosts.url, "grower", str(TTL_S)]
        with self.notes.open("w") as notes:
            self.grower = subprocess.Popen(
                inside(hosts.star.client, words), stdin=subprocess.PIPE, stdout=notes,
                env=clean_environment(), start_new_session=True,
            )  # fmt: skip
        self._ended = threading.Event()
        self._may_start = threading.Lock()  # is held while a job runs
        self.jobs = self.remote_jobs = 0
        self.failed: list[str] = []
        self._jobs = threading.Thread(target=self._run_jobs, daemon=True)
        self._jobs.start()

    def _worker(self, name: str, words: list[str], **variables: str) -> Worker:
        self._turn += 1
        folder = self.hosts.folder / f"{name}{self._turn}"
        return Worker(
            self.hosts.native, folder, wrap=inside(self.hosts.star.client, words),
            preloaded=not words, OUTBOARD_NATIVE_DIR=str(self.hosts.native.root), **variables,
        )  # fmt: skip

    def start_program(self) -> None:
        """Starts a program under `outboard run`, with a device of its own."""
        words = ["run", "--pool", self.hosts.url, "--accelerators", "1", "--wait", "60s"]
        words += ["--mode", "remote", "--"]
        self.programs["static"] = self._worker("static", command_line(*words))

    def start_own(self) -> None:
        """Starts a program that takes a device by itself."""
        # Devices of any speed are worth it: this machine's cores may be as fast as they are.
        variables = {"OUTBOARD_POOL": self.hosts.url, "OUTBOARD_POOL_GFLOPS": "0"}
        self.programs["own"] = self._worker("own", [], **variables)
        self.programs["own"].expect_remote(OWN_S)

    def lease_of_program(self) -> str:
        """Returns the lease that `outboard run` holds for its program."""
        pid = self.programs["static"].process.pid
        child = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        (lease,) = [v.partition(b"=")[2] for v in variables if v.startswith(b"OUTBOARD_LEASE=")]
        return lease.decode()

    def _run_jobs(self) -> None:
        """Runs jobs one after the other, with one or two devices each."""
        environment = clean_environment(OUTBOARD_NATIVE_DIR=str(self.hosts.native.root))
        while not self._ended.is_set():
            with self._may_start:
                self._run_job(environment)
            self._ended.wait(0.2)

    def _run_job(self, environment: dict[str, str]) -> None:
        report = self.hosts.folder / "job.json"
        report.unlink(missing_ok=True)
        words = command_line(
            "run", "--pool", self.hosts.url, "--accelerators", str(1 + self.jobs % 2),
            "--wait", "30s", "--mode", "remote", "--report", f"json:{report}", "--",
            sys.executable, "-c", JOB, str(self._seed + self.jobs),
        )  # fmt: skip
        done = subprocess.run(
            inside(self.hosts.star.client, words),
            capture_output=True, text=True, env=environment, check=False,
        )  # fmt: skip
        self.jobs += 1
        if report.exists():
            routines = json.loads(report.read_text())["routines"]
            self.remote_jobs += any(routine["remote"] for routine in routines)
        if done.returncode != 0:
            self.failed.append(f"status {done.returncode}: {done.stderr[-500:]}")

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """While the lease is given back, and no job runs."""
        with self._may_start:
            paused = self.notes.read_text().count('"paused"')
            self._tell_grower(b"pause\n")
            until(lambda: self.notes.read_text().count('"paused"') > paused, "the lease is paused")
            try:
                yield
            finally:
                self._tell_grower(b"go\n")

    def _tell_grower(self, line: bytes) -> None:
        assert self.grower.stdin is not None
        self.grower.stdin.write(line)
        self.grower.stdin.flush()

    def goes_on(self) -> None:
        """Waits until a job has run, the lease has grown, and both programs have computed."""
        jobs, answers = self.jobs, self.answers()
        for program in self.programs.values():
            done = program.counted("remote") + program.counted("local_calls")
            until(
                lambda p=program, n=done: p.counted("remote") + p.counted("local_calls") > n,
                f"it computes; it said: {program.said()}",
            )
        until(lambda: self.jobs > jobs, "jobs run", 2 * PATIENCE_S)
        until(lambda: self.answers() > answers, "the lease grows and shrinks", PATIENCE_S)
        assert self.failed == []

    def answers(self) -> int:
        return self.notes.read_text().count('"answer"')

    def end(self) -> None:
        self._ended.set()
        self._jobs.join()
        self.grower.communicate(timeout=PATIENCE_S)
        for program in self.programs.values():
            assert program.finish() > 0
        assert self.failed == []

    def shrinks(self) -> int:
        """Returns how often the lease had two devices, and one of them later."""
        counts: dict[str, int] = {}
        shrinks = 0
        for event in map(json.loads, self.notes.read_text().splitlines()):
            if event["event"] == "answer":
                count = len(event["handles"])
                shrinks += counts.get(event["lease"]) == 2 and count == 1
                counts[event["lease"]] = count
        return shrinks


class Site:
    def __init__(self, hosts: Hosts, seed: int) -> None:
        self.hosts, self.random = hosts, random.Random(seed)
        self.died: History = []
        self.cases = 0
        self.load = Load(hosts, seed)
        self.load.goes_on()

    def check_history(self) -> int:
        """Returns the number of events, among which nothing is wrong."""
        history = check_history.read(self.hosts.histories) + list(self.died)
        for line in self.load.notes.read_text().splitlines():
            event = json.loads(line)
            history += [event] if event["event"] == "answer" else []
        for daemon in self.hosts.daemons:
            assert daemon.log is not None
            history += events_of_daemon(daemon.log)
        history.sort(key=lambda event: event["t"])
        assert check_history.check(history) == []
        assert {"answer", "begin", "end", "floor", "commit"} <= {e["event"] for e in history}
        if self.cases < MANY_CASES:
            return len(history)
        assert requests_that_waited(history) > 0
        for violate in VIOLATIONS:
            expect_found(violate, history[:PREFIX])
        return len(history)

    def kill_daemon(self) -> None:
        daemon = self.hosts.daemons[0]
        daemon.stop(signal.SIGKILL)
        self.died += [
            {"t": time.monotonic_ns(), "event": "died", "device": f"{daemon.name}/{device}"}
            for device in range(2)
        ]

    @contextlib.contextmanager
    def disturbed(self, what: str, moment: str = "") -> Iterator[None]:
        """Begins at one of MOMENTS of the load, or at random. Afterwards all goes on."""
        self.cases += 1
        self.load.programs["static"].expect_remote()
        time.sleep(self.random.uniform(0, 1.5))
        pauses = Pauses(self.load.programs)
        pauses.start()
        self.hosts.leader()  # who that is may have changed since the last one
        for device in self.hosts.lease(self.load.lease_of_program())["devices"]:
            self.hosts.aim(device.partition("/")[0])  # else the node hit could be the other one
        with contextlib.ExitStack() as quiet:
            if moment == IDLE:
                quiet.enter_context(self.load.paused())
            elif moment == COMPUTING:
                self.load.programs["static"].expect_remote()
            elif moment:
                self._wait_for_command({ASKING: "PutLease", RELEASING: "Release"}[moment])
            yield
        healed = time.monotonic()
        until(self.is_healthy, "all devices may be granted", 2 * PATIENCE_S)
        healthy_s = time.monotonic() - healed
        longest = pauses.end()
        told = ", ".join(f"{name} at most {s:.1f} s without a call" for name, s in longest.items())
        print(f"{healed:.0f} s: {what}: {told}; all devices well {healthy_s:.1f} s after the end")
        self.load.goes_on()
        # It asks again after pauses that grow while it fails.
        self.load.programs["own"].expect_remote(OWN_S)

    def _wait_for_command(self, name: str) -> None:
        """Waits until the manager stores the next command of this type."""
        word = f'"type":"{name}"'.encode()
        files = {history: history.stat().st_size for history in self.hosts.histories}

        def has_come() -> bool:
            for history, size in files.items():
                with history.open("rb") as file:
                    file.seek(size)
                    if word in file.read():
                        return True
            return False

        until(has_come, f"there is a {name}", PATIENCE_S, pause_s=0.002)

    def is_healthy(self) -> bool:
        try:
            rows = self.hosts.client.pages("/v1/devices", "devices")
        except OutboardError:
            return False  # nobody leads for a moment
        return len(rows) == 4 and all(
            row["health"] == "ok" and row["allocation"] != "unconfirmed" for row in rows
        )


@contextlib.contextmanager
def site_of(kind: type[Hosts], folder: Path, native: paths.Native) -> Iterator[Site]:
    """Yields a site under load. At the end, nothing is left over, and its history is right."""
    with Star(1500, kind.HOSTS) as star:
        hosts = kind(folder, native, star, "--manager-grace", str(GRACE_S))
        site = Site(hosts, fresh_seed())
        yield site
        hosts.cut("")
        site.load.end()
        if site.cases >= MANY_CASES:
            assert site.load.remote_jobs > 0
            assert site.load.shrinks() > 0
        hosts.stop()
        events = site.check_history()
        load = site.load
        print(
            f"{events} events, {load.jobs} jobs, {load.remote_jobs} of them on devices; the lease "
            f"shrank {load.shrinks()} times"
        )


def requests_that_waited(history: History) -> int:
    """Returns how many leases were queued first and had devices later."""
    queued, served = set(), set()
    for event in history:
        if event["event"] != "apply" or "handles" not in (event["answer"] or {}):
            continue
        lease = event["answer"]["id"]
        if event["type"] == "PutLease" and not event["answer"]["handles"]:
            queued.add(lease)
        elif event["answer"]["handles"] and lease in queued:
            served.add(lease)
    return len(served)


# These pairs of a manager, a node and a client can be cut off from each other.
PAIRS = ["M-D", "M-C", "C-D", "M-C M-D", "M-D C-D", "M-C C-D", "M-C M-D C-D"]


def cut(site: Site, pairs: str, way: str, seconds: float) -> None:
    """`way`: "both"; "there" drops the packets from the first of each pair, "back" the others."""
    if way == "back":
        pairs = " ".join("-".join(reversed(pair.split("-"))) for pair in pairs.split())
    with site.disturbed(f"cut {pairs}, {way}, {seconds} s"):
        site.hosts.cut(pairs, one_way=way != "both")
        time.sleep(seconds)
        site.hosts.cut("")


def stand_still(seconds: float, *processes: subprocess.Popen[Any]) -> None:
    """Stops processes, which go on later as if no time had passed."""
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    time.sleep(seconds)
    for process in processes:
        os.kill(process.pid, signal.SIGCONT)


def kill_manager(site: Site) -> None:
    site.hosts.kill(site.hosts.leader())


def restart_manager(site: Site) -> None:
    site.hosts.restart(site.hosts.leader())


def kill_daemon(site: Site) -> None:
    site.kill_daemon()
    site.hosts.daemons[0].start()


def restart_daemon(site: Site) -> None:
    assert site.hosts.daemons[0].stop() == 0
    site.hosts.daemons[0].start()


def kill_run(site: Site) -> None:
    """`outboard run` alone dies, and its program ends then. While that computes, it renews the
    lease."""
    lease = site.load.lease_of_program()
    program = site.load.programs.pop("static")
    program.process.kill()
    program.process.wait()
    assert program.process.stdin is not None
    program.process.stdin.close()
    begin = time.monotonic()
    until(lambda: site.hosts.lease(lease)["state"] == "over", "its lease is over", 200)
    print(f"the lease of a dead `outboard run` is over after {time.monotonic() - begin:.0f} s")
    site.load.start_program()


def kill_own(site: Site) -> None:
    """A program that took a device by itself dies, and another one takes its place. The device is
    free after the lease time of 30 s."""
    program = site.load.programs.pop("own")
    program.process.kill()
    program.process.wait()
    site.load.start_own()


def kill_grower(site: Site) -> None:
    """The lease of a holder that dies ends after its time; the next has another name."""
    site.load.grower.send_signal(signal.SIGKILL)
    site.load.grower.wait()
    words = [sys.executable, "-c", GROWER, site.hosts.url]
    words += [f"grower{site.random.randrange(10**9)}", str(TTL_S)]
    with site.load.notes.open("a") as notes:
        site.load.grower = subprocess.Popen(
            inside(site.hosts.star.client, words), stdin=subprocess.PIPE, stdout=notes,
            env=clean_environment(), start_new_session=True,
        )  # fmt: skip
