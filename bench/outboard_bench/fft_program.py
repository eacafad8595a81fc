"""One run of an unmodified program (fft_transforms, blas_calls), and the counters of the drop-in
library during the run."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from outboard import counters
from outboard.errors import OutboardError
from outboard_bench.link import Wrap
from outboard_bench.problem import Problem

PROGRAM_NAME = "fft_transforms"
_END_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Place:
    """A place for transforms: the environment and the host."""

    name: str
    threads: int = 1
    variables: Mapping[str, str] = field(default_factory=dict)
    counters: Path | None = None  # the folder that OUTBOARD_REPORT names; None for a local run
    wrap: Wrap = list

    @property
    def remote(self) -> bool:
        return self.counters is not None


@dataclass(frozen=True)
class Stages:
    """The times of remote calls by stage, summed [ns]. The rest of `whole` has no name."""

    to_device: int = 0
    plan: int = 0
    compute: int = 0
    back: int = 0
    whole: int = 0
    calls: int = 0
    bytes_to: int = 0
    bytes_from: int = 0

    def __sub__(self, before: Stages) -> Stages:
        return Stages(*(getattr(self, f) - getattr(before, f) for f in _STAGE_FIELDS))


_STAGE_FIELDS = tuple(Stages.__dataclass_fields__)


class Transform:
    """The program, with its plan if it needs one. The program ends at the end of its input."""

    def __init__(
        self, process: subprocess.Popen[str], name: str, problem: Problem, place: Place
    ) -> None:
        self._name = name
        self.problem = problem
        self.place = place
        self._process = process
        self.plan_ns = int(self._answer().removeprefix("planned "))

    def run(self, times: int) -> list[int]:
        """Returns the ns of each of `times` executions."""
        return [int(word) for word in self._ask(f"run {times}").split()]

    def save(self, file: Path) -> None:
        self._ask(f"save {file}")

    def distance(self, file: Path) -> float:
        """Returns the relative difference of the last results from those in `file`, in the
        2-norm."""
        return float(self._ask(f"compare {file}"))

    def fresh(self, on: bool) -> None:
        """For blas_calls: selects whether each call finds new contents in its operands, or those of
        the first call."""
        self._ask(f"fresh {'on' if on else 'off'}")

    def stages(self) -> Stages:
        """Returns the times of all calls so far. Raises OutboardError if one of them did not go
        out."""
        counted, notice = self.counted()
        if counted.remote != counted.calls or counted.fell_back:
            raise OutboardError(
                f"{self.problem} over {self.place.name}: {counted.calls - counted.remote} of "
                f"{counted.calls} calls stayed local ({notice or 'no reason was given'}); is the "
                "daemon alive?"
            )
        return Stages(
            counted.to_server_ns,
            counted.plan_ns,
            counted.compute_ns,
            counted.from_server_ns,
            counted.remote_ns,
            counted.remote,
            counted.bytes_to,
            counted.bytes_from,
        )

    def counted(self) -> tuple[counters.Routine, str]:
        """Returns the library's counters of the problem's routine, and its notice."""
        assert self.place.counters is not None
        processes, _ = counters.read_folder(self.place.counters)
        mine = [p for p in processes if p.pid == self._process.pid]
        found = [r for r in counters.merged(mine) if r.name == self.problem.routine]
        notice = "; ".join(p.notice for p in mine if p.notice)
        return (found[0] if found else counters.Routine(self.problem.routine)), notice

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the missing answer shows the failure
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise OutboardError(
                f"{self._name} ended early at {self.problem} over {self.place.name} (its message "
                "is above); is there enough memory?"
            )
        return line


@contextlib.contextmanager
def transform(
    program: Path, problem: Problem, place: Place, planner: str, seed: int
) -> Iterator[Transform]:
    """Runs the program for the block. env(1) sets the variables for the program alone."""
    variables = [f"{name}={value}" for name, value in place.variables.items()]
    command = ["env", *variables, str(program), *problem.arguments(planner)]
    command += [str(place.threads), str(seed)]
    with subprocess.Popen(
        place.wrap(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield Transform(process, program.name, problem, place)
            process.communicate(timeout=_END_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise OutboardError(
                f"{program.name} does not end ({problem} over {place.name}); is its daemon alive?"
            ) from error
        finally:
            process.kill()
