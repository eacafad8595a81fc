"""The whole programs of `outboard bench programs`, and the interpreters that they need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError
from outboard.settings import without_library

FOLDER = Path(__file__).resolve().parent.parent / "programs"
# Two correct runs differ by rounding, which some thousand calls in a row amplify.
_DOUBLE, _SINGLE = 1e-8, 1e-3
# The Python whose NumPy binds the system's BLAS comes first.
_PYTHONS = ("/usr/bin/python3", sys.executable)
_PROBE_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Program:
    """A program that knows nothing of Outboard. Its output ends with "result NUMBER..."."""

    file: str
    small: int  # its argument in a run of moments
    tolerance: float = _DOUBLE  # the largest relative difference of two good results, in the 2-norm
    modules: tuple[str, ...] = ()  # that Python must have besides numpy

    @property
    def name(self) -> str:
        return self.file.partition(".")[0]


PROGRAMS = (
    Program("mixed_products.py", 80),
    Program("growing_products.py", 64),
    Program("one_product.py", 100),
    Program("small_products.py", 40),
    Program("threaded_products.py", 2),
    Program("gram_matrices.py", 50),
    Program("markov_chain.py", 60),
    Program("newton_inverse.py", 60),
    Program("subspace_iteration.py", 120),
    Program("als.py", 100),
    Program("kalman_filter.py", 4),
    Program("mixed_lapack.py", 64),
    Program("one_solve.py", 100),
    Program("gaussian_process.py", 80, modules=("scipy",)),
    Program("least_squares.py", 100),
    Program("qr_factors.py", 100),
    Program("svd_frames.py", 30),
    Program("self_consistent_field.py", 40),
    Program("band_structure.py", 20),
    Program("frequency_response.py", 40),
    Program("spin_evolution.py", 40),
    Program("network_training.py", 16, _SINGLE),
    Program("nearest_neighbours.py", 100, _SINGLE),
    Program("fft_filter.c", 4096),
    Program("fft_waves.c", 64),
    Program("fft_channels.c", 4, _SINGLE),
    Program("fft_sizes.c", 1600),
    Program("octave_model.m", 60),
    Program("octave_spectra.m", 60),
    Program("regression.R", 40),
)
OF_CHECK = ("mixed_products", "fft_filter")


@dataclass(frozen=True)
class Interpreters:
    """The commands that run programs. `python` is the one of --python, or empty."""

    native: paths.Native
    python: str = ""

    def command(self, program: Program, argument: int | None = None) -> list[str]:
        """Returns the words that run the program. @pre missing(program) is empty"""
        file = str(FOLDER / program.file)
        words = {
            ".py": [self._python, file],
            ".m": [_octave(), "--no-init-file", "--quiet", file],
            ".R": ["Rscript", "--vanilla", file],
            ".c": [str(self._compiled(program))],
        }[Path(file).suffix]
        return words if argument is None else [*words, str(argument)]

    def missing(self, program: Program) -> str:
        """Returns the reason why the program cannot run here ("no Rscript"); empty if it can."""
        suffix = Path(program.file).suffix
        if suffix == ".py":
            if not self._python:
                return "no Python with NumPy"
            lacks = [name for name in program.modules if not has_module(self._python, name)]
            return f"no {lacks[0]} in {self._python}" if lacks else ""
        if suffix == ".c":
            return "" if self._compiled(program).exists() else f"{program.name} is not built"
        if suffix == ".m":
            return "" if _octave() else "no octave-cli"
        return "" if shutil.which("Rscript") else "no Rscript"

    @cached_property
    def _python(self) -> str:
        if self.python:
            if not has_module(self.python, "numpy"):
                raise OutboardError(
                    f"--python {self.python} has no NumPy (or does not start); install it there"
                )
            return self.python
        return next((python for python in _PYTHONS if has_module(python, "numpy")), "")

    def _compiled(self, program: Program) -> Path:
        return self.native.daemon.parent / program.name


def _octave() -> str:
    return shutil.which("octave-cli") or shutil.which("octave") or ""


@cache
def has_module(python: str, name: str) -> bool:
    try:
        done = subprocess.run(
            [python, "-c", f"import {name}"],
            env=without_library(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_PROBE_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
