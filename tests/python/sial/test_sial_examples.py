"""Runs the smaller examples of examples/sial. The oracle is NumPy."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from conftest import ROOT
from outboard import paths, sial_saved
from outboard.sial.compiler import Options, compile_file

pytestmark = pytest.mark.end_to_end
EXAMPLES = ROOT / "examples" / "sial"
RANKS = ((1, 1), (2, 1), (3, 2), (4, 2))  # workers, servers
Array = NDArray[np.float64]


@pytest.fixture
def seed() -> int:
    chosen = int(os.environ.get("OUTBOARD_TEST_SEED", random.SystemRandom().randrange(1, 1 << 30)))
    print(f"seed {chosen} (repeat with OUTBOARD_TEST_SEED={chosen})")
    return chosen


class Example:
    """A copy of an example's job, with its programs compiled."""

    def __init__(self, native: paths.Native, folder: Path, name: str, *programs: str) -> None:
        self.program = native.daemon.parent / "outboard-sial"
        self.folder = folder / "sial"
        self.folder.mkdir()
        for program in programs:
            source = Path(shutil.copy(EXAMPLES / program, self.folder))
            result = compile_file(source, str(source), Options())
            assert result.code is not None, result.render()
            assert result.render() == "", "the examples have no warnings"
            source.with_suffix(".sialc").write_bytes(result.code)
        self.job = Path(shutil.copy(EXAMPLES / f"{name}.toml", self.folder))

    def run(self, workers: int, servers: int, seed: int, *options: object) -> dict[str, Any]:
        """Returns the state of worker 0 at the end of the last program."""
        dump = self.folder / "state.json"
        command = [self.program, self.job, "--workers", workers, "--servers", servers]
        command += ["--seed", seed, "--races", "iteration", "--dump-state", dump, *options]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{workers} workers, {servers} servers: {done.stderr}"
        states = json.loads(dump.read_text())
        assert all(state["blocks"] == [] for state in states), "temps and locals have ended"
        return dict(states[-workers])

    def saved(self, label: str) -> Array:
        """Returns an array that the job has saved."""
        to = self.folder / f"{label}.npy"
        sial_saved.export(sial_saved.read_table(sial_saved.state_folder(self.job))[label], to)
        return np.asarray(np.load(to))


def symmetric(seed: int, n: int) -> Array:
    random_ = np.random.default_rng(seed)
    orthogonal, _ = np.linalg.qr(random_.standard_normal((n, n)))
    return np.asarray(orthogonal @ np.diag([9.0, *random_.uniform(-4, 4, n - 1)]) @ orthogonal.T)


@pytest.mark.parametrize(("workers", "servers"), RANKS)
def test_power(native: paths.Native, tmp_path: Path, seed: int, workers: int, servers: int) -> None:
    example = Example(native, tmp_path, "power", "power.sial")
    state = example.run(workers, servers, seed)
    assert state["scalars"]["eigenvalue"] == pytest.approx(2 + 2 * np.cos(np.pi / 8), abs=1e-9)
    matrix = symmetric(seed, 7)
    text = example.job.read_text()
    start, end = text.index("matrix = "), text.rindex("}") + 1
    data = f"matrix = {{ data = {matrix.tolist()} }}"
    example.job.write_text(text[:start] + data + text[end:])
    state = example.run(workers, servers, seed)
    values, vectors = np.linalg.eigh(matrix)
    assert state["scalars"]["eigenvalue"] == pytest.approx(values[-1], abs=1e-9)
    vector = example.saved("eigenvector")
    np.testing.assert_allclose(np.abs(vector @ vectors[:, -1]), 1.0, atol=1e-9)
