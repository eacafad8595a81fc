"""The level-3 testers of the reference BLAS and CBLAS (libblas-test) under the drop-in library.

Every verdict must be the one of a native run, and in mode remote a good part of each routine's
calls must have gone out: the testers use sizes and scalars of 0 often, and those calls have nothing
to send.
"""

from __future__ import annotations

import collections
import functools
import pathlib
import re
import tempfile

import harness
from harness import MissingError, Suite, Way, expect

SUPPORTED = ("gemm", "symm", "hemm", "trmm", "trsm", "syrk", "herk")
PASSED = re.compile(
    r"^\s*(?:cblas_)?(\w+)\s+PASSED THE .*COMPUTATIONAL TESTS \(\s*(\d+) CALLS\)", re.M | re.I
)
VERDICT = re.compile(r"^.*(?:PASSED|FAILED|FATAL|SUSPECT|\*{5,}).*$", re.MULTILINE)
# gemm: sizes of 0 leave (5/6)^3 of the calls, alpha = 0 two thirds of those, 0.386 in all; others
# more.
LEAST_SHARE = 0.3


def folder() -> pathlib.Path:
    for path in pathlib.Path("/usr/lib").glob("*/blas/xblat3d"):
        return path.parent
    raise MissingError("the testers are not installed (package libblas-test)")


def tester(
    suite: Suite, fortran: bool, precision: str, way: Way | None, server: str
) -> harness.Outcome:
    """Runs one tester; its stdout and the result file it writes together."""
    home = folder()
    name, source = (
        (f"xblat3{precision}", f"{precision}blat3.in")
        if fortran
        else (f"x{precision}cblat3", f"{precision}in3")
    )
    # Only the reference library has the data symbols that the CBLAS testers share with it.
    extra = {} if fortran else {"LD_LIBRARY_PATH": str(home)}
    with tempfile.TemporaryDirectory(prefix="ob-blas-") as work:
        outcome = suite.bench.run(
            [str(home / name)],
            way.mode if way else None,
            server,
            extra=extra,
            cwd=work,
            stdin=str(home / source),
        )
        for path in sorted(pathlib.Path(work).glob("*.out")):
            outcome.stdout += path.read_text(errors="replace")
    return outcome.expect_ok()


def compare(suite: Suite, fortran: bool, precision: str, way: Way, server: str) -> None:
    native = VERDICT.findall(tester(suite, fortran, precision, None, "").stdout)
    expect(len(native) >= 12, f"the native tester says too little: {native}")
    outcome = tester(suite, fortran, precision, way, server)
    outcome.expect_stderr_lines(0)
    verdicts = VERDICT.findall(outcome.stdout)
    expect(verdicts == native, "differs from the native run:\n" + "\n".join(verdicts))
    calls: collections.Counter[str] = collections.Counter()
    for name, count in PASSED.findall(outcome.stdout):
        calls[name.lower()] += int(count)
    wanted = {
        name: int(LEAST_SHARE * count) for name, count in calls.items() if name[1:] in SUPPORTED
    }
    expect(len(wanted) >= 5, f"too few supported routines in this tester: {sorted(calls)}")
    if way.remote:
        outcome.expect_out(wanted)
    if way.mode == "off":
        outcome.expect_none_out()


def body(suite: Suite) -> None:
    folder()
    for fortran in (True, False):
        for precision in "sdcz":
            name = f"{'Fortran' if fortran else 'CBLAS'} level 3, {precision}"
            suite.each_way(name, functools.partial(compare, suite, fortran, precision), ways(suite))


def ways(suite: Suite) -> list[Way]:
    """Over tcp only on request: about twice the time for the same commands."""
    return [way for way in harness.WAYS if way.transport != "tcp" or suite.arguments.all]


if __name__ == "__main__":
    harness.main(
        Suite(
            __doc__,
            lambda parser: parser.add_argument("--all", action="store_true", help="over tcp, too"),
        ),
        body,
    )
