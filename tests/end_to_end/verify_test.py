"""Runs programs with a daemon whose results are sometimes wrong. With OUTBOARD_VERIFY they get
right results, and without it they notice the errors. With a correct daemon no error is found.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import tempfile

import harness
from harness import Outcome, Suite, expect
from programs_test import fft_results

VERIFY = {"OUTBOARD_VERIFY": "1"}
EVERY = 3  # the lying daemon makes one of this number of results wrong
# Real-to-real transforms cannot be checked. Neither can the half spectra of e2e_fft_plans, which
# are no spectra of real data.
CHECKED_TRANSFORMS = {"OUTBOARD_ROUTINES": "*,-*r2r,-*c2r"}
WRONG = 3  # the exit status of `run` for results that differ from a native run


@dataclasses.dataclass(frozen=True)
class Program:
    """A program that checks its results itself, or writes them to a file."""

    name: str
    arguments: tuple[str, ...] = ()
    writes: bool = False
    extra: dict[str, str] = dataclasses.field(default_factory=dict)

    def run(
        self, suite: Suite, server: str, extra: dict[str, str], further_seed: int = 0
    ) -> Outcome:
        bench = suite.bench
        seed = bench.seed + further_seed
        arguments = [argument.format(seed=seed) for argument in self.arguments]
        command = [bench.program(self.name), *arguments]
        if not self.writes:
            return bench.run(command, "remote", server, extra=self.extra | extra)
        with tempfile.TemporaryDirectory() as folder:
            native, got = (pathlib.Path(folder) / name for name in ("native", "with"))
            first = bench.run([*command, str(native)]).expect_ok()
            outcome = bench.run([*command, str(got)], "remote", server, extra=self.extra | extra)
            pairs = list(zip(fft_results(native), fft_results(got), strict=True))
        # number of doubles, of transforms of up to 1,000 points; single precision follows
        doubles = int(first.stdout.split()[1])
        exact = all(abs(a - b) < 1e-11 for a, b in pairs[:doubles])
        if not (exact and all(abs(a - b) < 1e-3 for a, b in pairs[doubles:])):
            outcome.code = outcome.code or WRONG
        return outcome


PROGRAMS = (
    Program("e2e_poison", ("12", "60")),
    Program("e2e_threads", ("4", "20", "60")),
    Program("e2e_iterate", ("400", "12", "30", "1", "{seed}")),  # operands stay on the device
    Program("e2e_fft_plans", ("{seed}",), writes=True, extra=CHECKED_TRANSFORMS),
)


def checked(outcome: Outcome, field: str) -> int:
    return outcome.total("*", field)


def honest(suite: Suite, program: Program, server: str) -> None:
    outcome = program.run(suite, server, VERIFY).expect_ok()
    if outcome.native:
        return
    expect(
        checked(outcome, "mismatched") == 0,
        f"right results were refused\n{outcome.counters()}\n{outcome.stderr[-1000:]}",
    )
    outcome.expect_stderr_lines(0)
    out, known = outcome.total("*"), checked(outcome, "verified") + checked(outcome, "unchecked")
    expect(out == known, f"{out} calls went out, {known} were judged")
    expect(checked(outcome, "verified") > 0.5 * out, f"hardly checked\n{outcome.counters()}")


def lying(suite: Suite, program: Program, server: str) -> None:
    outcome = program.run(suite, server, VERIFY).expect_ok()
    if outcome.native:
        return
    wrong = checked(outcome, "mismatched")
    tried = wrong + checked(outcome, "verified")
    expect(wrong >= tried // (2 * EVERY), f"{wrong} of {tried} were found wrong")
    expect(outcome.total("*", "fell_back") >= wrong, f"not run again\n{outcome.counters()}")
    lines = outcome.stderr.splitlines()
    expect(
        len(lines) == 1 and "is wrong" in lines[0] and "runs locally" in lines[0],
        f"not one notice:\n{outcome.stderr[-1000:]}",
    )


def noticed(suite: Suite, program: Program, server: str) -> None:
    """Runs the same without checks. It shows that the previous test can fail. A wrong element may
    lie where the program of one seed overwrites it, so there are three.
    """
    for further_seed in range(3):
        outcome = program.run(suite, server, {}, further_seed)
        if outcome.native:
            return
        expect(checked(outcome, "verified") == 0, "something was checked without being asked")
        if outcome.code != 0:
            return
    expect(False, "wrong results, and the program did not notice")


def body(suite: Suite) -> None:
    for options, tests in ((), (honest,)), (("--corrupt", str(EVERY)), (lying, noticed)):
        with suite.server(options) as daemon:
            for program in PROGRAMS:
                for test in tests:
                    server = daemon.shm if daemon else ""
                    suite.check(
                        f"{program.name}, {test.__name__}",
                        functools.partial(test, suite, program, server),
                    )


if __name__ == "__main__":
    harness.main(Suite(__doc__ or ""), body)
