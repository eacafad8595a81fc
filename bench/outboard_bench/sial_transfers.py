"""`outboard bench sial transfers`: get, put and accumulate of blocks beside plain MPI messages of
their size over the same link."""

from __future__ import annotations

import argparse
from pathlib import Path

from outboard_bench import sial_messages, sial_runs
from outboard_bench.plot import size_text
from outboard_bench.rows import Row
from outboard_bench.sial_bars import Bar
from outboard_bench.sial_hosts import Hosts
from outboard_bench.sial_runs import Job

# Square blocks of at least 1, 4 and 16 MiB.
_EXTENTS = (363, 725, 1449)
_STRETCH_BYTES = 96 << 20  # of all workers together, about a second at 1 Gb/s
_LEAST = {"get": 0.95, "get on demand": 0.95, "put": 0.95, "accumulate": 0.85}
_LEAST_OF_MANY = 0.9
_PLAIN = {"get": "from", "get on demand": "round", "put": "to", "accumulate": "to"}
# The first line of each stretch of transfers.sial. It ends at the next barrier.
_BEGINS = {"get": "get a", "put": "t[i,j] = 2.0", "accumulate": "t[i,j] = 3.0"}


def measure(hosts: Hosts, options: argparse.Namespace, folder: Path) -> tuple[list[Row], list[Bar]]:
    bars = []
    extents = (20,) if options.check else _EXTENTS
    for workers in (1, 4):
        # Several workers take the middle size: the link of their server is the limit.
        for extent in extents if workers == 1 else extents[len(extents) // 2 :][:1]:
            bars += _measure(hosts, workers, extent, options, folder)
    return [], bars


def _measure(
    hosts: Hosts, workers: int, extent: int, options: argparse.Namespace, folder: Path
) -> list[Bar]:
    size = 8 * extent**2
    blocks = 2 if options.check else max(4, _STRETCH_BYTES // size // workers)
    ints = {"rows": workers, "norb": blocks}
    file = Job("transfers", ints, segments=[extent] * max(blocks, workers)).write(folder)
    count = 2 if options.check else max(4, blocks // 4)
    plain = sial_messages.measure(hosts, workers + 1, [size], count, check=options.check)
    rates: dict[str, list[float]] = {}
    for _ in range(options.runs):
        for depth in ("auto", "off"):
            report = sial_runs.run(hosts, file, workers, 1, ["--prefetch", depth])
            for what, begin in _BEGINS.items():
                seconds = report.seconds(begin, "sip_barrier") / (blocks * workers)
                if depth == "auto":
                    rates.setdefault(what, []).append(size * 1e-6 / seconds)
                elif what == "get" and workers == 1:
                    rates.setdefault("get on demand", []).append(size * 1e-6 / seconds)
    return [_bar(what, workers, size, found, plain) for what, found in rates.items()]


def _bar(
    what: str, workers: int, size: int, rates: list[float], plain: sial_messages.Seconds
) -> Bar:
    beside = size * 1e-6 / plain[_PLAIN[what], size]
    who = "1 worker" if workers == 1 else f"{workers} workers"
    case = f"transfers {what}, {who}, {size_text(size >> 20 << 20 or size)}"
    row = Row.of_runs("sial", case, size, rates, "MB/s", beside, "plain MPI")
    return Bar(row, _LEAST[what] if workers == 1 else _LEAST_OF_MANY)
