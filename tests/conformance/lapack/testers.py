"""The linear-equation testers of the reference LAPACK (liblapack-test) under the drop-in library.

Each routine group must run as many tests as natively and fail no more of them, its error exits must
be as they are natively, and in mode remote the supported routines must have gone out.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import re
import tempfile

import harness
from harness import MissingError, Suite, Way, expect

# Groups whose routines go out: general and definite matrices.
GROUPS = ("GE", "PO")
PASSED = re.compile(
    r"^\s*All tests for (\w+ \w+)\s+passed the threshold \(\s*(\d+) tests run\)", re.MULTILINE
)
FAILED = re.compile(
    r"^\s*(\w+ ?\w*):\s+(\d+) out of\s+(\d+) tests failed to pass the threshold", re.MULTILINE
)
EXITS = re.compile(r"^.*(?:error exits|\*\*\*).*$", re.MULTILINE)
Results = dict[str, tuple[int, int]]


def folder() -> pathlib.Path:
    for path in pathlib.Path("/usr/lib").glob("*/lapack/xlintstd"):
        return path.parent
    raise MissingError("the testers are not installed (package liblapack-test)")


def input_text(precision: str, everything: bool) -> str:
    """The tester's own input, or of its groups only those that go out."""
    lines = (folder() / f"{precision}test.in").read_text().splitlines(keepends=True)
    if everything:
        return "".join(lines)
    group = re.compile(rf"^{precision.upper()}(\w\w)\s+\d+\s")
    kept = [line for line in lines if not (m := group.match(line)) or m.group(1) in GROUPS]
    return "".join(kept)


def results(text: str) -> Results:
    """Failed and run tests by group."""
    found = {name: (0, int(run)) for name, run in PASSED.findall(text)}
    for name, failed, run in FAILED.findall(text):
        found[name] = (int(failed), int(run))
    return found


def tester(suite: Suite, precision: str, way: Way | None, server: str) -> harness.Outcome:
    with tempfile.TemporaryDirectory(prefix="ob-lapack-") as work:
        source = pathlib.Path(work, "input")
        source.write_text(input_text(precision, suite.arguments.all))
        return suite.bench.run(
            [str(folder() / f"xlintst{precision}")],
            way.mode if way else None,
            server,
            cwd=work,
            stdin=str(source),
            timeout_s=400,
        ).expect_ok()


def compare(suite: Suite, precision: str, native: harness.Outcome, way: Way, server: str) -> None:
    outcome = tester(suite, precision, way, server)
    outcome.expect_stderr_lines(0)
    want, got = results(native.stdout), results(outcome.stdout)
    expect(len(want) >= 4, f"the native tester says too little: {want}")
    for group, (failed, run) in want.items():
        got_failed, got_run = got.get(group, (0, 0))
        expect(
            got_run == run and got_failed <= failed,
            f"{group}: {got_failed} of {got_run} failed, natively {failed} of {run}",
        )
    exits = EXITS.findall(native.stdout)
    expect(EXITS.findall(outcome.stdout) == exits, f"error exits differ from {exits}")
    if way.mode == "off":
        outcome.expect_none_out()
    if way.remote:
        # Far fewer than there are: sizes of 0 and singular cases stay local.
        least = {"getrf": 100, "getrs": 500, "potrf": 100, "potrs": 200, "gesv": 50}
        outcome.expect_out({precision + name: count for name, count in least.items()})


def body(suite: Suite) -> None:
    folder()
    ways = [way for way in harness.WAYS if way.transport != "tcp"]  # millions of tiny calls
    if not suite.arguments.all:
        ways = [way for way in ways if way.mode != "auto"]
    for precision in "sdcz" if suite.arguments.all else "dz":
        native = tester(suite, precision, None, "")
        suite.each_way(
            f"linear equations, {precision}",
            functools.partial(compare, suite, precision, native),
            ways,
        )


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="every precision and group")


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), body)
