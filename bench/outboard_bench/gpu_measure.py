"""Measures one problem natively, by unmodified programs over a daemon, and on the device alone."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from outboard.errors import OutboardError
from outboard_bench.fft_measure import How
from outboard_bench.fft_problems import Problem as FourierTransform
from outboard_bench.fft_program import Place, transform
from outboard_bench.gpu_problems import Problem, device_arguments

DEVICE_PROGRAM = "device_calls"
_MS = 1e-6  # milliseconds in a ns
_DIRECT = ("to_device", "compute", "back", "whole")


@dataclass
class Measured:
    """The times of one problem [ms]."""

    problem: Problem
    # times by name; the first place is native
    places: dict[str, list[float]] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)  # including planning and connecting
    direct: dict[str, list[float]] = field(default_factory=dict)  # times by the names in _DIRECT
    distance: float = 0.0  # the distance of the worst place, over the allowed one

    def median(self, place: str) -> float:
        return statistics.median(self.places[place])

    def direct_median(self, step: str) -> float:
        return statistics.median(self.direct[step])


def probe(programs: Path) -> str:
    """Returns the GPU's name and versions. Raises OutboardError with the reason if there is
    none."""
    program = programs / DEVICE_PROGRAM
    if not program.exists():
        raise OutboardError(
            f"{program} is missing (CUDA's headers were not found when this was built); run "
            "bench/gpu/check, or python3 tools/cuda_headers.py --into build/cuda and build again"
        )
    result = subprocess.run([program, "probe"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = result.stderr.strip() or f"{program} ended with {result.returncode}"
        raise OutboardError(
            f"there is no GPU to measure ({reason}); run this on a machine with one, or try the "
            "way itself with --check and OUTBOARD_CUDA_PATH naming the stand-in of the tests"
        )
    return result.stdout.strip()


def measure(problem: Problem, places: Sequence[Place], how: How, other: Path) -> Measured:
    """Measures one place after the other, because the largest problems fill the memory. `other` is
    the program of transforms."""
    found = Measured(problem)
    saved = how.folder / "results"
    program = other if isinstance(problem, FourierTransform) else how.program
    for place in places:
        with transform(program, problem, place, how.planner, how.seed) as here:
            (first,) = here.run(1)
            found.first[place.name] = (here.plan_ns + first) * _MS
            if place is places[0]:
                here.save(saved)
            else:
                distance = here.distance(saved)
                if not distance <= problem.error_bound:  # also catches a NaN
                    raise OutboardError(
                        f"{problem} over {place.name} is wrong: off by {distance:.2g}, relative, "
                        f"in the 2-norm (allowed are {problem.error_bound:.2g}); seed {how.seed}"
                    )
                found.distance = max(found.distance, distance / problem.error_bound)
            found.places[place.name] = [ns * _MS for ns in here.run(how.rounds)]
            if place.remote:
                here.stages()  # raises if a call stayed local
    saved.unlink(missing_ok=True)
    found.direct = _direct(problem, how)
    return found


def _direct(problem: Problem, how: How) -> dict[str, list[float]]:
    program = how.program.with_name(DEVICE_PROGRAM)
    command = [str(program), *device_arguments(problem), str(how.rounds)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    try:
        times = json.loads(result.stdout)
        return {step: [float(ms) for ms in times[step]] for step in _DIRECT}
    except (ValueError, KeyError) as error:
        raise OutboardError(
            f"{' '.join(command)} failed (its message is above); is another program using the GPU?"
        ) from error
