"""Tests `outboard run --overlap` with MPI programs of Debian, which know nothing of Outboard.

Each program runs without the layer and with it. Its own results must be equal, and its own checks
must pass. Debian's packages lammps, scalapack-mpi-test and netpipe-* have the programs. `outboard
test` does not install these, so the tests run only where somebody has.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import Outboard
from needs import needs
from outboard import paths
from test_overlap_programs import layer_environment, reported

SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack")
MELT = """
units lj
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 10
run 50
"""


@dataclass(frozen=True)
class Installed:
    """A program, the files that it reads, and the lines of its output that are results."""

    name: str
    mpi: str
    command: list[str]
    package: str
    results: Callable[[str], list[str]]
    files: tuple[Path, ...] = ()


def energies(output: str) -> list[str]:
    return [
        line for line in output.splitlines() if re.fullmatch(r"\s+\d+(\s+-?[\d.]+){5}\s*", line)
    ]


def checks(output: str) -> list[str]:
    """Returns the lines of ScaLAPACK's tests without their times and rates."""
    lines = [line for line in output.splitlines() if re.search("PASSED|FAILED", line)]
    assert not any("FAILED" in line for line in lines)
    return [" ".join(re.sub(r"\d+\.\d+", "", line).split()) for line in lines]


def scalapack(mpi: str) -> Installed:
    folder = SCALAPACK / f"{mpi}-tests"
    program = [str(folder / "xdlu")]
    return Installed("xdlu", mpi, program, "scalapack-mpi-test", checks, (folder / "LU.dat",))


PROGRAMS = (
    Installed("lammps", "openmpi", ["lmp", "-in", "in.melt", "-nocite"], "lammps", energies),
    scalapack("openmpi"),
    scalapack("mpich"),
)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.name}-{p.mpi}")
@pytest.mark.parametrize("mode", ["on", "auto"])
def test_installed_program_gives_its_results(
    outboard: Outboard, native: paths.Native, tmp_path: Path, program: Installed, mode: str
) -> None:
    needs(program.command[0], package=program.package)
    if not all(file.exists() for file in program.files):
        pytest.skip(f"{program.files[0].name} is not there (Debian: {program.package})")
    for file in program.files:
        shutil.copy(file, tmp_path)
    (tmp_path / "in.melt").write_text(MELT)
    environment = layer_environment(native, program.mpi)
    words = [f"mpiexec.{program.mpi}", "-n", "2", *program.command]
    inside = ["env", "-C", str(tmp_path), *words]
    plain = subprocess.run(inside, env=environment, capture_output=True, text=True, check=True)
    expected = program.results(plain.stdout)
    assert expected, plain.stdout
    report = tmp_path / "report.json"
    options = ["--mode", "off", f"--overlap={mode}", "--report", f"json:{report}"]
    result = outboard("run", *options, "--", *inside, environment=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    assert [process["rank"] for process in reported(report)["processes"]] == [0, 1]
    assert program.results(result.stdout) == expected
