"""Tests the ports of a CUDA program beside an oracle in plain Python, and whether the CUDA program
compiles where its compiler is.

port_test.py DAEMON C_PROGRAM CXX_PROGRAM SOURCE_FOLDER
"""

from __future__ import annotations

import contextlib
import math
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path

DAEMON, C_PROGRAM, CXX_PROGRAM, SOURCES = sys.argv[1:5]


def expected(n: int, steps: int) -> tuple[float, float]:
    """The sum of squares at the end, and the middle element."""
    u = [0.0] * n
    heater = [1.0 / (1 + i) if n // 4 <= i < n // 2 else 0.0 for i in range(n)]
    for _ in range(steps):
        warm = [a + 0.25 * b for a, b in zip(u, heater, strict=True)]
        padded = [0.0, *warm, 0.0]
        u = [
            padded[i] + 0.25 * (padded[i - 1] - 2.0 * padded[i] + padded[i + 1])
            for i in range(1, n + 1)
        ]
    return math.fsum(x * x for x in u), u[n // 2]


@contextlib.contextmanager
def daemon(folder: str) -> Iterator[list[str]]:
    """Runs a daemon for the block. Yields its addresses: shared memory, TCP."""
    command = [DAEMON, "--exit-with-parent", "--log-level", "warn"]
    command += ["--kernels-without-key", "portable"]
    command += ["--listen", f"unix:{folder}/socket", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().strip() for _ in range(2)]
            yield [line.removeprefix("listening on ") for line in lines]
        finally:
            process.terminate()


class Port(unittest.TestCase):
    def test_results_are_those_of_the_oracle_everywhere(self) -> None:
        with tempfile.TemporaryDirectory() as folder, daemon(folder) as addresses:
            for n, steps in ((1000, 100), (129, 7), (128, 1), (1, 3)):
                energy, middle = expected(n, steps)
                for program in (C_PROGRAM, CXX_PROGRAM):
                    for place in ("local:cpu", *addresses):
                        with self.subTest(program=program, place=place, n=n):
                            found = self.run_program(program, place, str(n), str(steps))
                            # The stencil rounds as the oracle does; the sum has another order.
                            self.assertEqual(found[1], middle)
                            self.assertLessEqual(abs(found[0] - energy), 1e-13 * abs(energy))

    def run_program(self, *command: str) -> list[float]:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [float(word) for word in done.stdout.split()]

    def test_a_missing_device_is_reported_in_one_line(self) -> None:
        for program in (C_PROGRAM, CXX_PROGRAM):
            done = subprocess.run(
                [program, "unix:/nowhere/socket"], capture_output=True, text=True, check=False
            )
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_the_cuda_program_compiles(self) -> None:
        compiler = shutil.which("nvcc")
        if compiler is None:
            self.skipTest("nvcc is not installed")
        with tempfile.TemporaryDirectory() as folder:
            command = [compiler, "-c", f"{SOURCES}/heat.cu", "-o", str(Path(folder) / "heat.o")]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
