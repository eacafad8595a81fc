"""Runs programs of all symbol families: NumPy and SciPy (wheels, Debian), Octave, the examples.

Each program runs natively and in every mode. Results must agree, and the calls that the program is
known to make must go out.
"""

from __future__ import annotations

import argparse
import array
import functools
import math
import pathlib
import shutil
import tempfile

import harness
from harness import MissingError, Outcome, Suite, Way, expect

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"
# Two correct libraries differ by rounding, amplified by the condition of the matrices (random, up
# to some 10^4 at these sizes). float32 parts differ by the rounding of float32. The tolerance is
# relative to the norm of each output file as a whole.
TOLERANCE = 1e-5


def numbers(path: pathlib.Path) -> array.array[float]:
    values = array.array("d")
    values.frombytes(path.read_bytes())
    return values


def distance(one: array.array[float], other: array.array[float]) -> float:
    expect(len(one) == len(other) > 0, f"{len(one)} and {len(other)} numbers were written")
    norm = math.sqrt(sum(x * x for x in one))
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(one, other, strict=True))) / norm


class Subject:
    """A program that writes its results to a file, with the calls that it is known to make."""

    def __init__(
        self,
        suite: Suite,
        name: str,
        command: list[str],
        least: dict[str, int],
        file_argument: bool = False,
    ) -> None:
        self.suite, self.name, self.command, self.least = suite, name, command, least
        self.file_argument = file_argument

    def run(self, mode: str | None, server: str) -> tuple[Outcome, array.array[float]]:
        with tempfile.TemporaryDirectory(prefix="ob-results-") as folder:
            path = pathlib.Path(folder, "results")
            command = [word if word != "RESULTS" else str(path) for word in self.command]
            extra = {} if self.file_argument else {"OUTBOARD_EXAMPLE_OUTPUT": str(path)}
            outcome = self.suite.bench.run(command, mode, server, extra=extra).expect_ok()
            return outcome, numbers(path)

    @functools.cached_property
    def native(self) -> tuple[Outcome, array.array[float]]:
        return self.run(None, "")

    def check(self, way: Way, server: str) -> None:
        native, want = self.native
        outcome, got = self.run(way.mode, server)
        # Some interpreters write to stderr by themselves.
        outcome.expect_stderr_lines(len(native.stderr.splitlines()))
        expect(
            distance(want, got) <= TOLERANCE,
            f"results differ from the native ones by {distance(want, got):.1e}",
        )
        if way.mode == "off":
            outcome.expect_none_out()
        if way.remote:
            outcome.expect_out(self.least)


def python_subject(suite: Suite, name: str, python: str, has_scipy: bool = True) -> Subject:
    numpy_calls = {
        "dgemm": 2,
        "zgemm": 2,
        "dgesv": 1,
        "zgesv": 1,
        "dgetrf": 1,
        "zgetrf": 1,
        "dpotrf": 1,
        "zpotrf": 1,
    }
    numpy_calls |= {"sgemm": 1}
    scipy_calls = {
        "dgemm": 3,
        "zgemm": 3,
        "dgetrf": 2,
        "zgetrf": 2,
        "dgetrs": 1,
        "zgetrs": 1,
        "dpotrf": 2,
        "zpotrf": 2,
    }
    scipy_calls |= {"dpotrs": 1, "zpotrs": 1, "dtrsm": 1, "ztrsm": 1}
    command = [python, str(HERE / "programs" / "linalg_families.py"), "RESULTS"]
    return Subject(
        suite, name, command, numpy_calls | (scipy_calls if has_scipy else {}), file_argument=True
    )


def venv_python(suite: Suite, name: str) -> str:
    path = suite.bench.build / "venvs" / name / "bin" / "python"
    expect(path.exists(), f"{path} does not exist; see end_to_end.venv_{name}")
    return str(path)


def wheels(suite: Suite, name: str) -> list[Subject]:
    python = venv_python(suite, name)
    script = str(EXAMPLES / "numpy_products.py")
    return [
        python_subject(suite, f"{name} wheels", python),
        Subject(
            suite,
            f"examples/numpy_products.py on {name}",
            [python, script, "200", "300"],
            {"dgemm": 2, "zgemm": 2, "dgesv": 2, "dpotrf": 2},
        ),
    ]


def debian(suite: Suite) -> list[Subject]:
    python = "/usr/bin/python3"
    if not pathlib.Path("/usr/lib/python3/dist-packages/numpy").is_dir():
        raise MissingError("Debian's NumPy is not installed (package python3-numpy)")
    scipy = pathlib.Path("/usr/lib/python3/dist-packages/scipy").is_dir()
    return [
        python_subject(suite, "Debian's NumPy" + (" and SciPy" if scipy else ""), python, scipy)
    ]


def octave(suite: Suite) -> list[Subject]:
    program = shutil.which("octave-cli") or shutil.which("octave")
    if not program:
        raise MissingError("Octave is not installed (package octave)")
    command = [program, "--no-init-file", "--quiet", str(EXAMPLES / "octave_solve.m"), "200"]
    return [
        Subject(
            suite,
            "examples/octave_solve.m",
            command,
            {"dgemm": 1, "dgetrf": 1, "dgetrs": 1, "dpotrf": 1, "fftw*": 2},
        )
    ]


def compiled(suite: Suite) -> list[Subject]:
    found = []
    for program, sizes, least in (
        ("example_fft", ["30000", "200"], {"fftw*": 4}),
        ("example_fortran", ["300"], {"dgemm": 1, "dgesv": 1}),
    ):
        path = suite.bench.build / "examples" / program
        if path.exists():
            found.append(Subject(suite, program, [str(path), *sizes], least))
    if not found:
        raise MissingError("neither FFTW nor a Fortran compiler was there at build time")
    return found


def processes(suite: Suite, python: str) -> None:
    """Checks multiprocessing: children end with _exit, and the parent is connected before."""

    def run(way: Way, server: str) -> None:
        outcome = suite.bench.run(
            [python, str(HERE / "programs" / "processes.py")], way.mode, server
        )
        outcome.expect_ok().expect_stderr_lines(0)
        if way.mode == "off":
            outcome.expect_none_out()
        if way.remote:
            outcome.expect_out({"dgemm": 26, "dgesv": 26})
            served = [
                report
                for report in outcome.reports
                if any(row["remote"] for row in report.rows.values())
            ]
            expect(
                outcome.native or len(served) >= 3,
                f"{len(served)} processes got calls out\n{outcome.counters()}",
            )

    suite.each_way("multiprocessing", run)


def body(suite: Suite) -> None:
    case = suite.arguments.case
    if case == "processes":
        processes(suite, venv_python(suite, "numpy2"))
        return
    makers = {"debian": debian, "octave": octave, "compiled": compiled}
    subjects = makers[case](suite) if case in makers else wheels(suite, case)
    for subject in subjects:
        suite.each_way(subject.name, subject.check)


CASES = ("numpy1", "numpy2", "debian", "octave", "compiled", "processes")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", choices=CASES, required=True)


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), body)
