"""One run of the example program mp2c in a place, and its times."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outboard import paths
from outboard.errors import OutboardError
from outboard.settings import without_library
from outboard_bench import places
from outboard_bench.daemons import daemon
from outboard_bench.link import Link, Speed, Wrap
from outboard_bench.native_program import CHECK_BURST, require_example
from outboard_bench.netns import FAR_ADDRESS

PLACEMENTS = ("resident", "travelling")
_RUN_TIMEOUT_S = 1800.0
# The last kernel of a step is compiled while the program does the next one.
_FIRST = 2
# Programs on other hosts may run kernels, because nobody else reaches these daemons.
_KERNELS = ("--kernels-without-key", "portable")


@dataclass(frozen=True)
class Place:
    """A device, and the host on which the program runs."""

    name: str
    device: str
    wrap: Wrap = list
    speed: Speed | None = None  # of a link


@dataclass(frozen=True)
class Problem:
    """A simulation of 10 particles in each cell of a cube."""

    placement: str
    edge: int
    collisions: int
    ranks: int
    slabs: int = 8

    @property
    def particles(self) -> int:
        return 10 * self.edge**3

    def __str__(self) -> str:
        several = f", {self.ranks} ranks" if self.ranks > 1 else ""
        return f"{self.placement}, {self.particles:,} particles{several}"

    def arguments(self) -> list[str]:
        steps = 5 * self.collisions
        edge = str(self.edge)
        return [
            *("--placement", self.placement, "--cells", edge, edge, edge),
            *("--steps", str(steps), "--slabs", str(self.slabs)),
        ]


@dataclass(frozen=True)
class Outcome:
    """The means of the collisions of a run after the first ones, which wait for the compiler."""

    ms: float  # of a collision and the steps before it
    device_ms: float  # the part of it in which the host waits for the device
    bytes_to: int  # to all devices, for a collision
    bytes_from: int
    digest: int  # of the particles at the end


@contextlib.contextmanager
def running(
    links: Sequence[float], folder: Path, *, check: bool, tcp: bool
) -> Iterator[list[Place]]:
    """Runs daemons and links for the block. Yields local places and those with a daemon."""
    program = paths.require_native().daemon
    found = [Place("local", "local:cpu"), Place("local again", "local:cpu")]
    with contextlib.ExitStack() as stack:
        here = [f"unix:{folder}/outboardd.sock", "127.0.0.1:0"]
        addresses = stack.enter_context(daemon(program, here, _KERNELS))
        names = ("shm", "tcp") if tcp else ("shm",)
        found += [Place(name, address) for name, address in zip(names, addresses, strict=False)]
        for rate in links:
            link = stack.enter_context(Link(rate, CHECK_BURST if check else None))
            speed = places.measured(link, check=check)
            there = [f"{FAR_ADDRESS}:0"]
            (address,) = stack.enter_context(daemon(program, there, _KERNELS, link.far))
            found.append(Place(link.name, address, link.near, speed))
        yield found


def program() -> Path:
    """Returns the example program. Raises NotBuiltError if it was not built."""
    install = "the packages that examples/mp2c/README.md names"
    return require_example("example_mp2c", install)


def run(problem: Problem, place: Place) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="outboard-bench-") as folder:
        file = Path(folder) / "run.json"
        words = [str(program()), *problem.arguments(), "--device", place.device]
        command = place.wrap([*_launcher(problem.ranks), *words, "--json", str(file)])
        done = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=_environment(),
            timeout=_RUN_TIMEOUT_S,
        )
        if done.returncode != 0:
            raise OutboardError(f"mp2c in the place '{place.name}' failed: {done.stderr.strip()}")
        return outcome_of(json.loads(file.read_text()))


def outcome_of(written: dict[str, Any]) -> Outcome:
    """Returns the figures of the program's JSON."""
    seconds, ranks = written["collision_seconds"], written["ranks"]
    count = len(seconds)
    later = seconds[_FIRST:] or seconds
    mean = sum(later) / len(later)
    # The program writes only sums of the parts. That of the device holds the wait for the compiler.
    compiler = sum(seconds) - count * mean
    device = max(rank["device_s"] for rank in ranks)
    return Outcome(
        ms=mean * 1e3,
        device_ms=max(0.0, device - compiler) / count * 1e3,
        bytes_to=sum(rank["to_device_bytes"] for rank in ranks) // count,
        bytes_from=sum(rank["from_device_bytes"] for rank in ranks) // count,
        digest=int(written["measurements"][-1]["digest"]),
    )


def _launcher(ranks: int) -> list[str]:
    """Returns the beginning of a command that runs a program with that many ranks."""
    if ranks == 1:
        return []
    launcher = shutil.which("mpirun")
    if launcher is None:
        raise OutboardError(
            "mpirun was not found (it starts several ranks); install openmpi-bin, or run one rank"
        )
    return [launcher, "--oversubscribe", "-n", str(ranks)]


def _environment() -> dict[str, str]:
    switches = (
        "OMPI_ALLOW_RUN_AS_ROOT",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "OMPI_MCA_ess_singleton_isolated",  # one rank needs no server, which hosts of links stop
    )
    return {**without_library(os.environ), **dict.fromkeys(switches, "1")}
