"""The fixtures of the tests of outboard.device: a device on the processor of this process, and
behind a daemon over shared memory and TCP."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from outboard import device, paths

TYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture(scope="module")
def generator() -> Any:
    np = pytest.importorskip("numpy")
    seed = int(os.environ.get("OUTBOARD_TEST_SEED", secrets.randbits(32)))
    print(f"seed: OUTBOARD_TEST_SEED={seed}")
    return np.random.default_rng(seed)


@pytest.fixture(scope="module", params=["local", "shm", "tcp"])
def where(
    request: pytest.FixtureRequest, native: paths.Native, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Yields the name of a device, and starts its daemon."""
    assert (native.root / "lib" / "liboutboard.so.1").exists(), "the device API is not built"
    if request.param == "local":
        yield "local:cpu"
        return
    folder = tmp_path_factory.mktemp("daemon")
    address = "127.0.0.1:0" if request.param == "tcp" else f"unix:{folder / 'socket'}"
    command = [str(native.daemon), "--backend", "cpu", "--listen", address]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as daemon:
        assert daemon.stdout is not None
        line = daemon.stdout.readline()
        yield line.removeprefix("listening on ").strip()
        daemon.terminate()


@pytest.fixture
def gpu(where: str) -> Iterator[device.Device]:
    with device.open(where) as opened:
        yield opened


def random_array(generator: Any, shape: tuple[int, ...], dtype: str) -> Any:
    numbers = generator.uniform(-1, 1, shape)
    if dtype.startswith("complex"):
        numbers = numbers + 1j * generator.uniform(-1, 1, shape)
    return numbers.astype(dtype)
