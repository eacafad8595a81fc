"""Runs batches of gemm through CBLAS: a C program linked to a NumPy wheel's OpenBLAS, which has
them."""

from __future__ import annotations

import pathlib
import subprocess
import tempfile

import harness
from harness import CheckError, Suite, Way, expect

PROGRAM = pathlib.Path(__file__).parent / "programs" / "gemm_batch.c"


def wheel_library(suite: Suite) -> pathlib.Path:
    venv = suite.bench.build / "venvs" / "numpy2"
    found = sorted(venv.glob("lib/python*/site-packages/numpy.libs/libscipy_openblas64_*.so"))
    expect(len(found) == 1, f"{venv} has no NumPy with OpenBLAS; see end_to_end.venv_numpy2")
    return found[0]


def build(library: pathlib.Path, folder: str) -> str:
    program = str(pathlib.Path(folder, "gemm_batch"))
    command = ["cc", "-O2", "-std=gnu11", str(PROGRAM), str(library), "-lm", "-o", program]
    command += [f"-Wl,-rpath,{library.parent}", "-Wl,--allow-shlib-undefined"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise CheckError(f"{' '.join(command)} failed:\n{done.stderr}")
    return program


def body(suite: Suite) -> None:
    library = wheel_library(suite)
    with tempfile.TemporaryDirectory(prefix="ob-batches-") as folder:
        program = build(library, folder)

        def check(way: Way, server: str) -> None:
            command = [program, str(suite.bench.seed)]
            outcome = suite.bench.run(command, way.mode, server).expect_ok()
            expect(outcome.stdout == "ok\n", f"it said {outcome.stdout!r}")
            if way.remote:
                # A batch counts as one call.
                outcome.expect_out({"dgemm": 4, "zgemm": 2})
            elif way.mode == "off":
                outcome.expect_none_out()

        suite.each_way("batches", check)


if __name__ == "__main__":
    harness.main(Suite(__doc__), body)
