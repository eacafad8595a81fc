"""Tests Outboard with parallel programs of Debian, which know nothing of it.

Each program runs alone, with `outboard run --overlap`, which must not change one digit of its
results, and with every call on a daemon, which may change their rounding. `outboard test` does not
install the programs, so the tests run only where somebody has.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from conftest import Outboard
from installed import PROGRAMS, Installed
from needs import needs
from outboard import paths
from test_overlap_programs import layer_environment, reported

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.name}-{p.mpi}"),
]

# GROMACS computes with 24 bits, and its energies are sums that cancel.
RELATIVE = 1e-5


class Case:
    """A program whose problem is made, and which has run alone."""

    def __init__(self, program: Installed, native: paths.Native, folder: Path) -> None:
        needs(program.command[0], package=program.package)
        program.prepare(folder)
        self.program, self.folder = program, folder
        self.environment = {
            **layer_environment(native, program.mpi),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        launcher = [f"mpiexec.{program.mpi}", "-n", "2"]
        self.command = ["env", "-C", str(folder), *launcher, *program.command]
        plain = subprocess.run(
            self.command, env=self.environment, capture_output=True, text=True, check=True
        )
        self.expected = program.found(folder, plain.stdout)

    def run(self, outboard: Outboard, *options: str) -> list[str]:
        """Returns the results under `outboard run`, which writes a report."""
        report = ["--report", f"json:{self.report}"]
        result = outboard(
            "run", *options, *report, "--", *self.command, environment=self.environment
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return self.program.found(self.folder, result.stdout)

    @property
    def report(self) -> Path:
        return self.folder / "report.json"


@pytest.fixture
def case(program: Installed, native: paths.Native, tmp_path: Path) -> Case:
    return Case(program, native, tmp_path)


@pytest.mark.parametrize("mode", ["on", "auto"])
def test_overlap_changes_no_digit(outboard: Outboard, case: Case, mode: str) -> None:
    assert case.run(outboard, "--mode", "off", f"--overlap={mode}") == case.expected
    assert [process["rank"] for process in reported(case.report)["processes"]] == [0, 1]


def test_a_daemon_computes_the_same(outboard: Outboard, case: Case) -> None:
    if not case.program.calls:
        pytest.skip("it calls no library that goes out")
    found = case.run(outboard, "--mode", "remote")
    assert [words(line) for line in found] == [words(line) for line in case.expected]
    for line, expected in zip(found, case.expected, strict=True):
        assert numbers(line) == pytest.approx(numbers(expected), rel=RELATIVE), line
    routines = json.loads(case.report.read_text())["routines"]
    assert sum(routine["remote"] for routine in routines) > 0
    assert sum(routine["fell_back"] for routine in routines) == 0


NUMBER = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?")


def numbers(line: str) -> list[float]:
    return [float(text) for text in NUMBER.findall(line)]


def words(line: str) -> list[str]:
    return NUMBER.sub("#", line).split()
