"""`outboard bench overlap`: an exchange behind a computation, over emulated links, with plain MPI,
with the layer for unmodified programs, and with the modes of the overlap library."""

from __future__ import annotations

import argparse
import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outboard import mpi_eager, paths, preload
from outboard.errors import OutboardError
from outboard_bench import native_program, plot, rows, sial_runs
from outboard_bench.link import Link, rate_list
from outboard_bench.native_program import CHECK_BURST
from outboard_bench.netns import ended_by_exception, may_emulate, require_root
from outboard_bench.sial_hosts import MPIS, Hosts, over_link
from outboard_bench.turns import in_turns

_WARMUPS = 2


@dataclass(frozen=True)
class Way:
    """A way to move the messages. `layer` is the value of OUTBOARD_MPI_OVERLAP. `chooses`: it needs
    iterations until it has chosen by measurement. `eager`: with `outboard run --eager 64M`."""

    name: str
    mode: str = "mpi"
    layer: str | None = None
    chooses: bool = False
    eager: bool = False

    def hosts(self, hosts: Hosts) -> Hosts:
        added = mpi_eager.variables(mpi_eager.MOST_BYTES, {}) if self.eager else {}
        if self.layer is not None:
            library = paths.require_native().root / "lib" / preload.MPI_NAME
            added |= {"LD_PRELOAD": str(library), "OUTBOARD_MPI_OVERLAP": self.layer}
        return dataclasses.replace(hosts, settings={**hosts.settings, **added})


WAYS = (
    Way("native"),
    Way("layer on", layer="on"),
    Way("layer auto", layer="auto", chooses=True),
    Way("native eager", eager=True),
    Way("layer auto eager", layer="auto", chooses=True, eager=True),
    *(Way(f"library {mode}", mode) for mode in ("sync", "async", "ticked", "shared", "proxy")),
    Way("library automatic", "automatic", chooses=True),
)


@dataclass(frozen=True)
class Case:
    """An exchange of `size` bytes each way, behind a computation."""

    size: int
    core: str  # busy or idle
    rounds: int
    settle: int  # iterations in which a way may choose


@dataclass
class Times:
    """The milliseconds of one run: of exchanges alone, and of iterations with a computation."""

    exchange: list[float]
    iteration: list[float]


class Overlap:
    """Two ranks exchange a message each way, compute for as long as the exchange alone takes, and
    wait."""

    name = "overlap"
    summary = "messages behind computation, over emulated links, as root (its own: -- --help)"

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        program = native_program.require(paths.require_native(), f"overlap_exchange_{options.mpi}")
        if options.check and not may_emulate():
            return rows.SKIPPED
        require_root()
        with ended_by_exception(), rows.kept(json_file) as measured:
            for rate in options.rates:
                burst = CHECK_BURST if options.check else None
                with Link(rate, burst) as link, over_link(link, options.mpi) as hosts:
                    place = f"{options.mpi}, {link.name}"
                    for case in options.cases:
                        fresh = _measure(program, hosts, case, place, options.turns)
                        rows.show(fresh)
                        measured += fresh
        return 0

    def draw(self, found: Sequence[Mapping[str, Any]], file: Path) -> None:
        """Draws the overhead of each way over the bound, with one panel per case."""
        cases: dict[str, dict[str, Mapping[str, Any]]] = {}
        for row in found:
            case, way = row["case"].rsplit(", ", 1)
            cases.setdefault(case, {})[way] = row
        figure, axes = plot.panels(len(cases), columns=min(len(cases), 2))
        for axis, (case, group) in zip(axes, cases.items(), strict=True):
            resolution = group.pop("resolution")["value"]
            axis.set_title(f"{case} (resolution {resolution:.2g} ms)", fontsize=9)
            axis.barh(list(group), [row["value"] for row in group.values()], color="C0")
            bound = group["native"]["ceiling"]
            axis.axvline(bound, color="0.2", linestyle="--", label="bound")
            axis.invert_yaxis()
            axis.set_xlabel("ms an iteration")
            axis.legend(fontsize=8)
        plot.save(figure, file)


def _measure(program: Path, hosts: Hosts, case: Case, place: str, turns: int) -> list[rows.Row]:
    """Returns a row for each way: the median of all its iterations, beside the bound, which is the
    longer one of computation and exchange. The last row is the difference between the medians of
    two native runs: smaller differences say nothing."""
    alone = _run(program, hosts, WAYS[0], case, 0.0)
    compute_ms = statistics.median(alone.exchange)
    ways = [*WAYS, WAYS[0]]
    found: list[list[float]] = [[] for _ in ways]
    exchanges = list(alone.exchange)
    for at in in_turns(len(ways), turns):
        times = _run(program, hosts, ways[at], case, compute_ms)
        found[at] += times.iteration
        if ways[at] is WAYS[0]:
            exchanges += times.exchange
    bound = max(compute_ms, statistics.median(exchanges))
    what = f"{place}, {case.size >> 10} KiB, core {case.core}"

    def row(name: str, values: Sequence[float]) -> rows.Row:
        case_name = f"{what}, {name}"
        return rows.Row.of_runs("overlap", case_name, case.size, values, "ms", bound, "bound")

    made = [row(way.name, values) for way, values in zip(WAYS, found, strict=False)]
    resolution = abs(statistics.median(found[0]) - statistics.median(found[-1]))
    made.append(rows.Row.of_runs("overlap", f"{what}, resolution", case.size, [resolution], "ms"))
    return made


def _run(program: Path, hosts: Hosts, way: Way, case: Case, compute_ms: float) -> Times:
    words = [str(program), str(case.size), f"{compute_ms:.4f}", case.core, str(case.rounds)]
    words += [way.mode, str(case.settle if way.chooses else _WARMUPS)]
    command = way.hosts(hosts).command(1, 1, words)
    times = Times([], [])
    for line in sial_runs.finish(command).splitlines():
        what, _, value = line.partition(",")
        if what in ("exchange", "iteration"):
            getattr(times, what).append(float(value))
    if len(times.iteration) != case.rounds:
        raise OutboardError(f"{way.name} measured too little: {times}")
    return times


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="outboard bench overlap", description=Overlap.__doc__)
    add = parser.add_argument
    add("--mpi", choices=MPIS, default="mpich", help="the MPI (default: mpich)")
    add("--rates", type=rate_list, default=(1.0, 4.0), help="Gb/s of the links, with commas")
    add("--sizes", type=_sizes, default=(1 << 20, 4 << 20, 16 << 20), help="bytes each way")
    add("--rounds", type=int, default=20, help="iterations of each run")
    add("--settle", type=int, default=100, help="iterations before, of ways that choose")
    add("--turns", type=int, default=3, help="runs of each way, in turns")
    add("--check", action="store_true", help="a small one, once, to see that it runs")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.turns < 1 or options.settle < 0:
        parser.error("--rounds and --turns take 1 or more, and --settle 0 or more")
    if options.check:
        options.rates, options.sizes, options.rounds, options.turns = (1.0,), (1 << 18,), 2, 1
        options.settle = 2
    options.cases = [
        Case(size, core, options.rounds, options.settle)
        for size in options.sizes
        for core in ("busy", "idle")
    ]
    if options.check:
        options.cases = options.cases[:1]
    return options


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(int(word) if word.isdecimal() else 0 for word in text.split(","))
    if not all(1 <= size <= 1 << 30 for size in sizes):
        raise argparse.ArgumentTypeError(f"'{text}' has no sizes of 1 byte to 1 GiB")
    return sizes
