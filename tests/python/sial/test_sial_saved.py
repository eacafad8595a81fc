"""`outboard sial export` and `import`: what jobs have saved, and jobs of the older form."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from test_sial_run import prepare, seed, simulate

from conftest import ROOT, clean_environment
from outboard import paths
from outboard.errors import OutboardError
from outboard.sial_saved import export, read_table

pytestmark = pytest.mark.end_to_end
__all__ = ["seed"]  # a fixture
PROGRAM = """sial p
  predefined int n
  aoindex i = 1:n
  aoindex j = 2:n
  index k = 0:2
  predefined static a[i,j]
  distributed d[j,k,i]
  static s[i,j]
  temp t[j,k,i]
  scalar x
  x = 2.5
  s[i,j] = 0.0
  s = a
  pardo i, j, k
    where i != j
    do_nothing
  endpardo i, j, k
  sip_barrier
  set_persistent x "energy"
  set_persistent s "copy"
  set_persistent d "blocks"
endsial p
"""


def outboard(
    native: paths.Native, *words: object, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root), **variables)
    command = [str(ROOT / "outboard"), "sial", *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture
def saved(native: paths.Native, tmp_path: Path, seed: int) -> tuple[Path, np.ndarray]:
    """A job that has saved a scalar, a static, and a distributed array of rank 3 with holes."""
    random_ = random.Random(seed)
    extents = [random_.randint(1, 4) for _ in range(4)]
    size = sum(extents)
    data = np.array([random_.randint(-9, 9) for _ in range(size**2)], float).reshape(size, size)
    body = "    t[j,k,i] = 0.0\n    execute fill_random t[j,k,i] 7\n    put d[j,k,i] = t[j,k,i]"
    source = PROGRAM.replace("    do_nothing", body)
    source = source.replace("  scalar x\n", "  scalar x\n  special fill_random wrr\n", 1)
    source = source.replace("t[j,k,i] 7", "t[j,k,i] 7.0 1.0").replace("  s[i,j] = 0.0\n", "")
    job = f"""sial_job = 1
