"""Tests `outboard run --overlap` with MPI programs that know nothing of Outboard.

Each MPI's own compiler wrapper builds them. The oracle of progress is a file that the other rank
makes when it has the message, while this rank stays outside of MPI until it sees the file.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Outboard, clean_environment
from needs import needs, needs_built
from outboard import paths, preload
from outboard.overlap_report import NO_PROCESS, OverlapReport

SOURCES = ROOT / "tests" / "overlap" / "programs"
MPIS = ("openmpi", "mpich")
LAUNCHER = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl": "self,vader",
    # Containers forbid reading another process's memory.
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


class Programs:
    """Compiles the programs of an MPI on first use."""

    def __init__(self, mpi: str, folder: Path) -> None:
        self.mpi = mpi
        self.folder = folder

    def program(self, source: str, *options: str) -> Path:
        kind = "mpicc" if source.endswith(".c") else "mpifort"
        compiler = f"{kind}.{self.mpi}"
        needs(compiler, package=f"lib{self.mpi}-dev")
        program = self.folder / "-".join([source, *options]).replace(".", "-")
        if not program.exists():
            command = [compiler, *options, "-O1", "-g", "-o", str(program), str(SOURCES / source)]
            built = subprocess.run(command, capture_output=True, text=True, check=False)
            assert built.returncode == 0, built.stderr
        return program


@pytest.fixture(scope="session", params=MPIS)
def programs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Programs:
    mpi = str(request.param)
    needs(f"mpiexec.{mpi}")
    return Programs(mpi, tmp_path_factory.mktemp(mpi))


def layer_environment(native: paths.Native, mpi: str) -> dict[str, str]:
    """Returns the variables of a job whose programs get the layer of `mpi`. CI builds all."""
    layer = native.root / "lib" / f"liboutboard-mpi-layer-{mpi}.so"
    needs_built(layer)
    return clean_environment(**LAUNCHER, OUTBOARD_NATIVE_DIR=str(native.root))


@pytest.fixture
def environment(native: paths.Native, programs: Programs) -> dict[str, str]:
    return layer_environment(native, programs.mpi)


def job(programs: Programs, ranks: int, *command: str | Path) -> list[str]:
    return [f"mpiexec.{programs.mpi}", "-n", str(ranks), *map(str, command)]


def run(
    outboard: Outboard, environment: Mapping[str, str], words: list[str], *options: str
) -> subprocess.CompletedProcess[str]:
    given = options or ("--overlap=on",)
    return outboard("run", "--mode", "off", *given, "--", *words, environment=environment)


def reported(file: Path) -> dict[str, Any]:
    report = json.loads(file.read_text())["overlap"]
    assert isinstance(report, dict)
    return report


@pytest.mark.parametrize("kind", ["message", "persistent", "collective", "reduction"])
def test_operation_moves_while_the_program_computes(
    outboard: Outboard,
    environment: dict[str, str],
    programs: Programs,
    tmp_path: Path,
    kind: str,
) -> None:
    words = job(programs, 2, programs.program("exchange.c"), kind, tmp_path / "arrived")
    report = tmp_path / "report.json"
    result = run(outboard, environment, words, "--overlap=on", "--report", f"json:{report}")
    assert result.returncode == 0, result.stderr
    found = reported(report)
    assert [p["rank"] for p in found["processes"]] == [0, 1]
    assert {p["provided"] for p in found["processes"]} == {"MPI_THREAD_MULTIPLE"}
    assert {p["asked"] for p in found["processes"]} == {"MPI_THREAD_SINGLE"}
    assert sum(s["operations"] for s in found["sites"]) == 2
    assert all(s["call"] == "MPI_Wait" for s in found["sites"])
    # Rank 0 stayed outside until the message had arrived: 10 ms at least, in steps of its nap.
    assert sum(s["hidden_ns"] for s in found["sites"]) > 0
    if shutil.which("addr2line"):
        assert all(s["symbol"].startswith("outside exchange.c:") for s in found["sites"])


def test_operation_that_waitany_left_moves_on(
    outboard: Outboard, environment: dict[str, str], programs: Programs, tmp_path: Path
) -> None:
    # The addresses of a program without PIE are those of its file.
    program = programs.program("exchange.c", "-no-pie")
    report = tmp_path / "report.json"
    words = job(programs, 2, program, "waitany", tmp_path / "arrived")
    result = run(outboard, environment, words, "--overlap=on", "--report", f"json:{report}")
    assert result.returncode == 0, result.stderr
    if shutil.which("addr2line"):
        symbols = [s["symbol"] for s in reported(report)["sites"]]
        assert any(s.startswith("outside_after_waitany exchange.c:") for s in symbols), symbols


def test_the_oracle_sees_a_program_without_the_layer(
    outboard: Outboard, environment: dict[str, str], programs: Programs, tmp_path: Path
) -> None:
    words = job(programs, 2, programs.program("exchange.c"), "message", tmp_path / "arrived")
    environment["OUTSIDE_S"] = "2"
    result = run(outboard, environment, words, "--overlap=count")
    assert result.returncode != 0
    assert "did not move while the program was outside" in result.stderr


@pytest.mark.parametrize("options", [(), ("-cpp", "-DF08")])
def test_fortran(
    outboard: Outboard,
    environment: dict[str, str],
    programs: Programs,
    tmp_path: Path,
    options: tuple[str, ...],
) -> None:
    program = programs.program("exchange.f90", *(options or ("-cpp",)))
    report = tmp_path / "report.json"
    words = job(programs, 2, program, tmp_path / "arrived")
    result = run(outboard, environment, words, "--overlap=on", "--report", f"json:{report}")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.split() == ["finished"]
    sites = reported(report)["sites"]
    assert {s["call"] for s in sites} == {"MPI_Waitany", "MPI_Waitall"}
    assert sum(s["bytes"] for s in sites) == 2 * 8 << 20


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("mode", ["auto", "on"])
def test_random_exchanges(
    outboard: Outboard, environment: dict[str, str], programs: Programs, ranks: int, mode: str
) -> None:
    seed = random.randrange(1 << 20)
    print("seed", seed)
    words = job(programs, ranks, programs.program("exchange.c"), "random", str(seed), "25")
    result = run(outboard, environment, words, f"--overlap={mode}")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("level", range(4))
def test_program_sees_the_level_that_it_sees_without_the_layer(
    outboard: Outboard, environment: dict[str, str], programs: Programs, level: int
) -> None:
    # Both MPIs number the levels from 0 to 3.
    words = job(programs, 1, programs.program("exchange.c"), "level", str(level))
    plain = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    result = run(outboard, environment, words)
    assert result.returncode == 0, result.stderr
    assert result.stdout == plain.stdout


def test_errors_reach_the_program(
    outboard: Outboard, environment: dict[str, str], programs: Programs
) -> None:
    words = job(programs, 2, programs.program("exchange.c"), "truncated")
    plain = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert plain.stdout.strip() == "truncated 1"
    result = run(outboard, environment, words)
    assert (result.returncode, result.stdout) == (plain.returncode, plain.stdout)


@pytest.mark.parametrize("kind", ["operation", "handler", "corners"])
def test_code_of_the_program_runs_where_it_runs_without_the_layer(
    outboard: Outboard, environment: dict[str, str], programs: Programs, kind: str
) -> None:
    words = job(programs, 2, programs.program("callbacks.c"), kind)
    plain = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert plain.returncode == 0, plain.stderr
    result = run(outboard, environment, words)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == plain.stdout


def test_exit_in_a_signal_handler_ends_the_process(
    outboard: Outboard, environment: dict[str, str], programs: Programs
) -> None:
    # Without a launcher, which would end the process from outside. The signal comes while MPI has
    # its locks in most runs.
    program = str(programs.program("callbacks.c"))
    for _ in range(3):
        result = run(outboard, environment, ["timeout", "20", program, "signal"])
        assert result.returncode == 9, result.stderr


def test_windows_of_fortran_keep_their_level(
    outboard: Outboard, environment: dict[str, str], programs: Programs, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    words = job(programs, 1, programs.program("window.f90"))
    result = run(outboard, environment, words, "--overlap", "--report", f"json:{report}")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.split() == ["got", "42"]
    (process,) = reported(report)["processes"]
    kept = programs.mpi == "openmpi"
    assert process["provided"] == ("MPI_THREAD_SINGLE" if kept else "MPI_THREAD_MULTIPLE")


def test_trial_and_text_of_the_report(
    outboard: Outboard, environment: dict[str, str], programs: Programs
) -> None:
    words = job(programs, 2, programs.program("exchange.c"), "loop", "45", "1")
    result = run(outboard, environment, words, "--overlap", "--report")
    assert result.returncode == 0, result.stderr
    assert "2 MPI process(es); a thread makes progress on" in result.stderr
    assert "an iteration of rank 0 took" in result.stderr
    assert "MPI_Waitall" in result.stderr
    assert "loop" in result.stderr or not shutil.which("addr2line")


@pytest.mark.parametrize("mode", ["auto", "on"])
def test_programs_that_only_wait_end(
    outboard: Outboard, environment: dict[str, str], programs: Programs, mode: str
) -> None:
    # Ranks that share a core change places once in a time slice, natively as well, so there are
    # few rounds.
    words = job(programs, 2, programs.program("short_messages.c"), "patterns", "10")
    result = run(outboard, environment, words, f"--overlap={mode}")
    assert result.returncode == 0, result.stdout + result.stderr


def test_tests_in_a_loop_do_not_wake_a_thread_that_gains_nothing(
    outboard: Outboard, environment: dict[str, str], programs: Programs, tmp_path: Path
) -> None:
    words = job(programs, 2, programs.program("short_messages.c"), "tests", "200000")
    for attempt in range(10):
        report = tmp_path / f"{attempt}.json"
        result = run(outboard, environment, words, "--overlap", "--report", f"json:{report}")
        assert result.returncode == 0, result.stdout + result.stderr
        (rank0,) = (p for p in reported(report)["processes"] if p["rank"] == 0)
        # Other work on the machine may make a loop without computation look faster with the thread.
        if rank0["decision"] == "off":
            break
    else:
        pytest.fail("no trial in 10 found that the thread gains nothing")
    # The thread may end a nap meanwhile. One that the tests wake sleeps about 50 times.
    assert int(result.stdout.split()[-1]) <= 5, result.stdout


def test_program_without_mpi(
    outboard: Outboard, environment: dict[str, str], programs: Programs
) -> None:
    result = run(outboard, environment, ["sh", "-c", "exit 0"], "--overlap")
    assert (result.returncode, result.stderr) == (0, f"outboard: overlap: {NO_PROCESS}\n")
    failed = run(outboard, environment, ["sh", "-c", "exit 4"], "--overlap")
    assert (failed.returncode, failed.stderr) == (4, "")


@pytest.mark.parametrize("behind", [False, True])
def test_programs_with_profilers_run_without_the_layer(
    outboard: Outboard,
    environment: dict[str, str],
    programs: Programs,
    tmp_path: Path,
    behind: bool,
) -> None:
    tool = tmp_path / "libtool.so"
    (tmp_path / "tool.c").write_text(
        "int PMPI_Wait(void*, void*); int MPI_Wait(void* r, void* s) { return PMPI_Wait(r, s); }"
    )
    command = ["cc", "-shared", "-fPIC", "-o", str(tool), str(tmp_path / "tool.c")]
    subprocess.run(command, check=True)
    libraries = [str(tool), preload_path(environment)]
    if behind:
        libraries.reverse()
    words = job(
        programs, 2, "env", f"LD_PRELOAD={':'.join(libraries)}",
        programs.program("exchange.c"), "random", "5", "2",
    )  # fmt: skip
    result = run(outboard, environment, words)
    assert result.returncode == 0, result.stderr
    assert "another library intercepts MPI_Wait" in result.stderr


def preload_path(environment: Mapping[str, str]) -> str:
    return os.path.join(environment["OUTBOARD_NATIVE_DIR"], "lib", preload.MPI_NAME)


def test_layer_that_is_missing(outboard: Outboard, fake_native: dict[str, str]) -> None:
    result = outboard("run", "--overlap", "--", "sh", "-c", "exit 3", environment=fake_native)
    assert result.returncode == 3
    assert "the layer for MPI is not there (liboutboard-mpi.so" in result.stderr


def test_reports_of_ranks_are_merged(tmp_path: Path) -> None:
    site = {"call": "MPI_Wait", "object": "/no/such", "offset": 16, "symbol": "f", "calls": 1,
            "operations": 2, "bytes": 4, "hidden_ns": 8, "exposed_ns": 16}  # fmt: skip
    process = {"version": 1, "ranks": 2, "progress": "", "decision": "on", "with_ns": 0,
               "without_ns": 0, "processor_ns": 5}  # fmt: skip
    for rank in (1, 0):
        text = json.dumps({**process, "rank": rank, "pid": 9 - rank, "sites": [site]})
        (tmp_path / f"overlap.host.{rank}.json").write_text(text)
    (tmp_path / "overlap.host.7.json").write_text('{"version": 99}')
    (tmp_path / "overlap.host.8.json").write_text("{")
    report = OverlapReport.read(tmp_path)
    assert [p["rank"] for p in report.processes] == [0, 1]
    assert len(report.notes) == 2
    (merged,) = report.sites()
    assert merged.counts == {
        "calls": 2, "operations": 4, "bytes": 8, "hidden_ns": 16, "exposed_ns": 32,
    }  # fmt: skip
