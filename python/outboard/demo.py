"""The examples of `outboard demo`: runs them locally and remotely, and compares the results."""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from outboard.errors import OutboardError
from outboard.settings import without_library

# Local and remote results may differ by rounding only: sums of n products differ by up to
# n * eps relative to the largest element (Higham, section 3.1); n is about 1e4 in the examples.
TOLERANCE = 1e-10
OUTPUT_VARIABLE = "OUTBOARD_EXAMPLE_OUTPUT"


@dataclass(frozen=True)
class Example:
    """A program that writes its results, as float64 numbers, to OUTBOARD_EXAMPLE_OUTPUT."""

    title: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """The largest difference between two results, and the largest element of the first."""

    elements: int
    largest: float
    scale: float

    @property
    def relative(self) -> float:
        return self.largest / self.scale if self.scale else self.largest

    @property
    def only_rounding(self) -> bool:
        return self.elements > 0 and self.relative <= TOLERANCE

    def line(self) -> str:
        verdict = "rounding only" if self.only_rounding else "THE RESULTS DIFFER"
        return (
            f"largest difference {self.largest:.3g} in {self.elements} numbers up to "
            f"{self.scale:.3g} (relative {self.relative:.2g}): {verdict}"
        )


def examples(root: Path, build: Path) -> list[Example]:
    """Returns the two examples that need only the packages of the launcher."""
    return [
        Example(
            "NumPy from pip, unmodified: examples/numpy_products.py",
            (sys.executable, str(root / "examples" / "numpy_products.py")),
        ),
        Example(
            "a C program with FFTW, unmodified: examples/fft_c",
            (str(build / "examples" / "example_fft"),),
        ),
    ]


def run_locally(example: Example, output: Path) -> None:
    """Runs the example without Outboard, as a user would. Its output is not shown."""
    result = subprocess.run(
        example.command,
        env={**without_library(os.environ), OUTPUT_VARIABLE: str(output)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode != 0:
        sys.stderr.write(result.stdout + result.stderr)
        raise OutboardError(
            f"{Path(example.command[-1]).name} fails without Outboard already (status "
            f"{result.returncode}); its output is above"
        )


@contextlib.contextmanager
def output_to(file: Path) -> Iterator[None]:
    """Passes the name of `file` to the examples that are started inside the block."""
    os.environ[OUTPUT_VARIABLE] = str(file)
    try:
        yield
    finally:
        del os.environ[OUTPUT_VARIABLE]


def compare(expected: Path, actual: Path) -> Difference:
    """Compares each element as float64. A NaN on one side only is an infinite difference."""
    left, right = _numbers(expected), _numbers(actual)
    if len(left) != len(right):
        raise OutboardError(f"the results have {len(left)} and {len(right)} numbers")
    largest = scale = 0.0
    for a, b in zip(left, right, strict=True):
        difference = abs(a - b)
        if math.isnan(difference) and not (math.isnan(a) and math.isnan(b)):
            difference = math.inf
        largest = max(largest, difference)
        scale = max(scale, abs(a))
    return Difference(len(left), largest, scale)


def _numbers(file: Path) -> array[float]:
    numbers = array("d")
    try:
        numbers.frombytes(file.read_bytes())
    except (OSError, ValueError) as error:
        raise OutboardError(f"the example left no usable result ({error})") from error
    return numbers
