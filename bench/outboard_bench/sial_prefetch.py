"""`outboard bench sial prefetch`: how long a worker waits for blocks, by the number of blocks that
it fetches ahead, the number that it needs, and their size. Source: SIA, section 6.2"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from outboard_bench import sial_bars, sial_messages, sial_runs
from outboard_bench.rows import Row
from outboard_bench.sial_bars import Bar
from outboard_bench.sial_hosts import Hosts
from outboard_bench.sial_runs import Job
from outboard_bench.turns import in_turns

VARIABLES = ("depth", "range", "size")
# By SIA's definition, an operand that is there already is a hit. These are what one block is read
# by: both factors, `busy_compute` and the put.
QUANTITIES = ("hit ratio", "first-use hits", "first wait", "mean wait", "loop")
_UNITS = ("ratio", "ratio", "ms", "ms", "ms")
# A computation that takes so many times as long as the transfer of its block.
_COMPUTE = 1.5


@dataclass(frozen=True)
class Case:
    """A loop over `blocks` square blocks, with computation or without."""

    extent: int
    blocks: int
    depth: str
    computes: bool

    @property
    def block_bytes(self) -> int:
        return 8 * self.extent**2

    @property
    def name(self) -> str:
        mode = "compute" if self.computes else "bare"
        return f"{mode} {self.extent}x{self.extent}"


@dataclass
class Found:
    """The figures of some runs of a case, in ms."""

    case: Case
    transfer_ms: float  # a plain MPI message of a block, asked for with another
    stream_ms: float  # each of a stream of such messages
    compute_ms: float
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, report: sial_runs.Report) -> None:
        get = report.line("get a")["get"]
        wait_ms = 1e3 * (get["demand_wait_s"] + get["late_wait_s"])
        one = {
            "hit ratio": 1 - get["waits"] / get["accesses"],
            "first-use hits": 1 - get["first_waits"] / get["first_uses"],
            "first wait": 1e3 * get["first_wait_s"],
            "mean wait": wait_ms / self.case.blocks,
            "loop": 1e3 * report.seconds("get a", "endsial"),
        }
        for name, value in one.items():
            self.values.setdefault(name, []).append(value)

    def median(self, name: str) -> float:
        return statistics.median(self.values[name])

    @property
    def waited_ms(self) -> float:
        return self.median("mean wait") * self.case.blocks

    def model_ms(self) -> float | None:
        """Returns the mean wait by the model: what is needed now comes first, and enough blocks are
        fetched ahead to keep the link busy."""
        tau, blocks, compute = self.transfer_ms, self.case.blocks, self.compute_ms
        if self.case.depth == "0":
            return tau
        stream = self.stream_ms
        return (tau + (blocks - 1) * max(0.0, stream - compute)) / blocks

    def model_sia_ms(self) -> float:
        """Returns the mean wait by SIA's algorithm, where the first block shares the link with all
        that are fetched ahead."""
        if self.case.depth == "0":
            return self.transfer_ms
        ahead = 1 if self.case.depth == "auto" else int(self.case.depth)
        tau, blocks, compute = self.stream_ms, self.case.blocks, self.compute_ms
        first = (min(ahead, blocks - 1) + 1) * tau
        return max(first, blocks * tau - (blocks - 1) * compute) / blocks


def cases(options: argparse.Namespace, computes: bool) -> Iterator[Case]:
    extent, blocks = options.extent, options.blocks
    if options.over == "depth":
        for depth in options.depths:
            yield Case(extent, blocks, depth, computes)
    elif options.over == "range":
        for count in options.ranges:
            for depth in ("0", "auto"):
                yield Case(extent, count, depth, computes)
    else:
        for size in options.extents:
            for depth in ("0", "auto"):
                yield Case(size, blocks, depth, computes)


def measure(hosts: Hosts, options: argparse.Namespace, folder: Path) -> tuple[list[Row], list[Bar]]:
    """Measures all cases in turns, prints a table for each mode, and returns rows and bars."""
    found_rows: list[Row] = []
    bars: list[Bar] = []
    sizes = sorted({case.block_bytes for case in cases(options, False)})
    plain = sial_messages.measure(hosts, 2, sizes, check=options.check)
    for computes in (True, False):
        found = _measure_mode(hosts, list(cases(options, computes)), plain, options.runs, folder)
        _print(found, options.over)
        found_rows += [row for one in found for row in _rows(one, options.over)]
        if options.over == "depth":
            bars += _bars(found, plain)
    return found_rows, bars


def _measure_mode(
    hosts: Hosts,
    wanted: Sequence[Case],
    plain: sial_messages.Seconds,
    runs: int,
    folder: Path,
) -> list[Found]:
    found, files = [], []
    for case in wanted:
        transfer, each = (1e3 * plain[kind, case.block_bytes] for kind in ("round", "from"))
        compute = _COMPUTE * max(transfer, each) if case.computes else 0.0
        found.append(Found(case, transfer, each, compute))
        files.append(_job(case, compute).write(folder))
    for done, at in enumerate(in_turns(len(found), runs)):
        case = found[at].case
        _say(f"{case.name}, {case.blocks} blocks, N={case.depth}", done, len(found) * runs)
        report = sial_runs.run(hosts, files[at], 1, 1, ["--prefetch", case.depth])
        found[at].add(report)
    _say("", 0, 0)
    return found


def _job(case: Case, compute_ms: float) -> Job:
    return Job(
        program="fetch_compute" if case.computes else "fetch",
        ints={"rows": 1, "norb": case.blocks},
        scalars={"pause": compute_ms * 1e-3} if case.computes else {},
        segments=[case.extent] * case.blocks,
    )


def _say(what: str, done: int, all_: int) -> None:
    """Shows progress on a terminal."""
    if sys.stderr.isatty():
        text = f"{done + 1}/{all_} {what}" if all_ else ""
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _print(found: Sequence[Found], over: str) -> None:
    first = found[0]
    case = first.case
    print(
        f"\n{'With' if case.computes else 'Without'} a computation. A plain MPI message of "
        f"{case.block_bytes >> 10} KiB: {first.transfer_ms:.3g} ms alone, {first.stream_ms:.3g} ms "
        f"in a stream; computing takes {first.compute_ms:.3g} ms."
    )
    headings = [over if over != "depth" else "N", *(("N",) if over != "depth" else ())]
    headings += ["hit ratio", "first uses", "first wait", "mean wait", "model", "SIA's", "loop"]
    lines = []
    for one in found:
        head = [_x(one.case, over), *((one.case.depth,) if over != "depth" else ())]
        sia = "" if one.case.depth == "auto" else f"{one.model_sia_ms():.3g} ms"
        lines.append(
            [
                *head,
                f"{one.median('hit ratio'):.4f}",
                f"{one.median('first-use hits'):.4f}",
                f"{one.median('first wait'):.3g} ms",
                f"{one.median('mean wait'):.3g} ms",
                f"{one.model_ms():.3g} ms",
                sia,
                f"{one.median('loop'):.4g} ms",
            ]
        )
    sial_bars.print_lines(headings, lines)


def _x(case: Case, over: str) -> str:
    values = {"depth": case.depth, "range": str(case.blocks), "size": str(case.extent**2)}
    return values[over]


def _rows(found: Found, over: str) -> Iterator[Row]:
    """Yields rows with cases such as "prefetch bare, over depth, 5, N=5, mean wait"."""
    case = found.case
    mode = "compute" if case.computes else "bare"
    for name, unit in zip(QUANTITIES, _UNITS, strict=True):
        text = f"prefetch {mode}, over {over}, {_x(case, over)}, N={case.depth}, {name}"
        model = found.model_ms() if name == "mean wait" else None
        yield Row.of_runs("sial", text, case.block_bytes, found.values[name], unit, model, "model")


def _bars(found: Sequence[Found], plain: sial_messages.Seconds) -> list[Bar]:
    by_depth = {one.case.depth: one for one in found}
    if not {"0", "auto"} <= by_depth.keys():
        return []
    off, auto = by_depth["0"], by_depth["auto"]
    name, size = f"prefetch {auto.case.name}, N=auto", auto.case.block_bytes
    bars: list[Bar] = []
    if auto.case.computes:
        transfers = auto.waited_ms / auto.transfer_ms
        hits, first = auto.median("hit ratio"), auto.median("first-use hits")
        bars += [
            Bar.at_least(f"{name}, hit ratio", hits, 0.99, "", size),
            Bar.at_least(f"{name}, first-use hits", first, 0.98, "", size),
            Bar.at_most(f"{name}, all waiting", transfers, 1.1, "transfers", size),
        ]
    else:
        both_ms = 1e3 * plain["both", size]
        busy = both_ms * auto.case.blocks / auto.median("loop")
        bars.append(Bar.at_least(f"{name}, link busy", busy, 0.95, "of MPI both ways", size))
    best = min(one.median("loop") for one in found if one.case.depth not in ("0", "auto"))
    first_off, first_on = off.median("first wait"), auto.median("first wait")
    bars += [
        Bar.at_most(f"{name}, first wait", first_on, 1.1 * first_off, "ms", size),
        Bar.at_most(f"{name}, loop by best N", auto.median("loop") / best, 1.05, "x", size),
        Bar.at_most(
            f"{name}, loop by N=0", auto.median("loop") / off.median("loop"), 1.02, "x", size
        ),
    ]
    return bars
