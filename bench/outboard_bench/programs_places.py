"""The places of `outboard bench programs`: a device, the way to it, and how a program starts."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from outboard import paths, settings_table
from outboard.errors import OutboardError
from outboard.settings import Settings, without_library
from outboard_bench.daemons import daemon
from outboard_bench.link import Link, Wrap
from outboard_bench.native_program import CHECK_BURST
from outboard_bench.netns import FAR_ADDRESS, require_root
from outboard_bench.places import measured
from outboard_bench.programs_outcome import AUTO, NATIVE, REMOTE

# `outboard run` with nothing named: an embedded daemon on this machine.
NONE = "none"
# A daemon on this machine's cores.
OWN = "own"
# Devices that compute nothing. Their rates are multiples of that of this machine's products.
FACTORS = {"0.1x": 0.1, "3x": 3.0, "10x": 10.0, "50x": 50.0}
LINKS = {"1gbit": 1.0, "10gbit": 10.0}
_SHM, _TCP = "shm", "tcp"
USUAL = "none,own-shm,3x-shm,10x-*,0.1x-shm"
# The users of a checkout type this.
LAUNCHER = paths.require_repository("bench") / "outboard"
_MODES = {REMOTE: "remote", AUTO: "auto"}


@dataclass(frozen=True)
class Place:
    """A device and the way to it: "none", "own-shm", "10x-1gbit"."""

    device: str
    way: str = ""

    def __str__(self) -> str:
        return f"{self.device}-{self.way}" if self.way else self.device

    @property
    def computes(self) -> bool:
        """Returns true if results are computed. A device with a rate computes nothing."""
        return self.device not in FACTORS

    @property
    def needs_root(self) -> bool:
        return self.way in LINKS


ALL = (
    Place(NONE),
    *(Place(OWN, way) for way in (_SHM, _TCP)),
    *(Place(device, way) for device in FACTORS for way in (_SHM, _TCP, *LINKS)),
)


def chosen(patterns: str) -> list[Place]:
    """Returns the places whose names match one of the patterns, such as "none,10x-*". Raises
    ValueError if a pattern matches none."""
    wanted = patterns.split(",")
    for pattern in wanted:
        if not any(fnmatchcase(str(place), pattern) for place in ALL):
            raise ValueError(f"'{pattern}' is none of {', '.join(map(str, ALL))}")
    return [p for p in ALL if any(fnmatchcase(str(p), pattern) for pattern in wanted)]


def without_links_unless_root(places: Sequence[Place], explicit: bool) -> list[Place]:
    """Returns the places that this user can measure. Raises OutboardError if links were asked for
    but are not available."""
    linked = [place for place in places if place.needs_root]
    if linked and (explicit or os.geteuid() == 0):
        require_root()
    elif linked:
        print("outboard: emulated links are left out (they need root)", file=sys.stderr)
        return [place for place in places if not place.needs_root]
    return list(places)


@dataclass(frozen=True)
class Host:
    """The parts that all places share."""

    native: paths.Native
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)  # of every program
    gflops: float = 0.0  # of this machine's products; devices with a rate need it
    check: bool = False

    def environment(self) -> dict[str, str]:
        """Returns the environment of a program without the drop-in library."""
        return {**without_library(os.environ), **self.variables}


@dataclass(frozen=True)
class Client:
    """The way in which programs start at a place."""

    place: Place
    host: Host
    address: str = ""  # empty: `outboard run` starts a daemon
    wrap: Wrap = list
    description: str = ""

    @property
    def counters(self) -> Path:
        """The folder in which a run leaves its counters."""
        return self.host.folder / f"counters-{self.place}"

    def command(self, kind: str, words: Sequence[str]) -> list[str]:
        if self.address or kind == NATIVE:
            return self.wrap(words)
        # A user who wants mode auto types no mode.
        mode = [] if kind == AUTO else ["--mode", _MODES[kind]]
        return [str(LAUNCHER), "run", *mode, "--", *words]

    def environment(self, kind: str) -> dict[str, str]:
        result = self.host.environment()
        if kind == NATIVE:
            return result
        self.counters.mkdir(exist_ok=True)
        report = f"dir:{self.counters}"
        if self.address:
            settings = Settings(mode=_MODES[kind], servers=(self.address,), report=report)
            result |= settings.variables(self.host.native.preload, result)
        else:
            result["OUTBOARD_NATIVE_DIR"] = str(self.host.native.root)
            result[settings_table.row("report").variable] = report
        # A profile that some run of the user left would make the result depend on it.
        return result | {"OUTBOARD_PROFILE": "off"}


@contextlib.contextmanager
def opened(place: Place, host: Host) -> Iterator[Client]:
    """Runs the daemon and the link of the place for the block."""
    options, about = _options(place, host)
    with contextlib.ExitStack() as stack:
        wrap: Wrap = list
        far: Wrap = list
        listen = {_SHM: f"unix:{host.folder / f'{place}.sock'}", _TCP: "127.0.0.1:0"}
        if place.way in LINKS:
            link = stack.enter_context(Link(LINKS[place.way], CHECK_BURST if host.check else None))
            measured(link, check=host.check)  # prints the rate, for the reader of the results
            wrap, far = link.near, link.far
            listen[place.way] = f"{FAR_ADDRESS}:0"
        address = ""
        if place.way:
            started = daemon(host.native.daemon, [listen[place.way]], options, far)
            (address,) = stack.enter_context(started)
        client = Client(place, host, address, wrap, about)
        if place.device == NONE:
            empty = f"an empty program takes {_empty_seconds(client):.2f} s"
            client = replace(client, description=f"{about}; {empty}")
        yield client


def _empty_seconds(client: Client) -> float:
    """Returns the time of `outboard run` with a program that does nothing."""
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        environment = client.environment(AUTO)
        done = subprocess.run(client.command(AUTO, ["true"]), env=environment, check=False)
        taken.append(time.perf_counter() - start)
        if done.returncode != 0:
            raise OutboardError("`outboard run -- true` failed (its message is above)")
    return statistics.median(taken)


def _options(place: Place, host: Host) -> tuple[list[str], str]:
    """Returns the options of the daemon, and the description of the device."""
    if place.device not in FACTORS:
        how = "outboard run, embedded daemon" if place.device == NONE else "preloaded, own cores"
        return [], how
    if host.gflops <= 0:
        raise OutboardError(f"{place} needs the rate of this machine's products; name --rate")
    rate = f"{FACTORS[place.device] * host.gflops:.4g}GF"
    return ["--backend", "null", "--device-rate", rate], f"preloaded, computes nothing at {rate}"