programs = ["p.sial"]
[ints]
n = 4
[segments]
ao = {extents}
[arrays]
a = {{ data = {data[:, extents[0] :].tolist()} }}
"""
    made = prepare(tmp_path, source, job)
    done = simulate(native, made, "--workers", 3, "--servers", 2, "--seed", 3)
    assert done.returncode == 0, done.stderr
    return made, data[:, extents[0] :]


def test_export(native: paths.Native, saved: tuple[Path, np.ndarray]) -> None:
    job, data = saved
    listed = outboard(native, "export", job)
    assert listed.returncode == 0, listed.stderr
    rows, columns = data.shape
    assert listed.stdout.splitlines() == [
        f"blocks: {columns} x 3 x {rows}, a distributed array of p",
        f"copy: {rows} x {columns}, a static array of p",
        "energy: 2.5, a scalar of p",
    ]
    for label in ("energy", "copy", "blocks"):
        done = outboard(native, "export", job, label, "-o", job.parent / f"{label}.npy")
        assert done.returncode == 0, done.stderr
    assert np.load(job.parent / "energy.npy") == 2.5
    np.testing.assert_array_equal(np.load(job.parent / "copy.npy"), data)
    blocks = np.load(job.parent / "blocks.npy")
    assert blocks.shape == (columns, 3, rows)
    starts = np.concatenate([[0], np.cumsum(eval_segments(job))])
    for i in range(4):
        for j in range(1, 4):
            part = blocks[
                starts[j] - starts[1] : starts[j + 1] - starts[1], :, starts[i] : starts[i + 1]
            ]
            assert (part == 0).all() if i == j else (part != 0).all(), (i, j)


def eval_segments(job: Path) -> list[int]:
    import tomllib

    return list(tomllib.loads(job.read_text())["segments"]["ao"])


def test_export_as_hdf5(native: paths.Native, saved: tuple[Path, np.ndarray]) -> None:
    import h5py

    job, _ = saved
    table = read_table(job.with_suffix(".state"))
    for label in ("energy", "copy", "blocks"):
        for ending in ("npy", "h5"):
            export(table[label], job.parent / f"{label}.{ending}")
        wanted = np.load(job.parent / f"{label}.npy")
        with h5py.File(job.parent / f"{label}.h5") as file:
            assert list(file) == [label]
            np.testing.assert_array_equal(file[label][()], wanted)


def test_export_as_hdf5_needs_h5py(
    native: paths.Native, saved: tuple[Path, np.ndarray], tmp_path: Path
) -> None:
    job, _ = saved
    (tmp_path / "h5py.py").write_text("raise ImportError")
    to = job.parent / "copy.h5"
    done = outboard(native, "export", job, "copy", "-o", to, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "files of HDF5 need h5py" in done.stderr
    assert not to.exists()


def test_export_of_what_is_not_there(native: paths.Native, saved: tuple[Path, np.ndarray]) -> None:
    job, _ = saved
    done = outboard(native, "export", job, "energie")
    assert done.returncode == 2
    assert "nothing is saved as 'energie' (there are: blocks, copy, energy)" in done.stderr
    done = outboard(native, "export", job, "--state", job.parent / "other")
    assert done.returncode == 1
    assert "nothing is saved in" in done.stderr


def test_export_of_damaged_blocks(saved: tuple[Path, np.ndarray], seed: int) -> None:
    job, _ = saved
    blocks = read_table(job.with_suffix(".state"))["blocks"]
    to = job.parent / "blocks.npy"
    for path in blocks.files:
        whole = path.read_bytes()
        for _ in range(20):
            bit = random.Random(seed).randrange(8 * len(whole))
            seed += 1
            bytes_ = bytearray(whole)
            bytes_[bit // 8] ^= 1 << bit % 8
            if 12 <= bit // 8 < 16:
                continue  # reserved
            path.write_bytes(bytes_)
            with pytest.raises(OutboardError, match=str(path)):
                export(blocks, to)
            assert not to.exists()
        path.write_bytes(whole[: len(whole) - 1])
        with pytest.raises(OutboardError):
            export(blocks, to)
        path.write_bytes(whole)
    export(blocks, to)
    assert sorted(os.listdir(job.parent)).count("blocks.npy") == 1
    assert not [name for name in os.listdir(job.parent) if name.startswith(".sial-export")]


def text(value: str) -> bytes:
    data = value.encode() + b"\0"
    return struct.pack("<i", len(data)) + data


def many(items: list[bytes]) -> bytes:
    return struct.pack("<i", len(items)) + b"".join(items)


def ints(values: list[int]) -> bytes:
    return many([struct.pack("<i", value) for value in values])


def test_import_of_an_older_job(native: paths.Native, tmp_path: Path) -> None:
    data = np.arange(36.0).reshape(6, 6)
    old = struct.pack("<ii", 23121991, 1) + many([text("p.sial")])
    old += many([text("N") + struct.pack("<i", 3)])
    old += many([text("Limit") + struct.pack("<d", 0.1)])
    old += many([struct.pack("<i", 1001) + ints([2, 3, 1])])
    elements = many([struct.pack("<d", one) for one in data.ravel(order="F")])
    old += many([text("a") + struct.pack("<i", 2) + ints([6, 6]) + elements])
    old += many([]) + many([])
    (tmp_path / "old.dat").write_bytes(old)
    source = "sial p\n  predefined int n\n  predefined scalar limit\n  aoindex i = 1:n\n"
    source += (
        "  aoindex j = 1:n\n  predefined static a[i,j]\n  scalar x\n  x = 0.0\n  do i\n    do j\n"
    )
    source += "      x += a[i,j] * a[i,j]\n    enddo j\n  enddo i\n  x *= limit\n  print x\n"
    (tmp_path / "p.sial").write_text(source + "endsial p\n")
    done = outboard(native, "import", tmp_path / "old.dat", "-o", tmp_path / "new.toml")
    assert done.returncode == 0, done.stderr
    done = outboard(native, "run", tmp_path / "new.toml")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split("=")[1]) == pytest.approx((data**2).sum() * 0.1, rel=1e-14)
    (tmp_path / "bad.dat").write_bytes(old[:50])
    done = outboard(native, "import", tmp_path / "bad.dat")
    assert done.returncode == 2
    assert not (tmp_path / "bad.toml").exists()
