"""Runs the quantum chemistry of examples/sial over simulated ranks.

The references are the energies of PySCF 2.14.0."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT, clean_environment
from needs import needs
from outboard import paths
from outboard.sial.compiler import Options, compile_file

pytestmark = pytest.mark.end_to_end
EXAMPLES = ROOT / "examples" / "sial"
PROGRAMS = ("rhf.sial", "mp2.sial", "ccsd.sial")
SCHEDULES = 5  # numbers of ranks and orders of messages per job


@dataclass(frozen=True)
class Reference:
    """Energies [Hartree]."""

    nuclear: float
    scf: float
    mp2_correlation: float
    ccsd_correlation: float


REFERENCES = {
    ("h2o", "sto-3g"): Reference(8.002367061811, -74.942079928192, -0.04914964, -0.07068009),
    ("h2o", "6-31g"): Reference(8.002367061811, -75.952529075449, -0.14211983, -0.14941269),
    ("hf", "sto-3g"): Reference(5.193669463773, -98.570779986, -0.01734432, -0.02584419),
    ("hf", "6-31g"): Reference(5.193669463773, -99.983408933, -0.12869422, -0.13124775),
}


@pytest.fixture
def seed() -> int:
    chosen = int(os.environ.get("OUTBOARD_TEST_SEED", random.SystemRandom().randrange(1, 1 << 30)))
    print(f"seed {chosen} (repeat with OUTBOARD_TEST_SEED={chosen})")
    return chosen


def make(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / "make_molecule.py"), *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=60
    )


def prepare(folder: Path, molecule: str, basis: str, segment: int) -> Path:
    made = make(folder, molecule, basis, "job", "--segment", segment, "--integrals", "own")
    assert made.returncode == 0, made.stderr
    for program in PROGRAMS:
        source = folder / "job" / program
        result = compile_file(source, str(source), Options())
        assert result.code is not None, result.render()
        assert result.render() == "", "the examples have no warnings"
        source.with_suffix(".sialc").write_bytes(result.code)
    return folder / "job" / "job.toml"


def energies(output: str) -> dict[str, float]:
    """Returns the last value of each number that was printed."""
    found = re.findall(r"^ *\d+: +(\w+) = (\S+)$", output, re.MULTILINE)
    return {name: float(value) for name, value in found}


def check_energies(found: dict[str, float], expected: Reference) -> None:
    assert found["scf_energy"] == pytest.approx(expected.scf, abs=1e-8)
    assert found["mp2_correlation"] == pytest.approx(expected.mp2_correlation, abs=1e-8)
    assert found["ccsd_correlation"] == pytest.approx(expected.ccsd_correlation, abs=1e-7)
    for name in ("mp2", "ccsd"):
        total = found["scf_energy"] + found[f"{name}_correlation"]
        assert found[f"{name}_energy"] == pytest.approx(total, abs=1e-12)


def run_and_check(
    native: paths.Native, tmp_path: Path, seed: int, molecule: str, basis: str, segment: int
) -> None:
    job = prepare(tmp_path, molecule, basis, segment)
    program = native.daemon.parent / "outboard-sial"
    for order in range(SCHEDULES):
        workers, servers = 1 + (seed + order) % 4, 1 + (seed // 4 + order) % 2
        races = ("worker", "iteration")[order % 2]
        options = ["--workers", workers, "--servers", servers, "--seed", seed + order]
        options += ["--races", races]
        done = subprocess.run(
            [str(program), str(job), *map(str, options)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        print(" ".join(map(str, options)))
        assert done.returncode == 0, done.stderr
        check_energies(energies(done.stdout), REFERENCES[molecule, basis])


@pytest.mark.parametrize("segment", [2, 3, 9])
@pytest.mark.parametrize("molecule", ["h2o", "hf"])
def test_minimal_basis(
    native: paths.Native, tmp_path: Path, seed: int, molecule: str, segment: int
) -> None:
    run_and_check(native, tmp_path, seed, molecule, "sto-3g", segment)


@pytest.mark.slow
@pytest.mark.parametrize("molecule", ["h2o", "hf"])
def test_segments_of_one_orbital(
    native: paths.Native, tmp_path: Path, seed: int, molecule: str
) -> None:
    run_and_check(native, tmp_path, seed, molecule, "sto-3g", 1)


@pytest.mark.slow
@pytest.mark.parametrize("segment", [4, 6])
@pytest.mark.parametrize("molecule", ["h2o", "hf"])
def test_split_valence_basis(
    native: paths.Native, tmp_path: Path, seed: int, molecule: str, segment: int
) -> None:
    run_and_check(native, tmp_path, seed, molecule, "6-31g", segment)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_over_mpi(native: paths.Native, tmp_path: Path, mpi: str) -> None:
    needs(f"mpiexec.{mpi}")
    job = prepare(tmp_path, "h2o", "sto-3g", 3)
    done = subprocess.run(
        [str(ROOT / "outboard"), "sial", "run", str(job), "-n", "3", "--mpi", mpi],
        env=clean_environment(OUTBOARD_NATIVE_DIR=str(native.root)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    check_energies(energies(done.stdout), REFERENCES["h2o", "sto-3g"])


def test_nuclear_repulsion(tmp_path: Path) -> None:
    for (molecule, basis), expected in REFERENCES.items():
        assert make(tmp_path, molecule, basis, "job", "--integrals", "own").returncode == 0
        text = (tmp_path / "job" / "job.toml").read_text()
        nuclear = float(re.findall(r"^nuclear = (\S+)$", text, re.MULTILINE)[0])
        assert nuclear == pytest.approx(expected.nuclear, abs=1e-11)


def test_molecules_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "helium.xyz").write_text("1\n\nHe 0 0 0\n")
    (tmp_path / "atom.xyz").write_text("1\n\nH 0 0 0\n")
    (tmp_path / "short.xyz").write_text("1\n\nH 0 0\n")
    for molecule, words in (
        ("nothing", "there is no molecule nothing"),
        ("helium.xyz", "has no sto-3g of He"),
        ("atom.xyz", "1 electrons in 1 orbitals"),
        ("short.xyz", "short.xyz is no molecule"),
    ):
        made = make(tmp_path, molecule, "sto-3g", "job", "--integrals", "own")
        assert made.returncode == 1
        assert words in made.stderr, made.stderr


def test_integrals_and_references_are_pyscfs(tmp_path: Path) -> None:
    pytest.importorskip("pyscf", reason="PySCF is not installed")
    for (molecule, basis), expected in REFERENCES.items():
        own = make(tmp_path, molecule, basis, "own", "--integrals", "own")
        theirs = make(tmp_path, molecule, basis, "theirs", "--integrals", "pyscf")
        assert (own.returncode, theirs.returncode) == (0, 0), own.stderr + theirs.stderr
        for name in ("overlap.npy", "hcore.npy", "repulsion.npy"):
            one, other = (np.load(tmp_path / folder / name) for folder in ("own", "theirs"))
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-11, err_msg=name)
        scf, mp2, ccsd = (
            float(number) for number in re.findall(r" (-\d\S+)$", theirs.stdout, re.M)
        )
        assert scf == pytest.approx(expected.scf, abs=1e-9)
        assert mp2 == pytest.approx(expected.mp2_correlation, abs=1e-8)
        assert ccsd == pytest.approx(expected.ccsd_correlation, abs=1e-8)
