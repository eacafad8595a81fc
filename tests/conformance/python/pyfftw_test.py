"""Runs pyFFTW's wheel under the drop-in library: random transforms, its tutorial, its own tests.

The wheel contains FFTW libraries of its own. Calls of them go through the dynamic linker, so the
drop-in library comes first. Every case counts the calls that went out.
"""

from __future__ import annotations

import argparse
import functools
import json
import pathlib
import tempfile

import harness
from harness import Suite, Way, expect
from make_venv_with_pytest import PYFFTW
from pytest_runs import HERE, Native, Tests, expect_same, run_tests

VENV = "pyfftw"
TIMEOUT_S = 7000.0  # the native suite measures thousands of plans
# FFTW's threads are OpenMP threads here, which would spin although cores are scarce.
WAITING_THREADS = (("OMP_WAIT_POLICY", "passive"),)
LEAST_OUT = {"tutorial": 5, "suite": 5000}


def properties(suite: Suite) -> None:
    """Checks random transforms. The native run has few examples and checks that the oracle agrees
    with FFTW itself."""
    examples = suite.arguments.examples
    ways = [way for way in harness.WAYS if way.mode == "remote" and way.transport == "shm"]
    suite.check("random transforms, natively", lambda: hold(suite, examples // 4, None, ""))
    suite.each_way("random transforms", functools.partial(hold, suite, examples), ways)


def hold(suite: Suite, examples: int, way: Way | None, server: str) -> None:
    """Checks that every property holds, and that exactly the transforms that compute something went
    out."""
    with tempfile.TemporaryDirectory(prefix="ob-counts-") as folder:
        counts = pathlib.Path(folder, "counts")
        tests = Tests(
            "transforms",
            VENV,
            (str(HERE / "fft_properties.py"),),
            (f"--hypothesis-seed={suite.bench.seed}",),
            (*WAITING_THREADS, ("EXAMPLES", str(examples)), ("COUNTS", str(counts))),
        )
        run = run_tests(suite, tests, way, server)
        failed = [name for name, outcome in run.outcomes.items() if outcome != "passed"]
        shown = "\n".join(run.details[name] for name in failed)
        expect(not failed, f"{failed}\n{shown}\n{run.process.stdout[-6000:]}")
        expect(len(run.outcomes) == 4, f"{len(run.outcomes)} tests instead of one per scheme")
        computed: dict[str, int] = json.loads(counts.read_text())
    print(f"      {sum(computed.values())} transforms", flush=True)
    run.process.expect_stderr_lines(0)
    run.process.expect_out(computed)
    if way is not None and not suite.bench.native:
        out = {name: run.process.total(name) for name in computed}
        expect(out == computed, f"went out: {out}, executed: {computed}")


def compared(suite: Suite, case: str, targets: tuple[str, ...], tutorial: pathlib.Path) -> None:
    """Checks that every test ends as it does natively."""
    tests = Tests(
        f"pyFFTW's {case}",
        VENV,
        targets,
        environment=(*WAITING_THREADS, ("TUTORIAL", str(tutorial))),
        timeout_s=TIMEOUT_S,
    )
    native = Native(suite, tests)
    ways = [way for way in harness.WAYS if way.mode == "remote" and way.transport == "shm"]

    def check(way: Way, server: str) -> None:
        run = run_tests(suite, native.tests, way, server)
        print(f"      {run.summary()}; {run.process.total('*')} went out", flush=True)
        expect_same(native, run)
        run.process.expect_out({"fftw*": LEAST_OUT[case]})

    suite.each_way(native.tests.name, check, ways)


def body(suite: Suite) -> None:
    sources = suite.bench.build / "venvs" / "pyfftw_pytest" / "sources" / PYFFTW
    expect((sources / "tests").exists(), f"{sources} is not there; see conformance.python_pyfftw")
    tutorial = sources / "tutorial.rst"
    if suite.arguments.case == "properties":
        properties(suite)
    elif suite.arguments.case == "tutorial":
        compared(suite, "tutorial", (str(HERE / "tutorial_examples.py"),), tutorial)
    else:
        modules = suite.arguments.modules or [str(sources / "tests")]
        compared(suite, "suite", tuple(str(sources / "tests" / m) for m in modules), tutorial)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", choices=("properties", "tutorial", "suite"), required=True)
    parser.add_argument("--examples", type=int, default=100, help="of every scheme")
    parser.add_argument("--modules", nargs="+", help="only these files of the suite")


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), body)
