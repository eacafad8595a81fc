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


def starts(extents: list[int]) -> list[int]:
    return [0, *np.cumsum(extents).tolist()]


def filled(first: Any, *dimensions: list[int]) -> Array:
    """Returns an array whose blocks count up from `first(segment numbers from 1)` column by
    column."""
    whole = np.zeros([sum(extents) for extents in dimensions])
    for segments in np.ndindex(*map(len, dimensions)):
        shape = [extents[s] for extents, s in zip(dimensions, segments, strict=True)]
        block = first(*(s + 1 for s in segments)) + np.arange(np.prod(shape))
        place = tuple(
            slice(starts(extents)[s], starts(extents)[s + 1])
            for extents, s in zip(dimensions, segments, strict=True)
        )
        whole[place] = block.reshape(shape, order="F")
    return whole


SEGMENTS = [3, 2, 4]


@pytest.mark.parametrize(("workers", "servers"), RANKS)
def test_contraction_small(
    native: paths.Native, tmp_path: Path, seed: int, workers: int, servers: int
) -> None:
    example = Example(native, tmp_path, "contraction_small", "contraction_small.sial")
    total = example.run(workers, servers, seed)["statics"]["total"]
    cyclic = lambda array: (array - 1) % 20 + 1  # noqa: E731
    a = cyclic(filled(lambda *_: 1, SEGMENTS, SEGMENTS, SEGMENTS, SEGMENTS))
    b = cyclic(filled(lambda *_: 1, SEGMENTS, SEGMENTS))
    got = np.array(total["data"]).reshape(total["shape"], order="F")
    np.testing.assert_array_equal(got, np.einsum("ijkl,jk->il", a, b))


@pytest.mark.parametrize(("workers", "servers"), RANKS)
def test_ladder(
    native: paths.Native, tmp_path: Path, seed: int, workers: int, servers: int
) -> None:
    example = Example(native, tmp_path, "ladder", "ladder.sial")
    example.run(workers, servers, seed)
    ao = (SEGMENTS,) * 4
    integrals = filled(lambda p, q, r, s: 0.001 * (p + 2 * q - r - 2 * s), *ao)
    t = filled(lambda p, i, r, j: 0.01 * (3 * p - i + r * j), SEGMENTS, [2, 1], SEGMENTS, [2, 1])
    expected = np.einsum("pmqn,piqj->minj", integrals, t)
    np.testing.assert_allclose(example.saved("ladder1"), expected, rtol=1e-12)
    np.testing.assert_allclose(example.saved("ladder2"), expected.transpose(2, 3, 0, 1), rtol=1e-12)


@pytest.mark.parametrize(("workers", "servers"), RANKS)
def test_triangular(
    native: paths.Native, tmp_path: Path, seed: int, workers: int, servers: int
) -> None:
    example = Example(native, tmp_path, "triangular", "triangular.sial")
    example.run(workers, servers, seed)
    whole = filled(lambda i, j: i - 2 * j, SEGMENTS, SEGMENTS)
    segment = np.repeat(range(len(SEGMENTS)), SEGMENTS)
    upper = np.where(segment[:, None] < segment, whole, 0.0)
    diagonal = np.where(segment[:, None] == segment, whole, 0.0)
    symmetric_matrix = upper + upper.T + diagonal + diagonal.T
    x = filled(lambda i: i, SEGMENTS)
    np.testing.assert_array_equal(example.saved("y"), symmetric_matrix @ x)


@pytest.mark.parametrize(("workers", "servers"), RANKS)
def test_parts(native: paths.Native, tmp_path: Path, seed: int, workers: int, servers: int) -> None:
    example = Example(native, tmp_path, "parts", "parts.sial")
    example.run(workers, servers, seed)
    # Segments of 3, 2 and 4 elements in at most 3 parts, the longer parts first.
    part = np.array([1, 2, 3, 1, 2, 1, 1, 2, 3])
    sign = np.where((part[:, None] + part) % 2 == 1, -1.0, 1.0)
    expected = sign * filled(lambda i, j: 10 * i + j, SEGMENTS, SEGMENTS)
    np.testing.assert_array_equal(example.saved("chessboard"), expected)


@pytest.mark.parametrize(("workers", "servers"), RANKS)
def test_sections(
    native: paths.Native, tmp_path: Path, seed: int, workers: int, servers: int
) -> None:
    example = Example(native, tmp_path, "sections", "sections.sial")
    state = example.run(workers, servers, seed)
    total = sum(np.sum((np.arange(n**2) + 2.0) ** 2) for n in SEGMENTS)
    assert state["scalars"]["total"] == total


@pytest.mark.parametrize(("workers", "servers"), RANKS)
def test_large(native: paths.Native, tmp_path: Path, seed: int, workers: int, servers: int) -> None:
    example = Example(native, tmp_path, "large", "square.sial")
    report = tmp_path / "report.json"
    state = example.run(workers, servers, seed, "--report", report)
    segment = np.repeat(np.arange(1.0, 7.0), [30, 30, 30, 20, 20, 10])
    a = segment[:, None] + segment
    assert state["scalars"]["total"] == np.sum((a @ a) ** 2)
    peaks = json.loads(report.read_text())[0]["memory"]["servers"]
    assert max(peaks) <= 40 * 1024
