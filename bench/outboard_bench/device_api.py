"""`outboard bench device`: the device API, every figure beside the limit of the same run."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from outboard import paths
from outboard_bench import compiled, device_places, plot, rows
from outboard_bench.link import rate_list
from outboard_bench.netns import ended_by_exception, require_root

PROGRAM_NAME = "bench_device"
PARTS = ("copies", "calls", "launches", "python", "between", "factors")
_LINKS = (1.0, 10.0)
_RUNS = 5
_PYTHON_LAUNCHES = 30000
_PYTHON_TIMEOUT_S = 120.0
# The bar for launches of a bound kernel from Python on a device that computes nothing [1/s].
_PYTHON_BAR = 150e3
_MOST_DEVICES = 3


class DeviceApi:
    """Copies, calls, launches, copies from device to device, and factorizations by the device
    API."""

    name = "device"
    summary = "the device API beside the limits of this machine (its own options: -- --help)"
    draw = staticmethod(plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        with ended_by_exception(), rows.kept(json_file) as measured:
            for part in options.parts:
                fresh = _PARTS[part](options)
                if part not in compiled_parts():  # the program prints its own
                    rows.show(fresh)
                measured += fresh
        return 0


def compiled_parts() -> tuple[str, ...]:
    """Returns the parts that bench_device measures."""
    return ("copies", "calls", "launches")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="outboard bench device", description=DeviceApi.__doc__)
    add = parser.add_argument
    add("--parts", type=_parts, default=PARTS, help=f"of {','.join(PARTS)}")
    add("--runs", type=int, default=_RUNS, help="of each, in turns")
    add("--links", type=rate_list, default=_LINKS, help="Gb/s between daemons, with commas")
    add("--check", action="store_true", help="small ones, once, to see that it runs")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error("--runs takes 1 or more")
    if options.check:
        options.runs = 1
    return options


def _parts(text: str) -> tuple[str, ...]:
    words = tuple(text.split(","))
    if not set(words) <= set(PARTS):
        raise argparse.ArgumentTypeError(f"'{text}' is not of {','.join(PARTS)}")
    return words


def _by_program(part: str) -> Callable[[argparse.Namespace], list[rows.Row]]:
    """Returns the function that measures a part of bench_device."""

    def measure(options: argparse.Namespace) -> list[rows.Row]:
        program = compiled.Program(paths.require_native().daemon.parent / PROGRAM_NAME)
        words = ["--only", part, "--runs", str(options.runs)]
        words += ["--check"] if options.check else []
        with tempfile.TemporaryDirectory(prefix="outboard-bench-") as folder:
            file = Path(folder) / "rows.json"
            status = program.run(words, file)
            if status != 0:
                raise SystemExit(status)
            return [rows.Row(**found) for found in rows.check(rows.load(file))]

    return measure


# This program runs in a process of its own, whose library is that of this build.
_LAUNCHES = """
import json, sys, time
from outboard import device
launches, runs = int(sys.argv[1]), int(sys.argv[2])
source = "__kernel void nothing(double a, ulong n) {}"
rates = []
with device.open("local:null") as gpu, gpu.queue() as queue:
    run = gpu.module(source).kernel("nothing").bind(2.0, 8)
    run(queue, 1, 1)
    queue.synchronize()
    for _ in range(runs):
        begin = time.perf_counter()
        for _ in range(launches):
            run(queue, 1, 1)
        queue.synchronize()
        rates.append(launches / (time.perf_counter() - begin))
print(json.dumps(rates))
"""


def _python(options: argparse.Namespace) -> list[rows.Row]:
    """Returns the row of launches from Python."""
    native = paths.require_native()
    launches = 100 if options.check else _PYTHON_LAUNCHES
    environment = {**os.environ, "OUTBOARD_NATIVE_DIR": str(native.daemon.parent.parent)}
    environment["PYTHONPATH"] = str(Path(paths.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", _LAUNCHES, str(launches), str(options.runs)],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
        check=True,
        timeout=_PYTHON_TIMEOUT_S,
    )
    case = "local:null, bound launches from Python"
    beside = [_PYTHON_BAR] * options.runs
    return [
        device_places.row(case, 0, "1/s", json.loads(done.stdout), beside, "the bar, 150,000/s")
    ]


def _between(options: argparse.Namespace) -> list[rows.Row]:
    """Returns the rows of copies from device to device. Links need root."""
    found = device_places.within_daemon(options.runs, check=options.check)
    if os.geteuid() != 0:
        print("outboard: copies between hosts are left out (they need root)", file=sys.stderr)
        return found
    require_root()
    for rate in options.links:
        found += device_places.between_hosts(rate, options.runs, check=options.check)
    return found


def _factors(options: argparse.Namespace) -> list[rows.Row]:
    return device_places.factorizations(_MOST_DEVICES, options.runs, check=options.check)


_PARTS: dict[str, Callable[[argparse.Namespace], list[rows.Row]]] = {
    **{part: _by_program(part) for part in compiled_parts()},
    "python": _python,
    "between": _between,
    "factors": _factors,
}
