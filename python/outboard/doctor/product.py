"""Checks all parts together: sends one product through the library to a daemon and back."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from outboard import counters, paths
from outboard.doctor.finding import Finding, note, ok, problem
from outboard.settings import Settings, without_library

_TIMEOUT_S = 60.0
_SIZE = 512
# The preloaded library is first in the global scope, so this dgemm_ is the library's. The BLAS
# behind it is opened into the same scope, where the library looks for the original.
_PROGRAM = f"""
import ctypes, sys
for name in ("libblas.so.3", "libopenblas.so.0", "libblis.so.4", "libmkl_rt.so.2"):
    try:
        ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
        break
    except OSError:
        pass
else:
    sys.exit(3)
n = {_SIZE}
a, b, c = ((ctypes.c_double * (n * n))() for _ in range(3))
for i in range(n):
    a[i * n + i] = 2.0
    b[i * n + (i + 1) % n] = i + 1.0
char, size, real = ctypes.c_char, ctypes.byref(ctypes.c_int(n)), ctypes.c_double
none = ctypes.byref(char(b"N"))
ctypes.CDLL(None).dgemm_(none, none, size, size, size, ctypes.byref(real(1)), a, size, b, size,
                         ctypes.byref(real(0)), c, size)
sys.exit(0 if all(c[i * n + (i + 1) % n] == 2.0 * (i + 1) for i in range(n)) else 4)
"""


def check(
    address: str, native: paths.Native, key: Path | None, environment: Mapping[str, str]
) -> Finding:
    """Runs a dgemm in mode `remote`, as a program under `outboard run` calls it."""
    with tempfile.TemporaryDirectory(prefix="outboard-doctor-") as folder:
        link = Path(folder) / native.preload.name  # LD_PRELOAD takes no path with a blank
        link.symlink_to(native.preload)
        settings = Settings(mode="remote", servers=(address,), report=f"dir:{folder}")
        ours = {**without_library(environment), **settings.variables(link, {})}
        if key:
            ours["OUTBOARD_KEY"] = str(key)
        try:
            status = subprocess.run(
                [sys.executable, "-c", _PROGRAM],
                env=ours,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT_S,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            text = f"a product did not come back within {_TIMEOUT_S:.0f} s"
            return problem(address, text, "see the daemon's log")
        processes, _ = counters.read_folder(Path(folder))
    if status == 3:
        return note(address, "no product was tried (no BLAS library is installed)")
    return judge(address, status, processes)


def judge(address: str, status: int, processes: list[counters.Process]) -> Finding:
    """Judges the program's status and the library's counters."""
    if status != 0:
        why = "gave a wrong result" if status == 4 else f"ended with status {status}"
        return problem(address, f"a product through the library {why}", "please report this")
    rows = [r for r in counters.merged(processes) if r.name == "dgemm"]
    if rows and rows[0].remote:
        return ok(address, f"a product (n = {_SIZE}) through the library went there and back")
    why = "; ".join(p.notice for p in processes if p.notice) or "the library does not say why"
    text = f"a product through the library stayed local: {why}"
    return problem(
        address, text, "correct what is wrong above; `outboard report` shows such notices"
    )
