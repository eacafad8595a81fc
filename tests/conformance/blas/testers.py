"""Runs the testers of the reference BLAS and CBLAS (libblas-test) under the drop-in library.

Every verdict must equal the one of a native run. In mode remote, a large part of each routine's
calls must go out. Sizes and scalars of 0 are frequent in the testers, and such calls have nothing
to send. Level 3 runs with the library as shipped. Levels 1 and 2 (--vector) run with the library
for tests, which exports them as well.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import pathlib
import re
import subprocess
import tempfile

import harness
from harness import MissingError, Outcome, Suite, Way, expect

PASSED = re.compile(
    r"^\s*(?:cblas_)?(\w+)\s+PASSED THE .*COMPUTATIONAL TESTS \(\s*(\d+) CALLS\)", re.M | re.I
)
VERDICT = re.compile(r"^.*(?:PASS|FAIL|FATAL|SUSPECT|\*{5,}|Test of subprogram).*$", re.MULTILINE)
# The testers link these routines, but do not call them.
UNCALLED = {"xscblat1": {"scasum", "scnrm2"}, "xdcblat1": {"dzasum", "dznrm2"}}
# Fortran's runtime prints this at the end. The error exits of level 2 pass scalars that are not
# set. The drop-in library reads them, and the native one does not. They may hold any number.
SIGNALLING = "Note: The following floating-point exceptions are signalling:"
# Each call runs on several devices, whose memory holds only a part of the larger operands.
SPLIT = Way("split over shm", "remote", "shm")
SPLIT_TCP = Way("split over tcp", "remote", "tcp")
# The device computes one half of each gemm, and the library the other half, at the same time.
SHARED = Way("shared over shm", "remote", "shm")
# gemm: sizes of 0 leave (5/6)^3 of the calls, and alpha = 0 leaves two thirds of those: 0.386 in
# all. Other routines keep more. CBLAS, level 2: row-major calls with Hermitian matrices stay local.
LEAST_SHARE = {3: 0.3, 2: 0.2, 1: 0.5}


@functools.cache
def folder() -> pathlib.Path:
    for path in pathlib.Path("/usr/lib").glob("*/blas/xblat3d"):
        return path.parent
    raise MissingError("the testers are not installed (package libblas-test)")


@dataclasses.dataclass(frozen=True)
class Tester:
    level: int
    fortran: bool
    precision: str

    @property
    def title(self) -> str:
        return f"{'Fortran' if self.fortran else 'CBLAS'} level {self.level}, {self.precision}"

    @property
    def path(self) -> pathlib.Path:
        p, level = self.precision, self.level
        return folder() / (f"xblat{level}{p}" if self.fortran else f"x{p}cblat{level}")

    @property
    def source(self) -> str | None:
        """Returns the input file of the tester. Level 1 reads nothing."""
        p, level = self.precision, self.level
        name = f"{p}blat{level}.in" if self.fortran else f"{p}in{level}"
        return str(folder() / name) if level > 1 else None

    def input(self, sizes: list[int], work: pathlib.Path) -> str | None:
        """Makes the tester's input with other values of N, up to 65, and only the last alpha and
        beta."""
        if self.source is None or not sizes:
            return self.source
        text = pathlib.Path(self.source).read_text()
        for name in ("N", "ALPHA", "BETA"):
            pattern = rf"^\d+(\s+NUMBER OF VALUES OF {name}\s*\n)(.*\S)(\s+VALUES OF {name})\b"
            found = re.search(pattern, text, re.MULTILINE)
            if found is None:
                raise harness.CheckError(f"{self.source} names no values of {name}")
            values = [str(n) for n in sizes] if name == "N" else found[2].split()[-1:]
            new = f"{len(values)}{found[1]}{' '.join(values)}{found[3]}"
            text = text[: found.start()] + new + text[found.end() :]
        path = work / "input"
        path.write_text(text)
        return str(path)

    @functools.cached_property
    def routines(self) -> set[str]:
        """Returns the routines of the table that the tester links, by their names in the
        counters."""
        command = ["nm", "--dynamic", "--undefined-only", str(self.path)]
        try:
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        except FileNotFoundError:
            raise MissingError("nm is not installed (package binutils)") from None
        pattern = r"\b(\w+)_$" if self.fortran else r"\bcblas_(\w+?)(?:_sub)?$"
        rows = harness.table_rows()
        names = set(re.findall(pattern, text, re.MULTILINE)) - UNCALLED.get(self.path.name, set())
        return {name for name in names if name in rows and rows[name].level == self.level}

    def run(self, suite: Suite, way: Way | None, server: str) -> Outcome:
        """Returns the tester's stdout together with the result file that it writes."""
        # Only the reference library has the data symbols that the CBLAS testers share with it.
        extra = {} if self.fortran else {"LD_LIBRARY_PATH": str(folder())}
        if way and self.level < 3 and not suite.bench.native:
            extra["LD_PRELOAD"] = str(testing_library(suite))
        if way is SHARED:
            extra["OUTBOARD_SHARE"] = "0.5"
        if way in (SPLIT, SPLIT_TCP):
            extra["OUTBOARD_DEVICES"] = f"always:{suite.arguments.devices}"
        with tempfile.TemporaryDirectory(prefix="ob-blas-") as work:
            outcome = suite.bench.run(
                [str(self.path)],
                way.mode if way else None,
                server,
                extra=extra,
                cwd=work,
                stdin=self.input(suite.arguments.sizes, pathlib.Path(work)),
                # the stand-in for CUDA passes each step from thread to thread
                timeout_s=(5 if suite.arguments.backend == "cuda" else 1)
                * harness.DEFAULT_TIMEOUT_S,
            )
            for path in sorted(pathlib.Path(work).glob("*.out")):
                outcome.stdout += path.read_text(errors="replace")
        return outcome.expect_ok()


