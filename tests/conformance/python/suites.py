"""The test suites of numpy.linalg and scipy.linalg, from their wheels, under the drop-in library.

Every test must end as it does natively. Tests that end differently in two native runs prove nothing
about the drop-in library: they are named and left out of the comparison. In mode remote the
supported routines must have gone out.
"""

from __future__ import annotations

import argparse
import collections.abc
import dataclasses
import functools
import json
import pathlib
import tempfile

import harness
from harness import Outcome, Suite, Way, expect

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_S = 1200.0  # a hang must end the test; the longest suite takes about a minute natively
SHOWN = 20  # differing tests in a message
ENVIRONMENT = {
    "PYTHONPATH": str(HERE),
    "PYTHONDONTWRITEBYTECODE": "1",
    # One thread on both sides: the matrices are tiny, and sums keep their order.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
# What each package is known to call in both double precisions, often enough that its suite must
# show it; those that the table has are expected.
KNOWN = {
    "numpy": "gemm gesv getrf potrf geev syevd heevd gesdd gelsd geqrf orgqr ungqr",
    "scipy": "gemm getrf getrs potrf potrs trmm geev syevr heevr gesdd gesvd gelsd geqrf orgqr "
    "ungqr gees ggev gehrd",
}
LEAST = 5  # calls of each of those; the rarest has 9
LEAST_SHARE = 0.5  # of every supported routine's calls; empty matrices stay local


@dataclasses.dataclass(frozen=True)
class Selection:
    """A part of a package's tests, in one of the virtual environments."""

    venv: str
    package: str
    modules: tuple[str, ...]  # what pytest gets; empty: the whole suite

    @property
    def name(self) -> str:
        return f"{self.package}.linalg of {self.venv}"

    @property
    def targets(self) -> list[str]:
        whole = f"{self.package}.linalg"
        return [f"{whole}.tests.{module}" for module in self.modules] or [whole]


@dataclasses.dataclass
class Run:
    """One run of pytest: what the process did, and how every test ended."""

    process: Outcome
    outcomes: dict[str, str]
    details: dict[str, str]

    def summary(self) -> str:
        counts = collections.Counter(self.outcomes.values())
        return ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))


def read_outcomes(path: pathlib.Path, process: Outcome) -> Run:
    """A test without an outcome is the one the process died in."""
    run = Run(process, {}, {})
    begun = ""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        entry = json.loads(line)
        begun = entry.get("begins", begun)
        if "outcome" in entry:
            earlier = run.outcomes.get(entry["id"])
            # A failed teardown comes after the outcome of the call.
            run.outcomes[entry["id"]] = (
                f"{earlier}, {entry['outcome']}" if earlier else entry["outcome"]
            )
            run.details[entry["id"]] = entry["detail"]
    expect(
        process.code in (0, 1),  # pytest: all went well; some tests failed
        f"pytest ended with status {process.code}; the last test begun was {begun or 'none'}\n"
        f"{process.stdout[-3000:]}\n{process.stderr[-3000:]}",
    )
    return run


def run_tests(suite: Suite, selection: Selection, way: Way | None, server: str) -> Run:
    python = suite.bench.build / "venvs" / f"{selection.venv}_pytest" / "bin" / "python"
    expect(python.exists(), f"{python} does not exist; see conformance.python_venv")
    options = ["-q", "-p", "no:cacheprovider", "-p", "outcome_recorder"]
    # Only Python's own output is held back, so that what libraries write is seen here.
    options += ["--capture=sys", "--pyargs"]
    with tempfile.TemporaryDirectory(prefix="ob-pytest-") as folder:
        path = pathlib.Path(folder, "outcomes")
        process = suite.bench.run(
            [str(python), "-m", "pytest", *options, *selection.targets],
            way.mode if way else None,
            server,
            extra={**ENVIRONMENT, "OUTCOMES": str(path)},
            cwd=folder,
            timeout_s=TIMEOUT_S,
        )
        return read_outcomes(path, process)


class Native:
    """Native runs of a selection: the second one tells which tests are to be trusted."""

    def __init__(self, suite: Suite, selection: Selection) -> None:
        self.suite, self.selection = suite, selection
        self.first = run_tests(suite, selection, None, "")
        print(f"      {selection.name}, natively: {self.first.summary()}", flush=True)

    @functools.cached_property
    def flaky(self) -> set[str]:
        second = run_tests(self.suite, self.selection, None, "")
        found = differing(self.first.outcomes, second.outcomes)
        for name in sorted(found):
            print(
                f"      flaky: {name}: {self.first.outcomes.get(name)}, then"
                f" {second.outcomes.get(name)}",
                flush=True,
            )
        return found


def differing(
    one: collections.abc.Mapping[str, str], other: collections.abc.Mapping[str, str]
) -> set[str]:
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


def expect_same(native: Native, run: Run) -> None:
    wrong = differing(native.first.outcomes, run.outcomes)
    wrong -= native.flaky if wrong else set()
    lines = [
        f"{name}: natively {native.first.outcomes.get(name)}, here {run.outcomes.get(name)}\n"
        + run.details.get(name, "")
        for name in sorted(wrong)[:SHOWN]
    ]
    where = f"{run.process.total('*')} calls went out"
    expect(not wrong, f"{len(wrong)} tests end differently ({where}):\n" + "\n".join(lines))
    said = set(run.process.stderr.splitlines()) - set(native.first.process.stderr.splitlines())
    expect(not said, "new lines on stderr:\n" + "\n".join(sorted(said)[:SHOWN]))


def expect_gone_out(selection: Selection, outcome: Outcome) -> None:
    known = [p + name for name in KNOWN[selection.package].split() for p in "dz"]
    rows = {name: row for name, row in harness.table_rows().items() if row.level == 3}
    # A part of a suite need not touch everything.
    least = {} if selection.modules else {name: LEAST for name in known if name in rows}
    reruns = [name for name, row in rows.items() if row.rerun]
    outcome.expect_out({"*": 1000} | least, reruns)
    outcome.expect_shares_out({n: LEAST_SHARE for n, row in rows.items() if not row.local})


def check(native: Native, way: Way, server: str) -> None:
    run = run_tests(native.suite, native.selection, way, server)
    expect_same(native, run)
    if way.mode == "off":
        run.process.expect_none_out()
    if way.remote:
        expect_gone_out(native.selection, run.process)
        print(f"      {run.process.total('*')} calls went out", flush=True)


def body(suite: Suite) -> None:
    quick = suite.arguments.quick
    for selection in QUICK if quick else WHOLE:
        if suite.arguments.venv not in ("", selection.venv):
            continue
        ways = [way for way in harness.WAYS if way.transport == "shm"]
        native = Native(suite, selection)
        if quick:
            ways = [way for way in ways if way.remote]
        else:
            _ = native.flaky
        suite.each_way(selection.name, functools.partial(check, native), ways)


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
