"""Tests the overlap library from Python and Fortran with programs of several ranks, which
tests/overlap has, with both MPIs. PyPI's mpi4py opens the MPI that MPI4PY_MPIABI names."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT, clean_environment
from needs import lacks, needs, needs_built
from outboard import paths
from outboard.overlap import native as binding
from test_overlap_programs import LAUNCHER, MPIS

PROGRAMS = ROOT / "tests" / "overlap" / "python"
TOKEN = "OUTBOARD_TEST_JOB"  # in the environment of all processes of a job


def processes_of(token: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and token in (entry / "environ").read_text(errors="replace"):
                found.append(int(entry.name))
        except OSError:  # it has ended, or is another user's
            continue
    return found


def left_of(token: str) -> list[int]:
    """Returns the processes of a job that is over. The last ones may end after its launcher."""
    until = time.monotonic() + 20
    while left := processes_of(token):
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    return left


@dataclass(frozen=True)
class Launcher:
    """Starts jobs of an MPI, and requires that nothing of them is left."""

    mpi: str
    library: Path
    environment: dict[str, str]

    def run(self, ranks: int, *words: str | Path) -> tuple[int, str]:
        """Returns the status and the output of this command on all ranks."""
        token = f"{TOKEN}={secrets.token_hex(8)}"
        command = [f"mpirun.{self.mpi}", "-n", str(ranks), *map(str, words)]
        job = subprocess.Popen(
            command,
            env=self.environment | {TOKEN: token.partition("=")[2]},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            output, _ = job.communicate(timeout=240)
        finally:
            left = left_of(token) if job.poll() is not None else processes_of(token)
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            job.wait()
        assert left == [], f"processes are left behind:\n{output}"
        return job.returncode, output

    def python(self, ranks: int, *words: str | Path) -> tuple[int, str]:
        needs_mpi4py()
        return self.run(ranks, sys.executable, *words)

    def succeeds(self, ranks: int, *words: str | Path) -> str:
        status, output = self.python(ranks, *words)
        print(output)
        assert status == 0, output
        return output


def needs_mpi4py() -> None:
    if importlib.util.find_spec("mpi4py") is None:
        lacks("mpi4py", "install the test extra of pyproject.toml")


def mpich_folder(library: Path, folder: Path) -> Path:
    """Makes a folder that has Debian's MPICH under the name that PyPI's mpi4py opens."""
    listed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    match = re.search(r"=> (\S+/lib(?:mpich|mpi)\.so\.12) ", listed)
    assert match is not None, listed
    (folder / "libmpi.so.12").symlink_to(match[1])
    return folder


@pytest.fixture(scope="module", params=MPIS)
def launcher(
    request: pytest.FixtureRequest, native: paths.Native, tmp_path_factory: pytest.TempPathFactory
) -> Launcher:
    mpi = str(request.param)
    needs(f"mpiexec.{mpi}")
    library = native.root / "lib" / f"liboutboard-overlap-{mpi}.so.1"
    needs_built(library)
    variables = {**LAUNCHER, "MPI4PY_MPIABI": mpi, "OUTBOARD_NATIVE_DIR": str(native.root)}
    if mpi == "mpich":
        variables["LD_LIBRARY_PATH"] = str(mpich_folder(library, tmp_path_factory.mktemp(mpi)))
    if seed := os.environ.get("OUTBOARD_TEST_SEED"):
        variables["OUTBOARD_TEST_SEED"] = seed
    return Launcher(mpi, library, clean_environment(**variables))


@pytest.mark.parametrize(("program", "ranks"), [("halos", 3), ("panels", 3), ("mistakes", 2)])
def test_program(launcher: Launcher, program: str, ranks: int) -> None:
    assert "all right\n" in launcher.succeeds(ranks, PROGRAMS / f"{program}.py")


def test_a_rank_that_stops_is_named_and_may_go_on(launcher: Launcher) -> None:
    assert "all right\n" in launcher.succeeds(2, PROGRAMS / "dead.py", "stopped")


@pytest.mark.parametrize("end", ["killed", "raised"])
def test_the_end_of_a_rank_ends_the_job(launcher: Launcher, end: str) -> None:
    status, output = launcher.python(2, "-m", "mpi4py", PROGRAMS / "dead.py", end)
    assert status != 0
    assert end != "raised" or "KeyError: 'of rank 0 alone'" in output, output


def test_the_example_agrees_with_a_serial_run(launcher: Launcher) -> None:
    example = ROOT / "examples" / "overlap" / "heat.py"
    words = ("--n", "61", "--steps", "30", "--mode", "ticked", "--verify")
    output = launcher.succeeds(2, "-m", "mpi4py", example, *words)
    assert "0 cells differ\n" in output and "mode ticked" in output


def test_fortran(launcher: Launcher, tmp_path: Path) -> None:
    compiler = f"mpifort.{launcher.mpi}"
    needs(compiler, package=f"lib{launcher.mpi}-dev")
    sources = (ROOT / "include" / "outboard" / "overlap.f90", PROGRAMS.parent / "overlap.f90")
    words = [compiler, "-o", "program", *map(str, sources), str(launcher.library)]
    words += [f"-Wl,-rpath,{launcher.library.parent}", "-Wall", "-Werror"]
    built = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    status, output = launcher.run(2, tmp_path / "program")
    assert (status, output) == (0, "all right\n")


def test_the_package_needs_neither_mpi4py_nor_numpy_to_be_imported() -> None:
    program = "import sys; sys.modules['mpi4py'] = sys.modules['numpy'] = None\n"
    program += "from outboard import overlap\nprint(overlap.star(2).reach)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr


def test_python_and_fortran_bind_every_function() -> None:
    folder = ROOT / "include" / "outboard"
    header, module = ((folder / f"overlap.{kind}").read_text() for kind in ("h", "f90"))
    declared = set(re.findall(r"^(?:ob_status|int32_t) (ob_\w+)\(", header, re.MULTILINE))
    for_fortran = {name for name in declared if name.endswith("_f")}
    assert len(declared) > 20 and declared - for_fortran == set(binding.PROTOTYPES)
    named = set(re.findall(r"bind\(c, name='(\w+)'\)", module))
    unnamed = set(re.findall(r"^    function (\w+)\([^)]*\) bind\(c\) ", module, re.MULTILINE))
    assert named == for_fortran
    assert named | unnamed == declared - {name.removesuffix("_f") for name in for_fortran}
