"""NVIDIA's headers for a test run. Without them the cuda backend is neither built nor tested."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

# The variables by which cmake/FindCudaHeaders.cmake finds a toolkit itself.
_VARIABLES = ("CUDAToolkit_ROOT", "CUDA_HOME")
_TOOLKIT = Path("/usr/local/cuda")


def provide(root: Path, say: Callable[[str], None]) -> bool:
    """Fetches the headers once into build/cuda, unless a toolkit is installed.

    Without a network the tests still run, but without those of the cuda backend.
    """
    roots = [Path(os.environ[name]) for name in _VARIABLES if os.environ.get(name)]
    if any((folder / "include" / "cublas_v2.h").is_file() for folder in (*roots, _TOOLKIT)):
        return True
    command = [sys.executable, str(root / "tools" / "cuda_headers.py")]
    fetched = subprocess.run(
        [*command, "--into", str(root / "build" / "cuda")], check=False, stdin=subprocess.DEVNULL
    )
    if fetched.returncode != 0:
        say("the cuda backend is left out: its headers could not be fetched (see above)")
    return fetched.returncode == 0
