"""Measures one factorization by an unmodified program over daemons of a star of hosts: through the
client, from daemon to daemon, and as the library chooses. The step model predicts its times."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from outboard import counters, paths
from outboard.errors import OutboardError
from outboard.settings import Settings, without_library
from outboard_bench import native_program
from outboard_bench.daemons import daemon
from outboard_bench.fft_program import Place, Transform, transform
from outboard_bench.link import Load, Wrap, limit_with_least_burst, mtu_at, stream
from outboard_bench.native_program import CHECK_BURST
from outboard_bench.netns import Star, inside
from outboard_bench.turns import in_turns

PROGRAM_NAME, MODEL_NAME = "blas_calls", "several_devices"
KINDS = {"dpotrf": "cholesky", "dgeqrf": "qr"}
# The width of panels of calls that are cut even if that gains nothing: kWidest,
# src/offload/factor_model.cpp.
_WIDEST = 256
_DAEMON_PORT = 7770
# The calls that are not timed. The first connects, and the others teach the library its rates.
_WARM_UP = 2
_MODEL_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Machine:
    """Hosts with links of one rate in each direction, and with devices of another rate."""

    gbit_per_s: float
    gflops: float
    order: int


@dataclass(frozen=True)
class Factorization:
    """A call on a number of devices, as a Problem."""

    machine: Machine
    routine: str
    devices: int
    bench = "ring"
    error_bound = 0.0  # the devices compute nothing

    def __str__(self) -> str:
        m = self.machine
        speeds = f"{m.gflops:g} GF/s {m.gbit_per_s:g} Gb/s"
        return f"{self.routine} n={m.order} {speeds} g={self.devices}"

    @property
    def group(self) -> object:
        return self.machine, self.routine

    @property
    def block(self) -> int:
        return max(1, min(self.machine.order // (2 * self.devices), _WIDEST))

    @property
    def flops(self) -> float:
        return float(self.machine.order) ** 3 * (1 if self.routine == "dpotrf" else 4) / 3

    @property
    def bytes_to(self) -> int:
        n = self.machine.order
        return 4 * n * (n + 1) if self.routine == "dpotrf" else 8 * n * n

    @property
    def bytes_from(self) -> int:
        return self.bytes_to

    def arguments(self, planner: str) -> list[str]:
        del planner  # nothing is planned
        return [self.routine, str(self.machine.order)]


@dataclass
class Way:
    """A factorization by one route."""

    name: str  # relay, ring, auto; alone
    ms: list[float] = field(default_factory=list)
    devices: int = 1  # number of devices that worked on each of these calls
    bytes_between: int = 0  # bytes of each call from daemon to daemon
    predicted_ms: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.ms)

    @property
    def taken(self) -> str:
        """Returns the route that panels took."""
        if self.devices < 2:
            return "alone"
        return "ring" if self.bytes_between else "relay"


@dataclass(frozen=True)
class Running:
    """Running daemons, and the rate of their links."""

    native: paths.Native
    folder: Path
    client: Wrap
    servers: Sequence[str]
    gbit_per_s: float  # rate of a plain TCP stream


@contextlib.contextmanager
def running(machine: Machine, hosts: int, folder: Path, *, check: bool) -> Iterator[Running]:
    native = paths.require_native()
    options = ["--backend", "null", "--device-rate", f"{machine.gflops:g}GF"]
    with Star(mtu_at(machine.gbit_per_s), hosts) as star, contextlib.ExitStack() as stack:
        client = _wrap(star.client)
        speed = _limit(star, machine.gbit_per_s, check=check)
        servers = []
        for name in star.hosts:
            there = [f"{star.address(name)}:{_DAEMON_PORT}"]
            servers += stack.enter_context(daemon(native.daemon, there, options, _wrap(name)))
        yield Running(native, folder, client, servers, speed)


def _wrap(namespace: str) -> Wrap:
    return lambda words: inside(namespace, words)


def _limit(star: Star, gbit_per_s: float, *, check: bool) -> float:
    """Limits the links. Returns the Gb/s of a plain stream over them."""
    client, far = _wrap(star.client), star.hosts[0]
    ends = client, _wrap(far), star.address(far)
    burst = CHECK_BURST
    if check:
        star.limit(gbit_per_s, burst)
    else:
        burst = limit_with_least_burst(star, gbit_per_s, *ends)
    windows = stream(*ends, Load(1, 0.1) if check else Load(5, 0.2))
    print(
        f"links of {gbit_per_s:g} Gb/s (burst {burst >> 10} KiB): a plain TCP stream of "
        f"{min(windows):.3g} to {max(windows):.3g} Gb/s",
        file=sys.stderr,
    )
    return statistics.median(windows)


def measure(problem: Factorization, here: Running, runs: int) -> list[Way]:
    """Measures all routes in turns."""
    ways = [
        Way(name) for name in (("relay", "ring", "auto") if problem.devices > 1 else ("alone",))
    ]
    program = native_program.require(here.native, PROGRAM_NAME)
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(transform(program, problem, _place(way, problem, here), "", 1))
            for way in ways
        ]
        for process in processes:
            process.run(_WARM_UP)
        before = [process.counted()[0] for process in processes]
        for at in in_turns(len(ways), runs):
            ways[at].ms += [ns * 1e-6 for ns in processes[at].run(1)]
        for way, process, counted in zip(ways, processes, before, strict=True):
            _count(way, process, counted, problem)
    for way in ways:
        if way.name != "auto":
            way.predicted_ms = _predicted(problem, here, relay=way.name == "relay")
    return ways


def _place(way: Way, problem: Factorization, here: Running) -> Place:
    counted = here.folder / f"{problem} {way.name}".replace("/", " per ").replace(" ", "-")
    counted.mkdir()
    forced = way.name in ("relay", "ring")
    settings = Settings(
        mode="remote",
        servers=tuple(here.servers[: problem.devices]),
        resident="off",  # operands are the same in each call
        report=f"dir:{counted}",
        profile="off",
        devices=f"always:{problem.devices}" if forced else str(problem.devices),
        route=way.name if forced else "auto",
    )
    variables = settings.variables(here.native.preload, without_library(os.environ))
    return Place(way.name, variables=variables, counters=counted, wrap=here.client)


def _count(way: Way, process: Transform, before: counters.Routine, problem: Factorization) -> None:
    process.stages()  # all calls went out
    after, notice = process.counted()
    calls = after.remote - before.remote
    several, devices = after.several - before.several, after.devices - before.devices
    way.devices = round(devices / several) if several == calls else 1
    way.bytes_between = (after.bytes_between - before.bytes_between) // calls
    wanted = {"relay": (problem.devices, False), "ring": (problem.devices, True)}.get(way.name)
    if wanted not in (None, (way.devices, way.bytes_between > 0)):
        raise OutboardError(
            f"{problem} by {way.name}: {several} of {calls} calls ran on several devices "
            f"({devices} in all; in each, {way.bytes_between} bytes went between them); "
            f"{notice or 'there was no notice'}"
        )


def _predicted(problem: Factorization, here: Running, *, relay: bool) -> float:
    """Returns the step model's times for the same blocks over links of the measured rate [ms]."""
    model = native_program.require(here.native, MODEL_NAME)
    m = problem.machine
    command = [str(model), "--routine", KINDS[problem.routine], "--order", str(m.order)]
    command += ["--rate", str(m.gflops), "--gbit", str(min(here.gbit_per_s, m.gbit_per_s))]
    command += ["--devices", str(problem.devices), "--blocks", str(problem.block), "--runs", "0"]
    command += ["--relay"] if relay else []
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, timeout=_MODEL_TIMEOUT_S
    )
    lines = [line.split(",") for line in done.stdout.splitlines()[1:]]
    found = [float(words[7]) for words in lines if int(words[3]) == problem.block]
    if done.returncode != 0 or not found:
        raise OutboardError(f"{MODEL_NAME} failed (its message is above)")
    return found[0] * 1e3
