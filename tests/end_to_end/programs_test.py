"""Runs unmodified programs in every mode and over both transports. Results must be right, and
calls must go out.
"""

from __future__ import annotations

import argparse
import array
import functools
import itertools
import pathlib
import sys
import tempfile

import harness
from harness import Bench, Outcome, Suite, Way, expect

SEPARATE_BLAS = ("two_blas_openblas.so", "two_blas_reference.so")


def judge(outcome: Outcome, way: Way, least: dict[str, int]) -> Outcome:
    """Checks the conditions for every program: success, no output on stderr, and calls on the right
    side."""
    outcome.expect_ok().expect_stderr_lines(0)
    if way.mode == "off":
        outcome.expect_none_out()
    if way.remote:
        outcome.expect_out(least)
    return outcome


def threads(bench: Bench, way: Way, server: str) -> None:
    outcome = bench.run([bench.program("e2e_threads"), "8", "40", "60"], way.mode, server)
    judge(outcome, way, {"*": 280})


def fork(bench: Bench, way: Way, server: str) -> None:
    busy = ["busy"] if way.remote and not bench.native else []
    outcome = bench.run([bench.program("e2e_fork"), "80", *busy], way.mode, server)
    judge(
        outcome,
        way,
        {"dgemm": 7, "zgemm": 7, "dsyrk": 7, "dgesv": 7, "dpotrf": 7, "fftw*": 7, "sgemm": 1},
    )
    if way.remote and not outcome.native:
        served = [
            report
            for report in outcome.reports
            if any(row["remote"] for row in report.rows.values())
        ]
        expect(
            len(served) == 4, f"{len(served)} of 4 processes got calls out\n{outcome.counters()}"
        )


def openmp(bench: Bench, way: Way, server: str) -> None:
    outcome = bench.run([bench.program("e2e_openmp"), "92", "60"], way.mode, server)
    judge(outcome, way, {"dgemm": 5, "sgemm": 4, "zherk": 4, "cgesv": 4, "fftw*": 8, "*": 170})


def poison(bench: Bench, way: Way, server: str) -> None:
    command = [bench.program("e2e_poison"), "12", "60"]
    families = ("gemm", "syrk", "symm", "trmm", "trsm", "gesv", "getrf", "getrs", "potrf", "potrs")
    least = {p + f: 12 for p, f in itertools.product("sdcz", families)}
    least |= {"cherk": 12, "zherk": 12, "chemm": 12, "zhemm": 12, "fftw*": 48}
    judge(bench.run(command, way.mode, server), way, least)


def early(bench: Bench, way: Way, server: str) -> None:
    outcome = bench.run([bench.program("e2e_early")], way.mode, server)
    # Calls of the constructor and of main go out. The library decides about those of the
    # destructor.
    judge(outcome, way, {"dgemm": 2, "dgesv": 1, "fftw*": 1})
    for when in ("before main", "main", "atexit", "destructor"):
        expect(f"{when}: right" in outcome.stdout, f"no result from {when}:\n{outcome.stdout}")


def iterate(bench: Bench, way: Way, server: str) -> None:
    """Checks that unchanged data on the device is not sent again, and that changed data is."""
    n, steps, width = 1200, 40, 8
    matrix, block = 8 * n * n, 8 * n * width
    for changes in (0, 1):
        command = [bench.program("e2e_iterate"), *map(str, (n, steps, width, changes, bench.seed))]
        # Shared memory may be faster than comparing. Then data stays only if the setting asks for
        # it.
        resident = {"OUTBOARD_RESIDENT": "256M"}
        outcome = bench.run(command, way.mode, server, extra=resident)
        judge(outcome, way, {"dgemm": steps})
        if not way.remote or outcome.native:
            continue
        sent, kept = outcome.total("dgemm", "bytes_to"), outcome.total("dgemm", "bytes_kept")
        expect(
            sent + kept == steps * (matrix + block),
            f"{sent} bytes sent and {kept} kept for {steps} calls of {matrix + block}",
        )
        chunk = (1 << 20) + 8 * n  # the most that one changed element causes to be sent again
        distinct = matrix + steps * (block + changes * chunk)
        expect(sent <= 1.02 * distinct, f"{sent} bytes sent, {distinct} are distinct")
    # large enough to be cut into panels
    command = [bench.program("e2e_iterate"), *map(str, (n, 4, 700, 1, bench.seed))]
    judge(bench.run(command, way.mode, server), way, {"dgemm": 4})
    command = [bench.program("e2e_iterate"), *map(str, (n, 5, width, 0, bench.seed))]
    outcome = bench.run(command, way.mode, server, extra={"OUTBOARD_RESIDENT": "off"})
    judge(outcome, way, {"dgemm": 5})
    if way.remote and not outcome.native:
        expect(outcome.total("dgemm", "bytes_kept") == 0, "something stayed although none should")


