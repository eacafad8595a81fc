"""Contractions on accelerators: random programs, real daemons, and daemons that die."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from random_programs import random_program
from test_sial_run import check_state, prepare, run_job, seed, simulate

from device_places import serve
from needs import needs
from outboard import paths

__all__ = ["seed"]  # a fixture
pytestmark = pytest.mark.end_to_end
PROGRAMS = 12
PLACES = ("device", "auto", "hints")

SQUARE = """sial p
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  aoindex k = 1:n
  index r = 1:40
  predefined static a[i,j]
  static c[i,j]
  distributed d[i,j]
  temp t[i,j]
  temp b[i,j]
  pardo i, j
    b[i,j] = a[i,j]
    put d[i,j] = b[i,j]
  endpardo i, j
  sip_barrier
  do r
    pardo i, j
      t[i,j] = 0.0
      do k
        get d[i,k]
        get d[k,j]
        t[i,j] += d[i,k] * d[k,j]
      enddo k
      c[i,j] = t[i,j]
    endpardo i, j
  enddo r
endsial p
"""
SEGMENTS = [20, 30, 25]


def square_job(folder: Path) -> tuple[Path, np.ndarray]:
    """Writes a job that multiplies a matrix by itself many times, and returns the product."""
    size = sum(SEGMENTS)
    matrix = np.random.default_rng(7).integers(-3, 4, (size, size)).astype(float)
    np.save(folder / "a.npy", matrix)
    job = prepare(
        folder,
        SQUARE,
        "sial_job = 1\nprograms = ['p.sial']\n[ints]\nn = 3\n"
        f"[segments]\nao = {SEGMENTS}\n[arrays]\na = {{ file = 'a.npy' }}\n",
    )
    return job, matrix @ matrix


def product(dump: Path) -> np.ndarray:
    data = json.loads(dump.read_text())[0]["statics"]["c"]
    return np.array(data["data"]).reshape(data["shape"], order="F")


def test_random_programs_have_numpys_results_on_a_device(
    native: paths.Native, tmp_path: Path, seed: int
) -> None:
    ran = 0
    for number in range(seed, seed + 10 * PROGRAMS):
        if number >= seed + PROGRAMS and ran > 0:
            break  # more are needed only where no contraction fits the devices
        program = random_program(number)
        job = prepare(tmp_path, program.source, program.job("p.sial"))
        dump, report = tmp_path / "state.json", tmp_path / "report.json"
        for order, place in enumerate(PLACES):
            done = simulate(
                native, job, "--workers", 1 + (number + order) % 4, "--seed", order,
                "--device", "local:cpu", "--place", place, "--dump-state", dump,
                "--device-memory", random.Random(number).choice((200, 1000, 1 << 20)),
                "--report", report,
            )  # fmt: skip
            assert done.returncode == 0, f"program {number}, {place}: {done.stderr}"
            check_state(program, json.loads(dump.read_text()))
            for line in json.loads(report.read_text())[0]["lines"]:
                ran += line.get("on_device", 0)
    assert ran > 0


@pytest.mark.parametrize("way", ["shm", "tcp"])
def test_a_daemon_computes_and_blocks_travel_once(
    native: paths.Native, tmp_path: Path, way: str
) -> None:
    job, expected = square_job(tmp_path)
    dump, report = tmp_path / "state.json", tmp_path / "report.json"
    with serve(native, way, tmp_path) as (address, _):
        done = simulate(
            native, job, "--device", address, "--place", "device", "--dump-state", dump,
            "--report", report,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(product(dump), expected)
    figures = json.loads(report.read_text())[0]
    lines = {line["line"]: line for line in figures["lines"]}
    contraction = SQUARE[: SQUARE.index("d[i,k] * d[k,j]")].count("\n") + 1
    assert lines[contraction]["on_device"] == 40 * 3**3
    # The blocks of d stay there; those of t come back 40 times.
    assert figures["device"]["to_device_bytes"] == 8 * expected.size
    assert figures["device"]["to_host_bytes"] == 40 * 8 * expected.size


def test_the_host_goes_on_when_the_daemon_dies(
    native: paths.Native, tmp_path: Path, seed: int
) -> None:
    job, expected = square_job(tmp_path)
    dump = tmp_path / "state.json"
    pick = random.Random(seed)
    warned = 0
    for _ in range(6):
        with serve(native, "shm", tmp_path) as (address, daemon):
            command = [
                str(native.daemon.parent / "outboard-sial"), str(job), "--device", address,
                "--place", "device", "--dump-state", str(dump),
            ]  # fmt: skip
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
                time.sleep(pick.uniform(0.02, 0.15))
                daemon.kill()
                _, errors = run.communicate(timeout=60)
        if run.returncode == 2:
            assert "--device" in errors  # it was dead before the program began
            continue
        assert run.returncode == 0, errors
        np.testing.assert_array_equal(product(dump), expected)
        warned += "the device is lost" in errors
        dump.unlink()
    print(f"{warned} of 6 programs lost their device")


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_each_worker_of_mpi_takes_its_device(
    native: paths.Native, tmp_path: Path, mpi: str
) -> None:
    needs(f"mpiexec.{mpi}")
    job, expected = square_job(tmp_path)
    report = tmp_path / "report.json"
    with serve(native, "shm", tmp_path) as (address, _):
        done = run_job(
            native, job, "-n", 3, "--mpi", mpi, "--device", address, "--device", "local:cpu",
            "--place", "device", "--dump-state", tmp_path / "state", "--report", f"json:{report}",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    got = np.zeros_like(expected)
    for worker in range(2):
        data = json.loads((tmp_path / f"state.{worker}").read_text())[0]["statics"]["c"]
        mine = np.array(data["data"]).reshape(data["shape"], order="F")
        got = np.where(mine != 0, mine, got)  # both may have computed a block, in two rounds
    np.testing.assert_array_equal(got, expected)
    lines = json.loads(report.read_text())[0]["lines"]
    assert sum(line.get("on_device", 0) for line in lines) == 40 * 3**3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--place", "device"), "--place device needs a device; name one with --device"),
        (("--device", "local:quantum"), "the form is unknown"),
        (("--device", "unix:/nowhere/socket"), "--device unix:/nowhere/socket"),
    ],
)
def test_a_device_that_cannot_be_had_is_said_at_once(
    native: paths.Native, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    job, _ = square_job(tmp_path)
    done = simulate(native, job, *options)
    assert done.returncode == 2
    assert words in done.stderr
