"""`outboard bench sial spill` and `scale`: servers with less memory than data, many ranks, and
many blocks."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from outboard.errors import OutboardError
from outboard_bench import sial_rank, sial_runs
from outboard_bench.plot import size_text
from outboard_bench.rows import Row
from outboard_bench.sial_bars import Bar
from outboard_bench.sial_hosts import Hosts
from outboard_bench.sial_runs import Job

_MIB = 1 << 20


@dataclass(frozen=True)
class Run:
    """A run of a job, with the most memory of each rank [bytes]."""

    seconds: float
    memory: list[int]
    output: str


def run(hosts: Hosts, job: Path, workers: int, servers: int, options: list[str]) -> Run:
    folder = job.with_name("memory")
    folder.mkdir(exist_ok=True)
    words = [sys.executable, "-S", "-E", str(Path(sial_rank.__file__)), str(folder)]
    command = sial_runs.command_line(hosts, job, workers, servers, options, before=words)
    began = time.perf_counter()
    output = sial_runs.finish(command)
    seconds = time.perf_counter() - began
    memory = [int((folder / str(rank)).read_text()) for rank in range(workers + servers)]
    return Run(seconds, memory, output)


# --- spill ---

# Square blocks of a little more than 1 MiB.
_SPILL_EXTENT = 363
_TIMES_THE_CAP = 10


def measure_spill(
    hosts: Hosts, options: argparse.Namespace, folder: Path
) -> tuple[list[Row], list[Bar]]:
    """Puts ten times the server's memory, and reads it back, beside writing and reading a file of
    the same size in the same way."""
    norb, extent = (4, 20) if options.check else (25, _SPILL_EXTENT)
    block = 8 * extent**2
    data = block * norb**2
    cap = data // _TIMES_THE_CAP
    files = Job("spill", {"norb": norb}, segments=[extent] * norb).write(folder)
    idle = Job("spill", {"norb": 1}, segments=[1]).write(folder)
    limited = ["--server-memory", str(cap), "--spill", str(folder / "spilled")]
    expected = float(extent**2 * sum(n * n for n in range(1, norb**2 + 1)))
    rates: dict[str, list[float]] = {}
    plain: dict[str, list[float]] = {}
    base = run(hosts, idle, 1, 1, []).memory[1]
    for _ in range(options.runs):
        for name, seconds in zip(("write", "read"), _file_s(folder, block, norb**2), strict=True):
            plain.setdefault(name, []).append(data * 1e-6 / seconds)
        report = sial_runs.run(hosts, files, 1, 1, limited)
        for name, begin in (("write", "t[i,j] = (scalar)"), ("read", "get a")):
            seconds = report.seconds(begin, "sip_barrier")
            rates.setdefault(name, []).append(data * 1e-6 / seconds)
    measured = run(hosts, files, 1, 1, limited)
    _right(measured.output, expected)
    most = measured.memory[1] - base
    bars = []
    for name, found in rates.items():
        case = (
            f"spill {name}, {_TIMES_THE_CAP} times the cap of {size_text(cap >> 20 << 20 or cap)}"
        )
        row = Row.of_runs("sial", case, data, found, "MB/s", max(plain[name]), "the same file")
        bars.append(Bar(row, 0.8))
    case = f"spill memory of the server beyond that of an idle one, cap {cap / _MIB:.3g} MiB"
    bars.append(Bar.at_most(case, most / _MIB, 1.05 * cap / _MIB, "MiB", cap))
    return [], bars


def _right(output: str, expected: float) -> None:
    """Raises OutboardError if the sum of squares of all elements is another one."""
    match = re.search(r"total = (\S+)", output)
    if match is None or float(match[1]) != expected:
        raise OutboardError(f"a block came back wrong: the sum is not {expected!r} in {output!r}")


def _file_s(folder: Path, block: int, count: int) -> tuple[float, float]:
    """Returns the seconds of writing blocks to a file, as a server does, and of reading them."""
    content = os.urandom(block)
    path = folder / "plain"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        began = time.perf_counter()
        for at in range(count):
            os.pwrite(handle, content, at * block)
        wrote = time.perf_counter() - began
        began = time.perf_counter()
        for at in range(count):
            os.pread(handle, block, at * block)
        return wrote, time.perf_counter() - began
    finally:
        os.close(handle)
        path.unlink()


# --- scale ---

_RANKS = 64
_FEW_BLOCKS = 1000  # an array of about so many blocks is the start of the comparison
_MOST_BYTES_OF_A_BLOCK = 100
_MOST_GROWTH_MIB = 1.0  # of a worker, by the blocks that it does not hold


def measure_scale(
    hosts: Hosts, options: argparse.Namespace, folder: Path
) -> tuple[list[Row], list[Bar]]:
    ranks = 6 if options.check else _RANKS
    servers = ranks // 3
    norb = 4 if options.check else 24
    job = Job("many_ranks", {"norb": norb}, segments=[8] * norb).write(folder)
    many = run(hosts, job, ranks - servers, servers, [])
    _right(many.output, float(64 * norb * norb))
    found = [
        _one(f"scale {ranks} ranks, start to end", many.seconds * 1e3, "ms"),
        _one(f"scale {ranks} ranks, most memory of one", max(many.memory) / _MIB, "MiB"),
    ]
    few_norb = 10 if options.check else int(_FEW_BLOCKS**0.5)
    norb = 40 if options.check else int((1e7 if options.full else 1e6) ** 0.5)
    few, all_ = (
        run(hosts, Job("many_blocks", {"norb": n}, segments=[1] * n).write(folder), 1, 1, [])
        for n in (few_norb, norb)
    )
    blocks, more = norb**2, norb**2 - few_norb**2
    each = (all_.memory[1] - few.memory[1]) / more - 8
    growth = (all_.memory[0] - few.memory[0]) / _MIB
    found.append(
        _one(f"scale {blocks} blocks, each with a message", all_.seconds * 1e6 / blocks, "us")
    )
    bars = [
        Bar.at_most(
            f"scale {blocks} blocks, server beyond data", each, _MOST_BYTES_OF_A_BLOCK, "B a block"
        ),
        Bar.at_most(f"scale {blocks} blocks, worker's growth", growth, _MOST_GROWTH_MIB, "MiB"),
    ]
    for row in found:
        print(f"{row.case}: {row.value:.4g} {row.unit}")
    return found, bars


def _one(case: str, value: float, unit: str) -> Row:
    return Row.of_runs("sial", case, 0, [value], unit)