def testing_library(suite: Suite) -> pathlib.Path:
    path = suite.bench.preload.with_name("liboutboard-preload-testing.so")
    expect(path.exists(), f"{path} does not exist; build the target outboard_preload_testing")
    return path


def compare(suite: Suite, tester: Tester, way: Way, server: str) -> None:
    native = tester.run(suite, None, "")
    wanted = VERDICT.findall(native.stdout)
    expect(len(wanted) >= 12, f"the native tester says too little: {wanted}")
    outcome = tester.run(suite, way, server)
    verdicts = VERDICT.findall(outcome.stdout)
    expect(verdicts == wanted, "differs from the native run:\n" + outcome.stdout[-4000:])
    said = {line for line in outcome.stderr.splitlines() if not line.startswith(SIGNALLING)}
    new = said - set(native.stderr.splitlines())
    expect(not new, "new lines on stderr:\n" + "\n".join(sorted(new)))
    if way.mode == "off":
        outcome.expect_none_out()
    if way.remote:
        expect_gone_out(tester, outcome)
    if way in (SPLIT, SPLIT_TCP) and suite.arguments.devices > 1:
        several, out = outcome.total("*", "several"), outcome.total("*")
        # an edge of 1 cannot be cut
        expect(several > out / 2, f"{several} of {out} calls were split")


def expect_gone_out(tester: Tester, outcome: Outcome) -> None:
    expect(len(tester.routines) >= 5, f"too few supported routines: {sorted(tester.routines)}")
    share = LEAST_SHARE[tester.level]
    calls: collections.Counter[str] = collections.Counter()
    for name, count in PASSED.findall(outcome.stdout):
        calls[name.lower()] += int(count)
    if tester.level > 1:  # level 1 does not print the number of its calls
        silent = sorted(tester.routines - calls.keys())
        expect(not silent, f"the tester says nothing about {silent}")
    outcome.expect_out({name: max(1, int(share * calls[name])) for name in tester.routines})
    outcome.expect_shares_out(dict.fromkeys(tester.routines, share))


def body(suite: Suite) -> None:
    folder()
    for level in (1, 2) if suite.arguments.vector else (3,):
        for fortran in (True,) if suite.arguments.fortran else (True, False):
            for precision in suite.arguments.precisions:
                tester = Tester(level, fortran, precision)
                run = functools.partial(compare, suite, tester)
                suite.each_way(
                    tester.title,
                    run,
                    ways(suite, tester),
                    daemon_options(suite),
                    suite.arguments.backend,
                )


def daemon_options(suite: Suite) -> list[str]:
    given = suite.arguments
    options = {
        "--devices": given.devices,
        "--device-memory": given.device_memory,
    }
    return [text for name, value in options.items() if value for text in (name, str(value))]


def ways(suite: Suite, tester: Tester) -> list[Way]:
    """Returns the ways to run. Whole calls go over TCP only on request: it takes about twice the
    time for the same commands. Split calls of Fortran go over shared memory, those of CBLAS over
    TCP, and on request both go both ways."""
    if suite.arguments.devices:
        if suite.arguments.all:
            return [SPLIT, SPLIT_TCP]
        return [SPLIT if tester.fortran or suite.arguments.backend != "cpu" else SPLIT_TCP]
    if suite.arguments.backend != "cpu":
        return [way for way in harness.WAYS if way.remote and way.transport == "shm"]
    usual = [way for way in harness.WAYS if way.transport != "tcp" or suite.arguments.all]
    return usual if suite.arguments.vector else [*usual, SHARED]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="each over shm and tcp")
    parser.add_argument("--fortran", action="store_true", help="without CBLAS")
    parser.add_argument("--vector", action="store_true", help="levels 1 and 2")
    parser.add_argument(
        "--backend", default="cpu", help="of the daemon; other than cpu: only what goes out to it"
    )
    parser.add_argument("--precisions", default="sdcz", help="of the testers, all by default")
    parser.add_argument("--devices", type=int, help="split each call over so many")
    parser.add_argument("--device-memory", help="of each of them")
    parser.add_argument("--sizes", type=int, nargs="*", default=[], help="other values of N")


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), body)
