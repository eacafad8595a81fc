"""Runs FFTW's own `bench --verify` on chosen problems under the drop-in library, double and float.

bench compares each transform with properties of any DFT (linearity, impulse response, shifts), on
arrays that it lays out itself. The problems have layouts that FFTW's own check (check.py) does not
generate: strides, padding, and different orders of input and output. problems.py explains the
notation of a problem. In mode remote, every verification must go out as often as bench executes.
"""

from __future__ import annotations

import argparse
import functools
import pathlib

import harness
from harness import Suite, Way, expect
from problems import R2R_KINDS, points, with_kinds

ONE = (
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "8",
    "13",
    "16",
    "17",
    "31",
    "32",
    "60",
    "64",
    "97",
    "100",
    "127",
    "128",
    "243",
    "256",
    "331",
    "360",
    "512",
    "1000",
    "1009",
    "1024",
)
TWO = ("1x1", "2x3", "4x4", "5x7", "8x8", "11x13", "16x12", "32x32", "31x17", "64x48")
THREE = ("2x3x4", "4x4x4", "5x6x7", "8x8x8", "11x7x5", "16x12x10")
FOUR = ("2x3x4x5", "4x4x4x4")
MANY = ("16v5", "17v3", "64*4", "100*3", "6x10v4", "8x8*3", "4x5x6v2", "3x4x5*4", "128v1")
# These have padding between elements and between transforms. Input and output have different
# layouts only out of place.
STRIDED = ("16:2:2", "13:3:3v4:50:50", "60:5:5v5:1:1", "8:16:16x6:2:2", "12:1:1v3:20:20")
REORDERED = ("16:2:3", "16:1:5v5:16:1", "13:4:1v4:1:13", "6:10:1x10:1:6", "8:3:2v3:1:20")
LARGE = ("65536", "65537", "131072", "100000v2", "512x512", "64x64x64", "1024*64", "300x200*3")
R2R = ("2", "3", "8", "13", "60", "97", "128", "5x7", "8x8", "4x5x6", "16v5", "64*4", "6x10v4")
MEASURED = ("16", "17", "60", "128", "8x8", "5x7", "4x4x4", "16v5", "64*4")
RANDOM_PROBLEMS = 60
ROUNDS = 2  # number of random vectors per property and problem; the default of bench is 10


def forms(sizes: tuple[str, ...], places: str = "io", kind: str = "c") -> list[str]:
    return [f"{place}{kind}{sign}{size}" for size in sizes for place in places for sign in "fb"]


def real_problems(suite: Suite) -> list[str]:
    """Returns real problems. They are out of place if strides are given, because real and complex
    elements count differently."""
    fixed = ONE + TWO + THREE + FOUR + MANY
    found = forms(fixed, kind="r") + forms(STRIDED + REORDERED, "o", "r")
    for sizes in R2R:
        for kind in R2R_KINDS:
            others = suite.random.choices(R2R_KINDS, k=3)
            found += [f"{place}k{with_kinds(sizes, [kind, *others])}" for place in "io"]
    for sizes in STRIDED + REORDERED:
        found += [f"ok{with_kinds(sizes, suite.random.choices(R2R_KINDS, k=3))}" for _ in range(3)]
    return found


def split_problems() -> list[str]:
    """Returns problems with split complex numbers. Real ones have a single transform, because bench
    cannot lay out several."""
    complex_ = forms(ONE[:20] + TWO + THREE + MANY + STRIDED) + forms(REORDERED, "o")
    return [f"//{problem}" for problem in complex_ + forms(ONE, kind="r")]


def random_problems(suite: Suite) -> list[str]:
    """Returns random sizes and layouts, seeded by the run's printed seed."""
    pick = suite.random
    found = []
    for _ in range(RANDOM_PROBLEMS):
        rank = pick.choice((1, 1, 2, 3))
        most = {1: 600, 2: 40, 3: 14}[rank]
        sizes = [pick.randint(1, most) for _ in range(rank)]
        vector = pick.choice(("", "", f"v{pick.randint(1, 6)}", f"*{pick.randint(1, 6)}"))
        kind = pick.choice("cr")
        if kind == "r":  # bench cannot lay out several real rows of one element in place
            sizes[-1] = max(2, sizes[-1])
        size = "x".join(map(str, sizes))
        found.append(f"{pick.choice('io')}{kind}{pick.choice('fb')}{size}{vector}")
    return found


def default_problems(suite: Suite) -> list[str]:
    fixed = ONE + TWO + THREE + FOUR + MANY
    complex_ = forms(fixed) + forms(STRIDED) + forms(REORDERED, "o") + random_problems(suite)
    return complex_ + real_problems(suite) + split_problems()


def verify(
    suite: Suite, program: str, problems: list[str], estimate: bool, way: Way | None, server: str
) -> None:
    """Runs bench over all problems. Each must be reported, and none may be reported as wrong."""
    command = [str(suite.arguments.work / program), "-v1", f"--verify-rounds={ROUNDS}"]
    if estimate:
        command.append("-oestimate")
    for problem in problems:
        command += ["--verify", problem]
    outcome = suite.bench.run(command, way.mode if way else None, server, timeout_s=540)
    outcome.expect_ok().expect_stderr_lines(0)
    verified = [line.split()[0] for line in outcome.stdout.splitlines() if len(line.split()) == 4]
    expect(
        verified == problems,
        f"verified {len(verified)} of {len(problems)} problems\n{outcome.stdout[-2000:]}",
    )
    if way is None:
        return
    if way.mode == "off":
        outcome.expect_none_out()
    if way.remote:
        # bench runs every plan several times in a round
        computed = sum(points(problem) > 1 for problem in problems)
        outcome.expect_out({"fftw*": 3 * ROUNDS * computed}).expect_share_out(1.0)


def body(suite: Suite) -> None:
    lists = (
        {"estimate": forms(LARGE) + forms(LARGE, kind="r")}
        if suite.arguments.large
        else {
            "estimate": default_problems(suite),
            "measure": forms(MEASURED) + forms(MEASURED, kind="r"),
        }
    )
    ways = [way for way in harness.WAYS if way.transport != "tcp" or suite.arguments.large]
    for program in ("bench", "benchf"):
        expect(
            (suite.arguments.work / program).exists(),
            f"{program} was not built; see conformance.fftw_build",
        )
        for effort, problems in lists.items():
            run = functools.partial(verify, suite, program, problems, effort == "estimate")
            name = f"{program}, {len(problems)} problems, {effort}"
            suite.check(f"{name}, native", functools.partial(run, None, ""))
            suite.each_way(name, run, ways)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--work", type=pathlib.Path, required=True, help="where build_bench.py put the programs"
    )
    parser.add_argument("--large", action="store_true", help="large problems over both transports")


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), body)
