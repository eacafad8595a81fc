"""One run of a whole program, from its start to its end."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from outboard import counters

_RESULT = "result "
_TERM_TIMEOUT_S = 10.0


class RunError(Exception):
    """A run failed. The message says how."""


@dataclass(frozen=True)
class Run:
    """The figures of one run."""

    seconds: float
    result: tuple[float, ...] = ()  # empty if the run was ended because it took too long
    calls: int = 0
    out: int = 0
    traffic_bytes: int = 0

    def distance(self, other: Run) -> float:
        """Returns the relative difference of the results, in the 2-norm; infinity if they have
        different forms."""
        if len(self.result) != len(other.result):
            return math.inf
        norm = math.hypot(*self.result)
        return math.hypot(*(a - b for a, b in zip(self.result, other.result, strict=True))) / norm


def run(
    command: Sequence[str], environment: Mapping[str, str], timeout_s: float, counted: Path | None
) -> Run:
    """Runs the program. Empties the folder `counted`, in which the drop-in library leaves its
    counters."""
    for file in counted.glob("report.*.bin") if counted else ():
        file.unlink()
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said, complaints = process.communicate(timeout=timeout_s)
            seconds = time.perf_counter() - start
        except subprocess.TimeoutExpired:
            return Run(timeout_s)
        finally:
            _end(process)
    if process.returncode != 0:
        last = " / ".join(complaints.strip().splitlines()[-2:]) or "no message"
        raise RunError(f"exit status {process.returncode}: {last}")
    return Run(seconds, _result(said), *_counted(counted))


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the program and what it started, if it is still alive. `outboard run` needs a moment to
    end its daemon."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_TERM_TIMEOUT_S)


def _result(said: str) -> tuple[float, ...]:
    lines = [line for line in said.splitlines() if line.startswith(_RESULT)]
    try:
        return tuple(float(word) for word in lines[-1].split()[1:])
    except (IndexError, ValueError) as error:
        raise RunError("its output has no line of results") from error


def _counted(folder: Path | None) -> tuple[int, int, int]:
    """Returns the calls, those that went out, and their bytes both ways."""
    if folder is None:
        return 0, 0, 0
    processes, notes = counters.read_folder(folder)
    if notes:
        raise RunError(f"its counters cannot be read ({notes[0]})")
    found = counters.merged(processes)
    return (
        sum(routine.calls for routine in found),
        sum(routine.remote for routine in found),
        sum(routine.bytes_to + routine.bytes_from for routine in found),
    )
