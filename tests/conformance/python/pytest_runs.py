"""Runs a package's tests with pytest under the drop-in library and compares their outcomes.

Every test must end as it does natively. Tests that end differently in two native runs prove nothing
about the drop-in library: their names are printed, and they are left out of the comparison.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import functools
import json
import pathlib
import tempfile

from harness import Outcome, Suite, Way, expect

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_S = 1200.0  # a test that hangs must end; the longest suite takes about a minute natively
SHOWN = 20  # number of differing tests in a message
ENVIRONMENT = {
    "PYTHONPATH": str(HERE),
    "PYTHONDONTWRITEBYTECODE": "1",
    # Both sides have one thread: the matrices are tiny, and sums keep their order.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


@dataclasses.dataclass(frozen=True)
class Tests:
    """Tests of a package in one of the virtual environments."""

    name: str
    venv: str
    targets: tuple[str, ...]  # arguments of pytest: files, or names of packages
    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    timeout_s: float = TIMEOUT_S


@dataclasses.dataclass
class Run:
    """One run of pytest: the outcome of the process, and the outcome of every test."""

    process: Outcome
    outcomes: dict[str, str]
    details: dict[str, str]

    def summary(self) -> str:
        counts = collections.Counter(self.outcomes.values())
        return ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))


def read_outcomes(path: pathlib.Path, process: Outcome) -> Run:
    """Reads the outcomes. A test without an outcome is the one in which the process died."""
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
        process.code in (0, 1),  # pytest: 0 means that all tests passed, 1 that some failed
        f"pytest ended with status {process.code}; the last test begun was {begun or 'none'}\n"
        f"{process.stdout[-3000:]}\n{process.stderr[-3000:]}",
    )
    return run


def run_tests(suite: Suite, tests: Tests, way: Way | None, server: str) -> Run:
    python = suite.bench.build / "venvs" / f"{tests.venv}_pytest" / "bin" / "python"
    expect(python.exists(), f"{python} does not exist; see conformance.python_venv")
    options = ["-q", "-p", "no:cacheprovider", "-p", "outcome_recorder"]
    # Only Python's own output is captured, so the output of libraries reaches this test.
    options += ["--capture=sys", *tests.options]
    with tempfile.TemporaryDirectory(prefix="ob-pytest-") as folder:
        path = pathlib.Path(folder, "outcomes")
        process = suite.bench.run(
            [str(python), "-m", "pytest", *options, "--pyargs", *tests.targets],
            way.mode if way else None,
            server,
            extra={**ENVIRONMENT, "OUTCOMES": str(path), **dict(tests.environment)},
            cwd=folder,
            timeout_s=tests.timeout_s,
        )
        return read_outcomes(path, process)


class Native:
    """Native runs of tests. The second run shows the tests whose outcomes are stable."""

    def __init__(self, suite: Suite, tests: Tests) -> None:
        self.suite, self.tests = suite, tests
        self.first = run_tests(suite, tests, None, "")
        expect(len(self.first.outcomes) > 0, f"{tests.name}: pytest found no tests")
        print(f"      {tests.name}, natively: {self.first.summary()}", flush=True)

    @functools.cached_property
    def flaky(self) -> set[str]:
        second = run_tests(self.suite, self.tests, None, "")
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
