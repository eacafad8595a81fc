"""Runs FFTW's own check driver, tests/check.pl of its sources, under the drop-in library.

check.pl generates problems (all kinds, small sizes in one and two dimensions, copies, random ones
in up to four dimensions) and has bench verify them. It is not modified: only Perl's random numbers
get the run's seed. Every problem must be verified. In mode remote, all of its transforms must go
out; in mode off, none. A problem that fails is verified once more, natively.

The quick check corresponds to `make smallcheck` of FFTW. The parts of the full one together
correspond to `make bigcheck`, except that part 2d plans by estimate; 2d_measured is the original.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import shlex
import shutil
import tempfile
import time

import harness
from harness import Outcome, Suite, Way, expect
from problems import points

PROGRAMS = ("bench", "benchf")
THREADS = (1, 2)
ROUNDS = 10  # the default of bench: random vectors per property and problem
EXECUTES = 3 * ROUNDS  # the least for a verification: each round of linearity has three
SHOWN = 10  # number of failing problems in a message
TIMEOUT_S = 7000.0

PARTS = {
    "small": ("-r -c=1 --maxsize=10000", "-r --estimate -c=3 --maxsize=10000"),
    "0d": ("--validate-wisdom -0d",),
    "1d": ("--validate-wisdom -1d",),
    "2d": ("--estimate -2d",),
    "random": ("--validate-wisdom -r -c=15", "--estimate -r -c=60"),
    "2d_measured": ("--validate-wisdom -2d",),
}
# `do` replaces `perl check.pl`, because the random numbers are seeded first.
DRIVER = "srand(shift); my $script = shift; do $script; die $@ if $@; exit 0"
SAD = re.compile(r"^(FAILED|received signal|killed|hangup|interrupted)", re.MULTILINE)


@dataclasses.dataclass
class Batch:
    """One bench that check.pl started: its options, the problems to verify, and the verified
    ones."""

    options: str
    problems: list[str]
    verified: list[str]


def batches(text: str) -> list[Batch]:
    """Reads the output of check.pl, by the lines that announce each bench."""
    found: list[Batch] = []
    for line in text.splitlines():
        if announced := re.match(r'Executing "\./bench (.*)"$', line):
            problems = re.findall(r"--verify '([^']+)'", announced[1])
            found.append(Batch(announced[1].split("--verify '")[0], problems, []))
        elif found and len(words := line.split()) == 4:  # the problem and three errors
            last = found[-1]
            at = len(last.verified)
            if words[0] == "".join(last.problems[at : at + 1]):
                last.verified.append(words[0])
    return found


@dataclasses.dataclass(frozen=True)
class Check:
    """One run of check.pl."""

    suite: Suite
    program: pathlib.Path
    script: pathlib.Path
    options: str
    threads: int

    def run(self, way: Way | None, server: str) -> Outcome:
        seed = str(self.suite.bench.seed)
        threads = [f"--nthreads={self.threads}"] if self.threads > 1 else []
        asked = [*shlex.split(self.options), *threads, "-v", "-k"]
        # Otherwise, a plan that goes out is made by estimate and leaves no wisdom of more effort.
        wisdom = "--validate-wisdom" in asked
        with tempfile.TemporaryDirectory(prefix="ob-check-") as folder:
            pathlib.Path(folder, "bench").symlink_to(self.program)  # check.pl looks for this name
            return self.suite.bench.run(
                ["perl", "-w", "-e", DRIVER, seed, str(self.script), *asked],
                way.mode if way else None,
                server,
                extra={"OUTBOARD_NATIVE_PLAN": "as-asked"} if wisdom else None,
                cwd=folder,
                timeout_s=TIMEOUT_S,
            )

    def again(self, batch: Batch, problem: str) -> str:
        """Verifies one failed problem natively, and returns the result in words."""
        options = [o for o in shlex.split(batch.options) if o != "-owisdom-only"]
        with tempfile.TemporaryDirectory(prefix="ob-check-") as folder:
            outcome = self.suite.bench.run(
                [str(self.program), *options, "--verify", problem], cwd=folder
            )
        ending = "passes" if outcome.code == 0 else f"fails ({outcome.code})"
        return f"{self.program.name} {batch.options} --verify {problem}: natively it {ending}"

    def expect_verified(self, outcome: Outcome) -> list[str]:
        """Returns all problems of a run, and checks that each of them was verified."""
        found = batches(outcome.stdout)
        failed = [batch for batch in found if batch.verified != batch.problems]
        lines = [self.again(b, b.problems[len(b.verified)]) for b in failed[:SHOWN]]
        said = [line[:200] for line in outcome.stdout.splitlines() if SAD.match(line)]
        # bench also prints both arrays of a comparison, with indented lines.
        errors = [line for line in outcome.stderr.splitlines() if line[:1].strip()]
        expect(
            not failed and not said and outcome.code == 0,
            f"status {outcome.code}, {len(failed)} of {len(found)} runs of bench failed\n"
            + "\n".join([*lines, *said[:SHOWN], *errors[:SHOWN]]),
        )
        outcome.expect_stderr_lines(0)
        problems = [problem for batch in found for problem in batch.problems]
        expect(len(problems) > 0, f"check.pl verified nothing\n{outcome.stdout[-2000:]}")
        return problems

    def check(self, way: Way, server: str) -> None:
        start = time.monotonic()
        outcome = self.run(way, server)
        problems = self.expect_verified(outcome)
        shown = f"{len(problems)} problems verified, {outcome.total('*')} transforms out"
        print(f"      {shown}, {time.monotonic() - start:.0f} s", flush=True)
        if way.mode == "off":
            outcome.expect_none_out()
        if way.remote:
            # A transform of one point is a copy, which has nothing to compute.
            large = sum(points(problem) > 1 for problem in problems)
            outcome.expect_out({"fftw*": EXECUTES * large})
            if large:
                outcome.expect_share_out(1.0)


def script(work: pathlib.Path) -> pathlib.Path:
    found = sorted(work.glob("fftw3-source/*/tests/check.pl"))
    expect(len(found) == 1, f"check.pl is not in {work}; see conformance.fftw_build")
    expect(shutil.which("perl") is not None, "perl is not installed, which check.pl needs")
    return found[0]


def body(suite: Suite) -> None:
    work = suite.arguments.work.resolve()
    driver = script(work)
    for program in suite.arguments.programs:
        expect((work / program).exists(), f"no {program} in {work}; see conformance.fftw_build")
        for threads in suite.arguments.threads:
            for options in PARTS[suite.arguments.part]:
                check = Check(suite, work / program, driver, options, threads)
                name = f"{program}, check.pl {options}, {threads} threads"
                suite.each_way(name, check.check, chosen_ways(suite))


def chosen_ways(suite: Suite) -> list[Way]:
    return [w for w in harness.WAYS if w.transport == "shm" and w.mode in suite.arguments.modes]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--work", type=pathlib.Path, required=True, help="where build_bench.py put the programs"
    )
    parser.add_argument("--part", choices=PARTS, default="small", help="which problems")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--threads", nargs="+", type=int, default=THREADS)
    parser.add_argument("--modes", nargs="+", default=("off", "auto", "remote"))


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), body)
