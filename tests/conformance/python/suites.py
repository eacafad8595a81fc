"""Runs the test suites of numpy.linalg and scipy.linalg, from wheels, under the drop-in library.

In mode remote the supported routines must go out. pytest_runs explains the comparison.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools

import harness
from harness import Outcome, Suite, Way
from pytest_runs import Native, Tests, expect_same, run_tests

# Each package calls these routines in both double precisions so often that its suite must show
# them. The test expects those that are in the table.
KNOWN = {
    "numpy": "gemm gesv getrf potrf geev syevd heevd gesdd gelsd geqrf orgqr ungqr",
    "scipy": "gemm getrf getrs potrf potrs trmm geev syevr heevr gesdd gesvd gelsd geqrf orgqr "
    "ungqr gees ggev gehrd",
}
LEAST = 5  # least number of calls of each; the rarest has 9
LEAST_SHARE = 0.5  # least share of every supported routine's calls; empty matrices stay local


@dataclasses.dataclass(frozen=True)
class Selection:
    """A part of a package's tests, in one of the virtual environments."""

    venv: str
    package: str
    modules: tuple[str, ...]  # empty: the whole suite

    @property
    def tests(self) -> Tests:
        whole = f"{self.package}.linalg"
        modules = tuple(f"{whole}.tests.{module}" for module in self.modules)
        return Tests(f"{whole} of {self.venv}", self.venv, modules or (whole,))


def expect_gone_out(selection: Selection, outcome: Outcome) -> None:
    known = [p + name for name in KNOWN[selection.package].split() for p in "dz"]
    rows = {name: row for name, row in harness.table_rows().items() if row.level == 3}
    # A part of a suite may not call every routine.
    least = {} if selection.modules else {name: LEAST for name in known if name in rows}
    reruns = [name for name, row in rows.items() if row.rerun]
    outcome.expect_out({"*": 1000} | least, reruns)
    outcome.expect_shares_out({n: LEAST_SHARE for n, row in rows.items() if not row.local})


def check(selection: Selection, native: Native, way: Way, server: str) -> None:
    run = run_tests(native.suite, native.tests, way, server)
    expect_same(native, run)
    if way.mode == "off":
        run.process.expect_none_out()
    if way.remote:
        expect_gone_out(selection, run.process)
        print(f"      {run.process.total('*')} calls went out", flush=True)


def body(suite: Suite) -> None:
    quick = suite.arguments.quick
    for selection in QUICK if quick else WHOLE:
        if suite.arguments.venv not in ("", selection.venv):
            continue
        ways = [way for way in harness.WAYS if way.transport == "shm"]
        native = Native(suite, selection.tests)
        if quick:
            ways = [way for way in ways if way.remote]
        else:
            _ = native.flaky
        suite.each_way(selection.tests.name, functools.partial(check, selection, native), ways)


VENVS = ("numpy1", "numpy2")
WHOLE = [Selection(venv, package, ()) for venv in VENVS for package in KNOWN]
QUICK = [
    Selection("numpy2", "numpy", ()),
    Selection("numpy1", "scipy", ("test_decomp", "test_basic")),
]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--venv", choices=VENVS, default="", help="only this one")
    parser.add_argument("--quick", action="store_true", help="a part, in mode remote only")


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), body)
