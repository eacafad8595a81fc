"""Runs ctest and pytest, shows their output at once, and counts their results."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from outboard.build import default_jobs
from outboard.settings import without_library
from outboard_testing.tally import Tally, from_junit

# The labels of ctest that tests/python also uses as marks (pyproject.toml).
_MARKS = ("slow", "end_to_end")


def ctest(folder: Path, *, only: Sequence[str], without: Sequence[str]) -> Tally:
    """Runs the C++ tests with one of the labels `only` (none: all), without those with one in
    `without`."""
    junit = folder / "ctest.xml"
    junit.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(folder), "--output-on-failure", "--no-tests=error"]
    command += ["-j", str(default_jobs()), "--output-junit", str(junit)]
    if only:
        command += ["-L", _any_of(only)]
    if without:
        command += ["-LE", _any_of(without)]
    environment = _environment(folder, optimizes="slow" not in without)
    status = subprocess.run(command, env=environment, check=False).returncode
    return from_junit(junit, status, "ctest")


def pytest(root: Path, folder: Path, *, without: Sequence[str]) -> Tally:
    """Runs the Python tests, without those marked with a label in `without`."""
    junit = folder / "pytest.xml"
    junit.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-ra", f"--junitxml={junit}"]
    command += ["-n", str(default_jobs()), "--dist", "loadscope"]  # servers of a file start once
    # With another worker in place of one that died, a run was seen to wait for ever.
    command.append("--max-worker-restart=0")
    marks = [mark for mark in without if mark in _MARKS]
    if marks:
        command += ["-m", " and ".join(f"not {mark}" for mark in marks)]
    command.append(str(root / "tests" / "python"))
    environment = _environment(folder, optimizes="slow" not in without)
    status = subprocess.run(command, cwd=root, env=environment, check=False).returncode
    return from_junit(junit, status, "pytest")


def _any_of(labels: Sequence[str]) -> str:
    return f"^({'|'.join(labels)})$"


def _environment(folder: Path, *, optimizes: bool) -> dict[str, str]:
    """Returns an environment without the caller's Outboard settings. The tests find the build under
    test. `optimizes`: PoCL optimizes kernels."""
    environment = without_library(os.environ)
    environment.pop("OUTBOARD_NATIVE_DIR", None)
    environment["OUTBOARD_BUILD_DIR"] = str(folder)
    if not optimizes:
        # The kernels of CLBlast take PoCL three times as long with optimization, and tests run them
        # with small sizes.
        environment.setdefault("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
    environment["GTEST_BRIEF"] = "1"  # the output of a failed program begins with its failure
    return environment
