"""Tests `outboard bench gpu` and bench/gpu/check: sizes and floors, rows, and the messages if there
is no GPU."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import gpu, gpu_measure, gpu_model, gpu_table, rows
from outboard_bench.fft_problems import Problem as Transform
from outboard_bench.gpu_measure import Measured
from outboard_bench.gpu_problems import CHECK, FULL, Call, Problem, device_arguments

CHECKER = Path(__file__).resolve().parents[2] / "bench" / "gpu" / "check"


def test_bytes_and_flops_by_hand() -> None:
    sizes = {name: (Call(name, 10).bytes_to, Call(name, 10).bytes_from) for name in _ROUTINES}
    assert sizes == {
        "dgemm": (1600, 800),
        "sgesv": (440, 480),
        "dpotrf": (440, 440),
        "dgeqrf": (800, 880),
    }
    assert [round(Call(name, 30).flops) for name in _ROUTINES] == [54000, 18000, 9000, 36000]


_ROUTINES = ("dgemm", "sgesv", "dpotrf", "dgeqrf")


def test_arguments_of_the_program_on_the_device() -> None:
    assert device_arguments(Call("sgesv", 30)) == ["sgesv", "30"]
    assert device_arguments(Transform("c2c", (4, 5))) == ["c2c", "4x5"]
    assert {p.routine for p in CHECK if isinstance(p, Call)} == set(_ROUTINES)
    points = [p.points for p in FULL if isinstance(p, Transform)]
    assert min(points) == 10_000_000 and max(points) == 270_000_000


@pytest.mark.parametrize(
    ("problem", "compute_ms", "pcie_ms"),
    [
        (Call("dgemm", 8000), 17.4, 20),
        (Call("dgemm", 2000), 0.27, 1.22),
        (Call("sgesv", 10_000), 19, 34),
        (Call("sgesv", 30_000), 517, 650),
        (Transform("c2c", (10_000_000,)), 0.15, 6),
        (Transform("c2c", (90_000_000,)), 2.0, 54),
        (Transform("c2c", (270_000_000,)), 6.0, 160),
    ],
)
def test_floors(problem: Problem, compute_ms: float, pcie_ms: float) -> None:
    """Compares with figures that were computed by hand, with two digits."""
    assert gpu_model.compute_s(problem) * 1e3 == pytest.approx(compute_ms, rel=0.05)
    assert gpu_model.pcie_s(problem) * 1e3 == pytest.approx(pcie_ms, rel=0.05)


def test_rows_have_the_common_form() -> None:
    one = Measured(Call("dgemm", 100))
    one.places = {"local 4 threads": [8.0], "shm": [4.0, 2.0, 3.0], "tcp": [6.0]}
    one.first = dict.fromkeys(one.places, 9.0)
    one.direct = {"to_device": [1.0], "compute": [0.5], "back": [0.0], "whole": [1.5]}
    found = {row.case: row for row in gpu_table.rows_of(one)}
    assert rows.check([vars(row) for row in found.values()])
    shm = found["dgemm 100, shm"]
    assert (shm.value, shm.min, shm.max, shm.runs, shm.ceiling) == (3, 2, 4, 3, 1.5)
    assert shm.ratio == pytest.approx(0.5)
    assert found["dgemm 100, device back"].ratio is None
    assert gpu_table._cells(one, list(one.places))[5:8] == ["0.5", "2.67", "0.5"]


def test_where_nothing_was_built_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(OutboardError, match=r"cuda_headers\.py"):
        gpu_measure.probe(tmp_path)


def test_where_there_is_no_gpu_it_says_why(tmp_path: Path) -> None:
    program = tmp_path / gpu_measure.DEVICE_PROGRAM
    program.write_text("#!/bin/sh\necho 'no GPU: no driver' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(OutboardError, match=r"no GPU: no driver.*stand-in"):
        gpu_measure.probe(tmp_path)


def test_options(monkeypatch: pytest.MonkeyPatch) -> None:
    options = gpu.parse(["--check", "--rounds", "7"])
    assert options.rounds == 1
    assert [str(p) for p in gpu._problems(gpu.parse(["--only", "3000", "--quick"]))] == [
        "sgesv 3000"
    ]
    with pytest.raises(OutboardError, match="nothing-like-it"):
        gpu._problems(gpu.parse(["--only", "nothing-like-it"]))
    monkeypatch.setattr(paths, "require_native", lambda: paths.Native(Path("/nowhere")))
    with pytest.raises(OutboardError, match="device_calls is missing"):
        gpu.Gpu().run(["--check"], None)


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a GPU")
def test_the_script_stops_where_there_is_no_gpu() -> None:
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    result = subprocess.run(
        [CHECKER], env=environment, capture_output=True, text=True, check=False, timeout=20
    )
    assert result.returncode == 1
    assert "there is no GPU here" in result.stderr and "--stand-in" in result.stderr


def test_the_script_takes_no_odd_arguments() -> None:
    result = subprocess.run(
        [CHECKER, "a;b"], capture_output=True, text=True, check=False, timeout=20
    )
    assert result.returncode == 1 and "'a;b'" in result.stderr
