"""Runs the testers of the reference LAPACK (liblapack-test) under the drop-in library.

They test linear equations, eigenvalues and singular values, packed (RFP) and mixed-precision
routines. Every tester must print the same verdicts as natively (see verdicts.py). In mode remote,
the supported routines that it calls must go out.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import tempfile

import harness
import verdicts
from harness import MissingError, Outcome, Suite, Way, expect

from outboard.doctor import openblas

# lin: the groups whose routines are in the table.
GROUPS = "GE PO SY SR HE TR QR LQ QP LS".split()
# Inputs of the eigenvalue testers; {p} is the precision. Few calls of the other inputs go out.
TELLING = "nep sep svd {p}ed {p}gd {p}sg glm gqr gsv csd lse".split()
OTHERS = "se2 {p}ec {p}gg {p}sb {p}bb {p}bal {p}bak {p}gbal {p}gbak".split()
# Supported routines that a program links but calls for none of these inputs.
UNCALLED = {
    "xlintstds": {"dtrmm"},
    "xlintstzc": {"zsymm", "ztrmm"},
    "xlintstrfc": {"csymm"},
    "xlintstrfz": {"zsymm"},
    "xeigtstc": {"csymm"},
    "xeigtstz": {"zsymm"},
}
# the least share of each supported routine's calls; sizes of 0 and queries stay local
LEAST_SHARE = 0.4
# Factorizations, and the level 3 routines that testers call, run on several devices even if that is
# slower.
SPLIT = Way("split over shm", "remote", "shm")
# Only the routines that work slab by slab if devices have too little memory. The others would not
# fit.
CAPPED = "potrf getrf geqrf posv gesv".split()
TIMEOUT_S = 600.0  # a test that hangs must end; the longest input takes about 20 s
NOTES = 12  # number of lines for one input


@dataclasses.dataclass(frozen=True)
class Program:
    """A tester and its input files."""

    name: str
    inputs: tuple[str, ...]
    precision: str

    @property
    def path(self) -> pathlib.Path:
        return folder() / self.name


@functools.cache
def folder() -> pathlib.Path:
    for path in pathlib.Path("/usr/lib").glob("*/lapack/xlintstd"):
        return path.parent
    raise MissingError("the testers are not installed (package liblapack-test)")


def programs(p: str, everything: bool) -> list[Program]:
    eigen = TELLING + (OTHERS if everything else [])
    found = [
        Program(f"xlintst{p}", (f"{p}test",), p),
        Program(f"xeigtst{p}", tuple(name.format(p=p) for name in eigen), p),
    ]
    if everything:
        found.append(Program(f"xlintstrf{p}", (f"{p}test_rfp",), p))
    if p in "dz":
        low = {"d": "s", "z": "c"}[p]
        found.append(Program(f"xlintst{p}{low}", (f"{p}{low}test",), p))
    return found


def input_text(program: Program, name: str, everything: bool) -> str:
    """Returns the tester's own input. For a quick run it has two block sizes of five, and the
    supported groups."""
    text = (folder() / f"{name}.in").read_text()
    if everything:
        return text
    sizes = r"^5(\s+Number of (?:values of NB|parameter values))"
    text = re.sub(sizes, r"2\1", text, flags=re.MULTILINE)
    if not name.endswith("test"):
        return text
    group = re.compile(rf"^{program.precision.upper()}(\w\w)\b")
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not (m := group.match(line)) or m[1] in GROUPS)


def linked(program: Program) -> set[str]:
    """Returns the routines that the program itself calls, by its dynamic symbols."""
    command = ["nm", "--dynamic", "--undefined-only", str(program.path)]
    try:
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise MissingError("nm is not installed (package binutils)") from None
    return set(re.findall(r"\b(\w+)_$", text, re.MULTILINE))


def run(suite: Suite, program: Program, name: str, way: Way | None, server: str) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="ob-lapack-") as work:
        source = pathlib.Path(work, "input")
        source.write_text(input_text(program, name, suite.arguments.all))
        extra = {"OUTBOARD_DEVICES": f"always:{suite.arguments.devices}"} if way is SPLIT else {}
        if suite.arguments.device_memory:
            extra["OUTBOARD_ROUTINES"] = ",".join(f"?{base}" for base in CAPPED)
        return suite.bench.run(
            [str(program.path)],
            way.mode if way else None,
            server,
            cwd=work,
            stdin=str(source),
            extra=extra,
            timeout_s=TIMEOUT_S,
        ).expect_ok()


class Subject:
    """A program and its native output."""

    def __init__(self, suite: Suite, program: Program) -> None:
        self.suite, self.program = suite, program
        self.native: dict[str, list[verdicts.Record]] = {}
        for name in program.inputs:
            outcome = run(suite, program, name, None, "").expect_stderr_lines(0)
            self.native[name] = verdicts.records(outcome.stdout)
        tests = [r for found in self.native.values() for r in found if r.kind == "tests"]
        total, failed = sum(r.run for r in tests), sum(r.failed for r in tests)
        expect(len(tests) >= 2 and total >= 500, f"{program.name} says too little: {tests}")
        print(f"      {program.name} natively: {total} tests, {failed} failed", flush=True)

    def check(self, way: Way, server: str) -> None:
        wrong: list[str] = []
        reports: list[harness.Report] = []
        for name, native in self.native.items():
            outcome = run(self.suite, self.program, name, way, server).expect_stderr_lines(0)
            result = verdicts.compare(native, verdicts.records(outcome.stdout))
            for note in result.notes[:NOTES]:
                print(f"      {name}.in: {note}", flush=True)
            if len(result.notes) > NOTES:
                print(f"      {name}.in: and {len(result.notes) - NOTES} such lines", flush=True)
            wrong += [f"{name}.in: {line}" for line in result.wrong]
            reports += outcome.reports
        expect(not wrong, "differs from the native run:\n" + "\n".join(wrong[:60]))
        whole = Outcome(0, "", "", reports, self.suite.bench.native)
        if way.mode == "off":
            whole.expect_none_out()
        if way.remote:
            self.expect_gone_out(whole)

    def expect_in_slabs(self, whole: Outcome) -> None:
        """Checks that calls which fit into no memory at once went out, and that panels travelled
        more than once."""
        names = [self.program.precision + base for base in CAPPED]
        called = sorted(linked(self.program) & set(names))
        expect(called == sorted(names), f"{self.program.name} links {called} of {names}")
        whole.expect_shares_out(dict.fromkeys(called, LEAST_SHARE)).expect_out({})
        for name in called:
            there, back = whole.total(name, "bytes_to"), whole.total(name, "bytes_from")
            # all of these return as much as they send if no panel must travel again
            expect(there > 1.1 * back, f"{name}: {there} bytes there, {back} back")

    def expect_gone_out(self, whole: Outcome) -> None:
        if self.suite.arguments.device_memory:
            self.expect_in_slabs(whole)
            return
        rows = {name: row for name, row in harness.table_rows().items() if row.level == 3}
        called = linked(self.program) & rows.keys() - UNCALLED.get(self.program.name, set())
        expect(len(called) >= 2, f"{self.program.name} links too few routines: {called}")
        silent = sorted(name for name in called if whole.total(name) == 0)
        expect(whole.native or not silent, f"of {silent} nothing went out\n{whole.counters()}")
        whole.expect_out({}, [name for name, row in rows.items() if row.rerun])
        whole.expect_shares_out(dict.fromkeys(rows, LEAST_SHARE))
        if self.suite.arguments.devices:
            several = whole.total("*", "several")
            expect(several > 100, f"{several} calls were split\n{whole.counters()}")
            print(f"      {several} calls were split", flush=True)
        print(f"      {whole.total('*')} calls of {len(called)} linked routines", flush=True)


def body(suite: Suite) -> None:
    folder()
    # Both sides have the same kernels and the same order of sums. Some tests compare to the last
    # bit, and with fused multiply-adds OpenBLAS itself does not pass all of them.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    if best := openblas.best_core_type():
        os.environ.setdefault("OPENBLAS_CORETYPE", best)
    everything = suite.arguments.all
    ways = [way for way in harness.WAYS if way.transport == "shm"]
    if not everything:
        ways = [way for way in ways if way.mode != "auto"]
    devices = suite.arguments.devices
    if devices:
        ways = [SPLIT]
    options = ["--devices", str(devices)] if devices else []
    if suite.arguments.device_memory:
        options += ["--device-memory", suite.arguments.device_memory]
        ways = [way for way in ways if way.mode == "remote"]
    for precision in suite.arguments.precisions or ("sdcz" if everything else "dz"):
        found = programs(precision, everything)
        if suite.arguments.device_memory:
            found = found[:1]  # only the tester of linear equations
        for program in found:
            suite.each_way(program.name, Subject(suite, program).check, ways, options)
            if not everything:  # one program shows that mode off changes nothing
                ways = [way for way in ways if way.mode != "off"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="every precision, input and group")
    parser.add_argument("--devices", type=int, help="split each call over so many")
    parser.add_argument("--device-memory", help="of each device; only factorizations leave then")
    parser.add_argument("--precisions", default="", help="only these, of s, d, c and z")


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), body)
