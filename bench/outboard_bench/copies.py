"""`outboard bench copies`: the bandwidth to a device and back by size, in one command and in
blocks, beside the plain transport. Source: DAC, section V.A"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import native_program, places, plot, rows
from outboard_bench.daemons import daemon
from outboard_bench.link import Link, Speed, Wrap
from outboard_bench.netns import FAR_ADDRESS, ended_by_exception

PROGRAM_NAME = "copy_blocks"
_KIB, _MIB = 1 << 10, 1 << 20
SIZES = (64 * _KIB, 512 * _KIB, _MIB, 4 * _MIB, 8 * _MIB, 16 * _MIB, 64 * _MIB)
BLOCKS = (64 * _KIB, 128 * _KIB, 512 * _KIB, _MIB, 4 * _MIB)
_MEASURE_TIMEOUT_S = 1800.0
_WAYS = {"to": "host to device", "from": "device to host"}


class Copies:
    """Copies to a device and back: shared memory, loopback TCP, limited links."""

    name = "copies"
    summary = "copies by size and block, beside the pure transport (its own options: -- --help)"
    draw = staticmethod(plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        native = paths.require_native()
        program = native_program.require(native, PROGRAM_NAME)
        measured: list[rows.Row] = []
        with ended_by_exception(), _ways(native, options) as ways:
            for way in ways:
                lines = _measure(program, way, options)
                limits = way.limits(check=options.check)
                fresh = [way.row(line, limits) for line in lines]
                rows.print_table(fresh)
                measured += fresh
        if json_file:
            rows.write(measured, json_file)
        return 0


@dataclass(frozen=True)
class _Way:
    """A way to reach a device, and the limit of its rate."""

    name: str
    address: str
    ceiling: str  # the ceiling that copy_blocks measures, in turn with the copies
    ceiling_name: str
    wrap: Wrap = list
    link: Link | None = None
    before: Speed | None = None

    def limits(self, *, check: bool) -> tuple[float, float]:
        """Returns the MiB/s there and back of the streams before and after the copies. 0 means that
        copies and ceiling are measured in turn."""
        if self.link is None or self.before is None:
            return 0.0, 0.0
        after = places.measured(self.link, check=check)
        there, back = self.before.to_far + after.to_far, self.before.to_near + after.to_near
        return _mib(there), _mib(back)

    def row(self, line: str, limits: tuple[float, float]) -> rows.Row:
        """Parses a line: to or from, size, block, ceiling, rate of each run."""
        way, size, block, ceiling, *rates = line.split(",")
        runs = [float(rate) for rate in rates]
        limit = float(ceiling) or limits[way == "from"]
        cut = "whole" if block == "0" else f"blocks of {plot.size_text(int(block))}"
        case = f"{self.name}, {_WAYS[way]}, {cut}"
        return rows.Row.of_runs("copies", case, int(size), runs, "MiB/s", limit, self.ceiling_name)


@contextlib.contextmanager
def _ways(native: paths.Native, options: argparse.Namespace) -> Iterator[list[_Way]]:
    """Runs daemons with a null device, and links, for the block."""
    served = ["--backend", "null"]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="outboard-bench-"))
        here = [f"unix:{folder}/outboardd.sock", "127.0.0.1:0"]
        shm, tcp = stack.enter_context(daemon(native.daemon, here, served))
        found = [
            _Way("shm", shm, "memcpy", "memcpy, one thread"),
            _Way("tcp", tcp, "socket", "raw socket"),
        ]
        for rate in options.links:
            burst = native_program.CHECK_BURST if options.check else None
            link = stack.enter_context(Link(rate, burst))
            speed = places.measured(link, check=options.check)
            there = [f"{FAR_ADDRESS}:0"]
            (address,) = stack.enter_context(daemon(native.daemon, there, served, link.far))
            stream = "plain TCP stream before and after"
            found.append(_Way(link.name, address, "none", stream, link.near, link, speed))
        yield found


def _mib(gbit_per_s: Sequence[float]) -> float:
    return statistics.median(gbit_per_s) * 1e9 / 8 / _MIB


def _measure(program: Path, way: _Way, options: argparse.Namespace) -> list[str]:
    """Returns lines sorted by direction and block, so that each curve is in one piece."""
    command = [str(program), "--server", way.address, "--ceiling", way.ceiling]
    command += ["--sizes", ",".join(map(str, options.sizes))]
    command += ["--blocks", ",".join(map(str, (0, *options.blocks)))]
    command += ["--runs", str(options.runs)]
    if options.check:
        command += ["--copies", "3"]
    done = subprocess.run(
        way.wrap(command),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=_MEASURE_TIMEOUT_S,
    )
    if done.returncode != 0:
        raise OutboardError(f"{PROGRAM_NAME} over {way.name} failed (its message is above)")
    return sorted(done.stdout.splitlines(), key=_curve)


def _curve(line: str) -> tuple[bool, int]:
    way, _, block, _ = line.split(",", 3)
    return way != "to", int(block)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Returns the options of a run. Raises OutboardError if links are asked for but not
    available."""
    parser = argparse.ArgumentParser(prog="outboard bench copies", description=Copies.__doc__)
    add = parser.add_argument
    add("--sizes", type=_bytes, default=SIZES, help="of the copies [bytes], with commas")
    add("--blocks", type=_bytes, default=BLOCKS, help="of a command [bytes], with commas")
    add("--runs", type=int, default=7, help="of each, in turns")
    places.add_links(parser)
    add("--check", action="store_true", help="small ones, once, to see that it runs")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error("--runs takes 1 or more")
    if options.check:
        options.sizes, options.blocks, options.runs = (64 * _KIB, _MIB), (64 * _KIB,), 1
    places.complete_links(options, (10.0,))
    return options


def _bytes(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(word) for word in text.split(","))
    except ValueError:
        found = (0,)
    if min(found) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' has no sizes (write 65536,1048576: bytes)")
    return found
