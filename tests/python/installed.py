"""Parallel programs of Debian which know nothing of Outboard, with small problems for them."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

_SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack")
_PSEUDO = Path("/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz")

_MELT = """
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
_SILICON = """
&control
 calculation='scf', prefix='si', pseudo_dir='.', outdir='./out', tprnfor=.true.
/
&system
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=8.0
/
&electrons
 conv_thr=1.0d-8
/
ATOMIC_SPECIES
 Si 28.086 Si.UPF
ATOMIC_POSITIONS crystal
 Si 0.0 0.0 0.0
 Si 0.25 0.25 0.26
K_POINTS automatic
 1 1 1 1 1 1
"""
_WATER = """
start water
geometry units angstrom
 O 0 0 0
 H 0 0.757 0.587
 H 0 -0.757 0.587
end
basis
 * library 6-31g
end
task mp2
"""
# One set of options for both programs; the dynamics begin near a minimum, so that rounding does not
# grow in the few steps of the test.
_DYNAMICS = """
integrator = {integrator}
nsteps = {steps}
dt = 0.002
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
gen_vel = yes
gen_temp = 300
gen_seed = 12345
nstenergy = 10
nstlog = 10
"""


@dataclass(frozen=True)
class Installed:
    """A program, what makes its problem in a folder, and the lines of its output that are results.

    `output`: the file with the results, if it is not the standard output. `package`: Debian's.
    `calls`: whether it calls a library that may go out."""

    name: str
    mpi: str
    command: list[str]
    package: str
    prepare: Callable[[Path], None]
    results: Callable[[str], list[str]]
    output: str = ""
    calls: bool = True

    def found(self, folder: Path, stdout: str) -> list[str]:
        """Returns the results of a run in `folder`, of which there must be some."""
        text = (folder / self.output).read_text() if self.output else stdout
        lines = self.results(text)
        assert lines, text
        return lines


def _matching(pattern: str) -> Callable[[str], list[str]]:
    expression = re.compile(pattern)
    return lambda output: [line for line in output.splitlines() if expression.search(line)]


def _scalapack_checks(output: str) -> list[str]:
    """Returns the lines of ScaLAPACK's tests without their times and rates."""
    lines = _matching("PASSED|FAILED")(output)
    assert not any("FAILED" in line for line in lines)
    return [" ".join(re.sub(r"\d+\.\d+", "", line).split()) for line in lines]


def _written(name: str, text: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / name).write_text(text)

    return prepare


def _scalapack(mpi: str) -> Installed:
    tests = _SCALAPACK / f"{mpi}-tests"

    def prepare(folder: Path) -> None:
        shutil.copy(tests / "LU.dat", folder)

    program = [str(tests / "xdlu")]
    return Installed("xdlu", mpi, program, "scalapack-mpi-test", prepare, _scalapack_checks)


def _prepare_silicon(folder: Path) -> None:
    if not _PSEUDO.exists():
        pytest.skip(f"{_PSEUDO.name} is not there (Debian: quantum-espresso-data)")
    (folder / "Si.UPF").write_bytes(gzip.decompress(_PSEUDO.read_bytes()))
    (folder / "si.in").write_text(_SILICON)


def _prepare_water_box(folder: Path) -> None:
    def gmx(*words: str) -> None:
        done = subprocess.run(
            ["gmx", "-quiet", *words], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    gmx("solvate", "-cs", "spc216.gro", "-box", "2.1", "2.1", "2.1", "-o", "water.gro")
    molecules = int((folder / "water.gro").read_text().splitlines()[1]) // 3
    (folder / "topol.top").write_text(
        '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spce.itp"\n'
        f"[ system ]\nwater\n[ molecules ]\nSOL {molecules}\n"
    )
    for name, before, integrator, steps in (
        ("still", "water", "steep", 100),
        ("dynamics", "still", "md", 20),
    ):
        options = _DYNAMICS.format(integrator=integrator, steps=steps)
        (folder / f"{name}.mdp").write_text(options)
        gmx("grompp", "-f", f"{name}.mdp", "-c", f"{before}.gro", "-o", f"{name}.tpr",
            "-maxwarn", "5")  # fmt: skip
        if integrator == "steep":
            gmx("mdrun", "-s", f"{name}.tpr", "-deffnm", name, "-ntmpi", "1", "-ntomp", "1")


PROGRAMS = (
    Installed(
        "lammps", "openmpi", ["lmp", "-in", "in.melt", "-nocite"], "lammps",
        _written("in.melt", _MELT), _matching(r"^\s+\d+(\s+-?[\d.]+){5}\s*$"),
        calls=False,
    ),
    _scalapack("openmpi"),
    _scalapack("mpich"),
    Installed(
        "espresso", "openmpi", ["pw.x", "-in", "si.in"], "quantum-espresso",
        _prepare_silicon, _matching("^!|Total force"),
    ),
    Installed(
        "gromacs", "openmpi", ["gmx_mpi", "-quiet", "mdrun", "-s", "dynamics.tpr", "-reprod",
                               "-ntomp", "1", "-g", "run.log"],
        "gromacs", _prepare_water_box, _matching(r"^(\s+-?\d\.\d{5}e[+-]\d\d){3,5}$"), "run.log",
    ),
    Installed(
        "nwchem", "openmpi", ["nwchem.openmpi", "water.nw"], "nwchem-openmpi",
        _written("water.nw", _WATER), _matching("Total (SCF|MP2|SCS-MP2) energy"),
    ),
)  # fmt: skip