@functools.cache
def native_digests(bench: Bench, command: tuple[str, ...]) -> list[str]:
    digests = (
        bench.run(command, extra={"OPENBLAS_NUM_THREADS": "1"}).expect_ok().stdout.splitlines()[:2]
    )
    expect(
        digests[0].split()[2] != digests[1].split()[2],
        "both sides use one BLAS; the test shows nothing",
    )
    return digests


def two_blas(bench: Bench, way: Way, server: str) -> None:
    command = (
        bench.program("e2e_two_blas"),
        *(bench.program(name) for name in SEPARATE_BLAS),
        "200",
    )
    outcome = bench.run(command, way.mode, server, extra={"OPENBLAS_NUM_THREADS": "1"})
    judge(outcome, way, {"dgemm": 4})
    lines = outcome.stdout.splitlines()
    if way.mode == "off":
        want = native_digests(bench, command)
        expect(
            lines[:2] == want and lines[2:4] == want,
            f"a call reached the wrong BLAS:\n{lines}\n{want}",
        )


def illegal(bench: Bench, way: Way, server: str) -> None:
    program = [bench.program("e2e_illegal")]
    outcome = bench.run(program, way.mode, server)
    judge(outcome, way, {"dgemm": 2})
    expect(
        outcome.stdout == bench.run(program).stdout, f"differs from a native run:\n{outcome.stdout}"
    )


def preserve_errno(bench: Bench, way: Way, server: str) -> None:
    """Checks that the library does not touch descriptors and threads of the program."""
    for what, least in (("closed", 4), ("first", 2), ("cancel", 2)):
        outcome = bench.run([bench.program("e2e_preserve_errno"), what], way.mode, server)
        judge(outcome, way, {"dgemm": least})


def ilp64(bench: Bench, way: Way, server: str) -> None:
    judge(bench.run([bench.program("e2e_ilp64")], way.mode, server), way, {"dgemm": 2, "dgesv": 1})


def lapacke(bench: Bench, way: Way, server: str) -> None:
    judge(
        bench.run([bench.program("e2e_lapacke")], way.mode, server),
        way,
        # Row-major operands may be left to the original. Its column-major inner calls do not count
        # then.
        {"dgesv": 1, "dgetrf": 1, "dgetrs": 1, "dpotrf": 1, "dpotrs": 1},
    )


def fft_results(path: pathlib.Path) -> array.array[float]:
    values = array.array("d")
    values.frombytes(path.read_bytes())
    return values


def fft_plans(bench: Bench, way: Way, server: str) -> None:
    """Compares 1,000 plans of all kinds, executed by 8 threads in random order, with a native
    run."""
    program = [bench.program("e2e_fft_plans"), str(bench.seed)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / name for name in ("native", "with")]
        first = bench.run([*program, str(paths[0])]).expect_ok()
        outcome = bench.run([*program, str(paths[1])], way.mode, server)
        # There are 10 kinds at random, with two executions each: 3 are c2c of double data, 2 each
        # r2c and r2r.
        least = {"fftw c2c": 300, "fftw r2c": 200, "fftw c2r": 80, "fftw r2r": 200}
        judge(outcome, way, least | {"fftwf c2c": 80, "fftwf r2r": 80, "fftw*": 2000})
        native, got = (fft_results(path) for path in paths)
    expect(len(native) == len(got) == 2 * 1000 * 2048, f"{len(native)} and {len(got)} results")
    doubles = int(first.stdout.split()[1])
    # Both limits apply to FFTW transforms of up to 1,000 numbers below 1, whose sums stay below
    # some hundreds.
    for low, high, limit in ((0, doubles, 1e-11), (doubles, len(got), 1e-3)):
        worst = max(abs(a - b) for a, b in zip(native[low:high], got[low:high], strict=True))
        expect(worst < limit, f"results differ from a native run by {worst} (limit {limit})")


def trace(bench: Bench, way: Way, server: str) -> None:
    """Checks that mode trace counts the calls that could go out, sends nothing, and needs no
    server."""
    outcome = bench.run([bench.program("e2e_poison"), "2", "60"], "trace", "")
    outcome.expect_ok().expect_stderr_lines(0).expect_none_out()
    expect(
        bench.native or outcome.total("dgemm", "eligible") >= 2,
        f"trace found no eligible dgemm\n{outcome.counters()}",
    )


CASES = {
    case.__name__: case
    for case in (
        threads,
        fork,
        openmp,
        poison,
        early,
        two_blas,
        illegal,
        preserve_errno,
        ilp64,
        lapacke,
        fft_plans,
        iterate,
        trace,
    )
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", choices=sorted(CASES), required=True)


def body(suite: Suite) -> None:
    case = CASES[suite.arguments.case]
    ways = harness.WAYS if case is not trace else (Way("trace", "trace", "shm"),)
    suite.each_way(case.__name__, functools.partial(case, suite.bench), ways)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    harness.main(Suite(__doc__, arguments), body)
