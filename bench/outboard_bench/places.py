"""The places where a benchmark's program runs: on this machine alone, or with a daemon over each
transport and link. All of them run at the same time."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from outboard import paths
from outboard.settings import Settings, without_library
from outboard_bench.daemons import daemon
from outboard_bench.fft_program import Place
from outboard_bench.link import NOMINAL_GBIT, Link, Speed, Wrap, rate_list
from outboard_bench.native_program import CHECK_BURST
from outboard_bench.netns import FAR_ADDRESS, require_root


@dataclass
class Setting:
    """The places, and the rates of the links between them."""

    places: list[Place] = field(default_factory=list)
    speeds: dict[str, Speed] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """The places to set up."""

    preload: Path
    daemon: Path
    folder: Path
    links: Sequence[float] = ()
    check: bool = False
    daemon_options: Sequence[str] = ()
    settings: Settings = field(default_factory=lambda: Settings(mode="remote"))


@contextlib.contextmanager
def setting(wanted: Wanted) -> Iterator[Setting]:
    """Runs daemons and links for the block."""
    found = Setting([Place("local 1 thread")])
    cores = len(os.sched_getaffinity(0))
    if cores > 1:
        found.places.append(Place(f"local {cores} threads", threads=cores))
    with contextlib.ExitStack() as stack:
        here = [f"unix:{wanted.folder / 'outboardd.sock'}", "127.0.0.1:0"]
        addresses = stack.enter_context(daemon(wanted.daemon, here, wanted.daemon_options))
        for name, address in zip(("shm", "tcp"), addresses, strict=True):
            found.places.append(_remote(name, address, wanted))
        for rate in wanted.links:
            link = stack.enter_context(Link(rate, CHECK_BURST if wanted.check else None))
            found.speeds[link.name] = measured(link, check=wanted.check)
            there = [f"{FAR_ADDRESS}:0"]
            options = wanted.daemon_options
            (address,) = stack.enter_context(daemon(wanted.daemon, there, options, link.far))
            found.places.append(_remote(link.name, address, wanted, link.near))
        yield found


def measured(link: Link, *, check: bool) -> Speed:
    """Measures the rate of the link, and prints it on stderr."""
    speed = link.measure(*((1, 0.1) if check else ()))
    print(
        f"{link.name} ({link.burst}): a plain TCP stream of {min(speed.to_far):.3g} to "
        f"{max(speed.to_far):.3g} Gb/s to the daemon, {min(speed.to_near):.3g} to "
        f"{max(speed.to_near):.3g} back",
        file=sys.stderr,
    )
    return speed


def _remote(name: str, address: str, wanted: Wanted, wrap: Wrap = list) -> Place:
    counted = wanted.folder / name.replace("/", " per ").replace(" ", "-")
    counted.mkdir()
    settings = wanted.settings.replaced(servers=(address,), report=f"dir:{counted}")
    variables = settings.variables(wanted.preload, without_library(os.environ))
    return Place(name, variables=variables, counters=counted, wrap=wrap)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a benchmark that measures in all places."""
    add = parser.add_argument
    add("--rounds", type=int, default=5, help="measurements of each, in turns")
    add_links(parser)
    add("--device-rate", help="a device that computes nothing at this rate, e.g. 500GF")
    add("--seed", type=int, help="of the numbers that are worked on")
    add("--check", action="store_true", help="tiny ones once, and whether all is right")


def add_links(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--links", type=_links, help="Gb/s with commas, or none (default: root's)")


def complete(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Sets options that were left out. Raises OutboardError if links are asked for but not
    available."""
    if options.rounds < 1:
        parser.error("--rounds takes 1 or more")
    if options.check:
        options.rounds = 1
    complete_links(options, NOMINAL_GBIT)


def complete_links(options: argparse.Namespace, usual: Sequence[float]) -> None:
    """Sets --links if it was left out: for root, to the usual ones."""
    if options.links is None:
        options.links = usual if os.geteuid() == 0 else ()
        if not options.links:
            print("outboard: emulated links are left out (they need root)", file=sys.stderr)
    if options.links:
        require_root()


def wanted_by(
    options: argparse.Namespace, native: paths.Native, folder: Path, settings: Settings
) -> Wanted:
    """Returns the places that these options ask for, with the usual library."""
    served: list[str] = []
    if options.device_rate is not None:
        served = ["--backend", "null", "--device-rate", options.device_rate]
    return Wanted(
        native.preload, native.daemon, folder, options.links, options.check, served, settings
    )


def _links(text: str) -> tuple[float, ...]:
    return () if text == "none" else rate_list(text)
