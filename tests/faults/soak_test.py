"""Runs many programs on one daemon for a long time: no errors, no growth of memory, equal shares.

Every program makes the same mixture of calls in an order of its own. It checks all results, and
counts the device's time that it gets.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import statistics
import subprocess
import threading
import time

import harness
from harness import Daemon, Outcome, Suite, expect
from storm_test import ROUTINES

LARGEST = 240
# Every program's device time lies within this fraction of the mean. The test is about fair service,
# so the programs with the least and the most time count.
SHARE = 0.2
# Growth that is not a leak: arenas of threads, and plans of sizes that occur late.
GROWTH_MIB = 64


@dataclasses.dataclass(frozen=True)
class Memory:
    """The memory of the daemon, in MiB."""

    own: float
    device: float


def memory_of(process: subprocess.Popen[bytes]) -> Memory:
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    own, device = (int(fields[name].split()[0]) / 1024 for name in ("RssAnon", "RssShmem"))
    return Memory(own, device)


@dataclasses.dataclass
class Run:
    """The outcomes of the programs, and the memory of the daemon while they ran."""

    outcomes: list[Outcome] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    memory: list[Memory] = dataclasses.field(default_factory=list)

    def client(self, suite: Suite, server: str, seed: int) -> None:
        """Runs one program from start to end."""
        seconds = suite.arguments.seconds
        program = suite.bench.program("e2e_survives")
        try:
            outcome = suite.bench.run(
                [program, ",".join(ROUTINES), str(LARGEST), f"{seconds}s"],
                "remote",
                server,
                extra={"OUTBOARD_TEST_SEED": str(seed), "OPENBLAS_NUM_THREADS": "1"},
                timeout_s=seconds + 120,
            )
            self.outcomes.append(outcome.expect_ok().expect_stderr_lines(0))
        except harness.CheckError as error:
            self.problems.append(str(error))

    def all(self, suite: Suite) -> None:
        """Runs all programs that were asked for, half of them over each transport."""
        seconds = suite.arguments.seconds
        with Daemon(suite.bench, ["--device-memory", f"{suite.arguments.device}MiB"]) as daemon:
            threads = []
            for i in range(suite.arguments.clients):
                server = daemon.address(("shm", "tcp")[i % 2])
                seed = suite.random.getrandbits(32)
                threads.append(threading.Thread(target=self.client, args=(suite, server, seed)))
            for thread in threads:
                thread.start()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(min(5.0, seconds / 8))
                self.memory.append(memory_of(daemon.process))
            for thread in threads:
                thread.join()

    def no_errors(self) -> None:
        expect(not self.problems, f"{len(self.problems)} had problems: {self.problems[:3]}")
        expect(all(o.total("*", "fell_back") == 0 for o in self.outcomes), "calls fell back")

    def no_growth(self, device_mib: int) -> None:
        quarter = max(1, len(self.memory) // 4)
        early = statistics.median(m.own for m in self.memory[:quarter])
        late = statistics.median(m.own for m in self.memory[-quarter:])
        device = max(m.device for m in self.memory)
        print(f"{early:.0f} MiB early, {late:.0f} late, and at most {device:.0f} for the device")
        expect(late < early + GROWTH_MIB, f"{early:.0f} MiB became {late:.0f}")
        expect(device <= device_mib, f"{device:.0f} MiB of device memory, the cap is {device_mib}")

    def equal_shares(self, lenient: bool) -> None:
        served = sorted(o.total("*", "compute_ns") * 1e-9 for o in self.outcomes)
        mean = statistics.mean(served)
        calls = sum(o.total("*") for o in self.outcomes)
        print(f"device time: {served[0]:.3f} to {served[-1]:.3f} s, mean {mean:.3f}; {calls} calls")
        off = [s for s in served if abs(s - mean) > SHARE * mean]
        expect(lenient or not off, f"shares are not within {SHARE:.0%} of {mean:.3f} s: {off}")


def soak(suite: Suite) -> None:
    run = Run()
    run.all(suite)
    suite.check("no errors", run.no_errors)
    suite.check("memory does not grow", lambda: run.no_growth(suite.arguments.device))
    suite.check("equal shares of the device", lambda: run.equal_shares(suite.arguments.lenient))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=600)
    # Memory that programs failed to free would fill this device. Device memory is shared memory.
    parser.add_argument("--device", type=int, default=1024, help="its memory in MiB")
    parser.add_argument("--lenient", action="store_true", help="a short run shows no shares")


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), soak)
