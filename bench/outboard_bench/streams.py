"""Compares one TCP stream and several over the same link: plain ones, and a client striped over
them."""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import native_program, rows
from outboard_bench.daemons import daemon
from outboard_bench.link import BURSTS, Link, Load, Wrap, stream
from outboard_bench.netns import FAR_ADDRESS, NEAR_ADDRESS

TRAFFIC, RELAY = "link_traffic", "delay_relay"
# This port is outside of the ports by which a limit per flow separates flows.
DAEMON_PORT = 7770
# The most bytes that a stream has in flight: the usual limit of a socket's send buffer (tcp_wmem).
RELAY_WINDOW = 4 << 20
_SECONDS = 0.3
_MEASURE_TIMEOUT_S = 300.0

# A function that makes an address, which forwards connections to the given address.
Through = Callable[[str], AbstractContextManager[str]]


@contextlib.contextmanager
def straight(address: str) -> Iterator[str]:
    yield address


@dataclass(frozen=True)
class Place:
    """Two hosts and the link or relay between them."""

    name: str
    near: Wrap
    far: Wrap
    near_address: str
    far_address: str
    through: Through = straight


def over_link(link: Link) -> Place:
    return Place(link.name, link.near, link.far, NEAR_ADDRESS, FAR_ADDRESS)


def over_relay(program: Path, delay_ms: float) -> Place:
    """Returns this machine, with a relay that delays bytes (bench/delay_relay.cpp)."""

    @contextlib.contextmanager
    def through(target: str) -> Iterator[str]:
        words = ["--target", target, "--delay-ms", str(delay_ms), "--window", str(RELAY_WINDOW)]
        with subprocess.Popen(
            [str(program), *words], stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline().strip()
                if not line.startswith("listening on "):
                    raise OutboardError(f"{program.name} did not start (its message is above)")
                yield line.removeprefix("listening on ")
            finally:
                process.kill()

    name = f"{delay_ms:g} ms each way, {RELAY_WINDOW >> 20} MiB a stream"
    return Place(name, list, list, "127.0.0.1", "127.0.0.1", through)


def measure(place: Place, counts: Sequence[int], windows: int) -> list[rows.Row]:
    """Returns rows of plain streams and of Outboard, both ways, for each number of streams."""
    native = paths.require_native()
    traffic = native_program.require(native, TRAFFIC)
    listen = [f"{place.far_address}:{DAEMON_PORT if place.through is straight else 0}"]
    measured: list[rows.Row] = []
    with (
        daemon(native.daemon, listen, ["--backend", "null"], place.far) as (there,),
        place.through(there) as server,
    ):
        for count in counts:
            plain = _plain(place, count, windows)
            ours = _ours(place.near([str(traffic), "--server", server]), count, windows)
            for i, way in enumerate(("to the daemon", "back")):
                case = f"{place.name}, {count} stream{'s' * (count > 1)}, {way}"
                beside = statistics.median(plain[i])
                measured.append(row(f"{case}: plain TCP", plain[i], None))
                measured.append(row(f"{case}: outboard", ours[i], beside, "plain TCP"))
    return measured


def _plain(place: Place, count: int, windows: int) -> tuple[list[float], list[float]]:
    load = Load(windows, _SECONDS, count)
    there = stream(place.near, place.far, place.far_address, load, place.through)
    back = stream(place.far, place.near, place.near_address, load, place.through)
    return there, back


def _ours(command: Sequence[str], count: int, windows: int) -> tuple[list[float], list[float]]:
    words = ["--streams", str(count), "--windows", str(windows), "--seconds", str(_SECONDS)]
    done = subprocess.run(
        [*command, *words],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=_MEASURE_TIMEOUT_S,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(lines) != windows:
        raise OutboardError(f"{TRAFFIC} failed (its message is above)")
    return [float(line[0]) for line in lines], [float(line[1]) for line in lines]


def run(options: argparse.Namespace) -> list[rows.Row]:
    """Measures all places: links of the rates, one with a limit per flow, and one with delay."""
    measured: list[rows.Row] = []
    for rate in options.rates:
        with Link(rate, BURSTS[-1] if options.check else None) as link:
            measured += measure(over_link(link), options.streams, options.windows)
    with Link(options.flow_rate, BURSTS[-1], each_flow=True) as link:
        measured += measure(over_link(link), options.streams, options.windows)
    relay = native_program.require(paths.require_native(), RELAY)
    place = over_relay(relay, options.delay)
    return measured + measure(place, options.streams, options.windows)


def row(case: str, measured: list[float], beside: float | None, name: str = "") -> rows.Row:
    """Returns the row of a rate, beside another rate with that name."""
    return rows.Row.of_runs("links", case, 0, measured, "Gb/s", beside or None, name)
