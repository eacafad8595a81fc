"""The places of `outboard bench decide`: places by devices, all running at the same time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from outboard import paths
from outboard.settings import Settings, without_library
from outboard_bench.daemons import daemon
from outboard_bench.fft_program import Place
from outboard_bench.link import Link, Wrap
from outboard_bench.native_program import CHECK_BURST
from outboard_bench.netns import FAR_ADDRESS
from outboard_bench.places import measured

CPU = "cpu"
# The client has one thread, on any machine, so a device with all cores is faster than it.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Server:
    """A device, and the way to it."""

    place: str  # "shm", "tcp", "link 10 Gb/s"
    place_index: int
    device: str  # "cpu", or the rate of a device that computes nothing
    device_index: int
    address: str
    folder: Path  # the folder of its counters
    # the folder with the profile of its place, because other places may have the same address
    profile: Path
    wrap: Wrap = list

    def __str__(self) -> str:
        return f"{self.place}, {self.device}"

    @property
    def correct(self) -> bool:
        """Returns true if results are computed. A device with a rate computes nothing."""
        return self.device == CPU

    def client(self, kind: str, preload: Path, mode: str, profile: str) -> Place:
        """Returns a program of one thread that uses the device."""
        counters = self.folder / kind.replace(" ", "-")
        counters.mkdir(parents=True, exist_ok=True)
        settings = Settings(mode=mode, servers=(self.address,), report=f"dir:{counters}")
        variables = settings.variables(preload, without_library(os.environ))
        variables |= ONE_THREAD | {"OUTBOARD_PROFILE": profile}
        return Place(f"{self.place} ({kind})", 1, variables, counters, self.wrap)

    def local(self) -> Place:
        """Returns a program of one thread on the same host that uses no device."""
        return Place("local", variables=ONE_THREAD, wrap=self.wrap)


@dataclass(frozen=True)
class Wanted:
    native: paths.Native
    folder: Path
    devices: Sequence[str]
    links: Sequence[float]
    check: bool


@contextlib.contextmanager
def servers(wanted: Wanted) -> Iterator[list[Server]]:
    """Runs daemons and links for the block. Yields servers by place and then device."""
    found: list[Server] = []
    with contextlib.ExitStack() as stack:
        for index, device in enumerate(wanted.devices):
            here = [f"unix:{wanted.folder / f'outboardd-{index}.sock'}", "127.0.0.1:0"]
            started = daemon(wanted.native.daemon, here, _options(device))
            addresses = stack.enter_context(started)
            for place, address in enumerate(addresses):
                found.append(_server(wanted, ("shm", "tcp")[place], place, index, address))
        for place, rate in enumerate(wanted.links, 2):
            link = stack.enter_context(Link(rate, CHECK_BURST if wanted.check else None))
            # prints the rate of the link, for the reader of the results
            measured(link, check=wanted.check)
            for index, device in enumerate(wanted.devices):
                there = [f"{FAR_ADDRESS}:0"]
                started = daemon(wanted.native.daemon, there, _options(device), link.far)
                (address,) = stack.enter_context(started)
                server = _server(wanted, link.name, place, index, address)
                found.append(replace(server, wrap=link.near))
        yield sorted(found, key=lambda s: (s.place_index, s.device_index))


def _server(wanted: Wanted, place: str, place_index: int, index: int, address: str) -> Server:
    counters = wanted.folder / f"counters-{place_index}-{index}"
    profile = wanted.folder / f"profile-{place_index}"
    return Server(place, place_index, wanted.devices[index], index, address, counters, profile)


def _options(device: str) -> list[str]:
    return [] if device == CPU else ["--backend", "null", "--device-rate", device]
