"""The fixtures of the tests of outboard.device: devices of all backends in this process, and the
processor behind daemons over shared memory, TCP and TLS."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outboard import device, keys, paths

CANNOT = (2, 10)  # unsupported and unavailable: software or an accelerator is missing
TYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture(scope="module")
def generator() -> Any:
    import numpy as np

    seed = int(os.environ.get("OUTBOARD_TEST_SEED", secrets.randbits(32)))
    print(f"seed: OUTBOARD_TEST_SEED={seed}")
    return np.random.default_rng(seed)


def make_keys(folder: Path) -> None:
    """Writes the keys of a daemon and of a client that may run kernels."""
    pool = keys.make_pool("pool", 1)
    for role in (keys.CLIENT, keys.DAEMON):
        right = "portable" if role == keys.CLIENT else None
        keys.write(folder, role, keys.make_member(pool, role, role, 1, kernels=right))
    keys.write_certificate(folder, keys.POOL, pool.certificate)


Daemon = subprocess.Popen[str]


@contextlib.contextmanager
def serve(native: paths.Native, place: str, folder: Path) -> Iterator[tuple[str, Daemon]]:
    """Runs a daemon, and yields the name of its device and the process. Keys for TLS are in
    `folder`."""
    address = f"unix:{folder / 'socket'}" if place == "shm" else "127.0.0.1:0"
    command = [str(native.daemon), "--backend", "cpu", "--listen", address]
    if place == "tls":
        command += ["--key", str(folder)]
    elif place == "tcp":
        command += ["--kernels-without-key", "portable"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as daemon:
        assert daemon.stdout is not None
        line = daemon.stdout.readline()
        yield line.removeprefix("listening on ").strip(), daemon
        daemon.terminate()


def _is_stopped(thread: Path) -> bool:
    # proc(5): the state follows the name, which may hold anything.
    return (thread / "stat").read_text().rpartition(")")[2].split()[0] in "Tt"


@contextlib.contextmanager
def stopped(daemon: Daemon) -> Iterator[None]:
    daemon.send_signal(signal.SIGSTOP)
    try:
        # On a busy machine, threads go on for a while after the signal was sent.
        end = time.monotonic() + 20
        while not all(map(_is_stopped, Path(f"/proc/{daemon.pid}/task").iterdir())):
            assert time.monotonic() < end, "the daemon does not stop"
            time.sleep(0.001)
        yield
    finally:
        daemon.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def local(native: paths.Native, name: str) -> Iterator[str]:
    """Yields the name of a device of this process. Skips the tests if it cannot be opened."""
    with pytest.MonkeyPatch.context() as patch:
        # The cuda backend runs on the stand-in for CUDA, unless the environment names a folder.
        if "OUTBOARD_CUDA_PATH" not in os.environ:
            patch.setenv("OUTBOARD_CUDA_PATH", str(native.root / "standin_cuda"))
        if "POCL_CACHE_DIR" not in os.environ:
            patch.setenv("POCL_CACHE_DIR", str(native.root / "pocl"))
        try:
            device.open(name).close()
        except device.DeviceError as failure:
            if failure.code not in CANNOT:
                raise
            pytest.skip(str(failure))
        yield name


@pytest.fixture(
    scope="module", params=["local:cpu", "local:opencl", "local:cuda", "shm", "tcp", "tls"]
)
def pair(
    request: pytest.FixtureRequest, native: paths.Native, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """Yields the names of two devices of one kind, and starts their daemons."""
    assert (native.root / "lib" / "liboutboard.so.1").exists(), "the device API is not built"
    if request.param.startswith("local:"):
        with local(native, request.param) as name:
            yield name, name
        return
    folders = [tmp_path_factory.mktemp("daemon") for _ in range(2)]
    with contextlib.ExitStack() as stack:
        if request.param == "tls":
            make_keys(folders[0])
            folders[1] = folders[0]
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setenv("OUTBOARD_KEY", str(folders[0]))
        first, second = (
            stack.enter_context(serve(native, request.param, folder))[0] for folder in folders
        )
        yield first, second


@pytest.fixture(scope="module")
def where(pair: tuple[str, str]) -> str:
    """Returns the name of a device."""
    return pair[0]


@pytest.fixture
def gpu(where: str) -> Iterator[device.Device]:
    with device.open(where) as opened:
        yield opened


def random_array(generator: Any, shape: tuple[int, ...], dtype: str) -> Any:
    numbers = generator.uniform(-1, 1, shape)
    if dtype.startswith("complex"):
        numbers = numbers + 1j * generator.uniform(-1, 1, shape)
    return numbers.astype(dtype)
