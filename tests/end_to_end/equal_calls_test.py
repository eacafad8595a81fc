"""Makes equal calls of 42 routines and compares their results bit by bit, in mode auto.

The program's library has wrong kernels and computes on one core; the daemon has another core. So
calls go out, and both sides round differently. With --calls 400 and five --sizes, this takes ten
minutes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import harness
from harness import Daemon, MissingError, Outcome, Suite, expect

PROGRAM = Path(__file__).parent / "programs" / "equal_calls.py"
# The Python whose SciPy binds the system's BLAS and LAPACK.
PYTHON = "/usr/bin/python3"
SLOW_KERNELS = {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1"}
TIMEOUT_S = 3600.0
ATTEMPTS = 5  # on a busy machine, no call may gain


@dataclass(frozen=True)
class Line:
    """The results of one routine at one size."""

    name: str
    size: int
    results: int  # different ones
    changes: int  # from one call to the next
    seconds: float


def lines_of(outcome: Outcome) -> list[Line]:
    found = []
    for line in outcome.stdout.splitlines():
        name, size, results, changes, seconds = line.split()
        found.append(Line(name, int(size), int(results), int(changes), float(seconds)))
    expect(len(found) > 40, f"only {len(found)} lines\n{outcome.stdout}\n{outcome.stderr[-1000:]}")
    return found


def body(suite: Suite) -> None:
    options = suite.arguments
    if len(os.sched_getaffinity(0)) < 2:
        raise MissingError("a second core for the daemon")
    if subprocess.run([PYTHON, "-c", "import scipy"], capture_output=True).returncode != 0:
        raise MissingError("the package python3-scipy")
    mine, other = sorted(os.sched_getaffinity(0))[:2]
    program = [PYTHON, str(PROGRAM), str(options.calls), *options.sizes]
    command = ["taskset", "-c", str(mine), *program]

    def run(mode: str | None, server: str, accuracy: str = "standard") -> Outcome:
        extra = SLOW_KERNELS | {"OUTBOARD_ACCURACY": accuracy}
        bench = suite.bench
        return bench.run(command, mode, server, extra=extra, timeout_s=TIMEOUT_S).expect_ok()

    def natively() -> None:
        for line in lines_of(run(None, "")):
            expect(line.results == 1, f"the library itself is not repeatable: {line}")

    def in_auto() -> None:
        for _ in range(ATTEMPTS):
            with Daemon(suite.bench, wrap=["taskset", "-c", str(other)]) as daemon:
                outcome = run("auto", daemon.shm)
            if suite.bench.native or outcome.total("*") > 0:
                break
        else:
            raise MissingError("an idle machine: calls did not gain, so none went out")
        for line in lines_of(outcome):
            # One change of sides, and one more back from a side that was measured to be slower.
            expect(line.results <= 2 and line.changes <= 2, f"{line}\n{outcome.counters()}")
            print(*vars(line).values(), file=sys.stderr)

    def strictly() -> None:
        with Daemon(suite.bench, wrap=["taskset", "-c", str(other)]) as daemon:
            outcome = run("auto", daemon.shm, "strict")
        for line in lines_of(outcome):
            expect(line.results == 1, f"{line}\n{outcome.counters()}")

    suite.check("natively", natively)
    suite.check("mode auto", in_auto)
    suite.check("mode auto, strict", strictly)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--calls", type=int, default=12)
    parser.add_argument("--sizes", nargs="+", default=["48", "96"])


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), body)
