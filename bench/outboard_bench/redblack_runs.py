"""Runs of the example redblack3d, and the rows of a table of PROXY that are made of them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from outboard.errors import OutboardError
from outboard_bench import rows, sial_hosts, sial_runs
from outboard_bench.link import Link
from outboard_bench.native_program import CHECK_BURST, require_example
from outboard_bench.proxy_tables import Kept, Kernel, Node, Ranks, Run
from outboard_bench.sial_hosts import Hosts, over_link
from outboard_bench.turns import in_turns

_MPI = "mpich"
_KEPT_BURST = 32 << 10  # small beside a face, because a burst passes without a limit
_TIMES = re.compile(
    r"iterations: ([\d.]+) ms each\nrelaxation ([\d.]+) ms, communication ([\d.]+) ms"
)


@dataclass(frozen=True)
class Sizes:
    """The extent of a measurement."""

    edge: int | None  # of the grids of two ranks; None: as in the table
    one_node: tuple[int, ...]  # edges of kernels and nodes; none: as in the table
    kept_edge: int
    kept_share: float  # of the table's times
    iterations: int
    kept_iterations: int
    turns: int


QUICK = Sizes(200, (240,), 256, 1.0, 10, 4, 3)
FULL = Sizes(None, (), 256, 1.0, 16, 16, 3)
CHECK = Sizes(24, (24,), 64, 0.02, 2, 2, 1)


Finish = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class Place:
    """The hosts of the ranks, and how a command there is run to its end."""

    hosts: Hosts = field(default_factory=lambda: sial_hosts.here(_MPI))
    finish: Finish = sial_runs.finish


@dataclass(frozen=True)
class Times:
    """The milliseconds of an iteration, and the parts of it: means of the ranks."""

    total: float
    relaxation: float
    communication: float


def times_of(output: str) -> Times:
    """Returns the times that redblack3d printed."""
    found = _TIMES.search(output)
    if found is None:
        raise OutboardError(f"redblack3d printed no times: '{output.strip()}'")
    return Times(*map(float, found.groups()))


def program() -> Path:
    """Returns the example program. Raises NotBuiltError if it was not built."""
    return require_example(f"example_redblack3d_{_MPI}", "libmpich-dev and mpich")


def rows_of(table: str, run: Run, sizes: Sizes) -> list[rows.Row]:
    """Measures one part of a table, and prints nothing."""
    match run:
        case Kernel():
            return _kernel(table, sizes.one_node or run.edges, sizes)
        case Node():
            return _node(table, sizes.one_node or run.edges, sizes)
        case Ranks():
            return _ranks(table, run, sizes)
        case Kept():
            return _kept(table, run, sizes)


def _kernel(table: str, edges: Sequence[int], sizes: Sizes) -> list[rows.Row]:
    found = []
    for edge in edges:
        alone = partial(_run, Place(), (1, 0), edge, sizes.iterations, "sync")
        one, two = _measure([alone, partial(alone, "--threads", "2")], sizes.turns)
        found += [
            _row(table, "1 thread", edge, _totals(one), "ms"),
            _row(table, "2 threads", edge, _totals(two), "ms"),
            _row(table, "2 threads", edge, [_percent(two, one)], "% of 1 thread"),
        ]
    return found


def _node(table: str, edges: Sequence[int], sizes: Sizes) -> list[rows.Row]:
    found = []
    here = Place()
    for edge in edges:
        threads, processes = _measure(
            [
                partial(_run, here, (1, 0), edge, sizes.iterations, "sync", "--threads", "2"),
                partial(_run, here, (2, 0), edge, sizes.iterations, "sync"),
            ],
            sizes.turns,
        )
        found += [
            _row(table, "2 threads", edge, _totals(threads), "ms"),
            _row(table, "2 processes", edge, _totals(processes), "ms"),
            _row(table, "2 threads", edge, [_percent(threads, processes)], "% of processes"),
            _row(table, "communication", edge, _shares(processes), "% of processes"),
        ]
    return found


def _ranks(table: str, run: Ranks, sizes: Sizes) -> list[rows.Row]:
    """Two ranks of one core each. The halo takes as large a part of an iteration as it does at the
    edge of the table with 1 Gb/s."""
    edge = sizes.edge or run.edge
    burst = CHECK_BURST if sizes is CHECK else None
    rate = 1.0 if sizes is CHECK else run.edge / edge
    with Link(rate, burst) as link, over_link(link, _MPI) as hosts:
        place = _over(link, hosts)
        found = _measure(
            [
                partial(_run, place, (1, 1), edge, sizes.iterations, mode, "--periodic")
                for mode in run.modes
            ],
            sizes.turns,
        )
    sync = found[run.modes.index("sync")]
    bound = max(
        statistics.median(times.relaxation for times in sync),
        statistics.median(times.communication for times in sync),
    )
    made = [_row(table, "ranks sync: communication", edge, _shares(sync), "%")]
    for mode, times in zip(run.modes, found, strict=True):
        made.append(_row(table, f"ranks {mode}", edge, _totals(times), "ms", bound, "bound"))
        if mode != "sync":
            share = [_percent(times, sync)]
            made.append(_row(table, f"ranks {mode}", edge, share, "% of sync"))
    return made


def _kept(table: str, run: Kept, sizes: Sizes) -> list[rows.Row]:
    """Two neighbouring nodes. The others of the table would wait for each other as these do."""
    halo_ms = run.halo_ms * sizes.kept_share
    face_bits = 64 * sizes.kept_edge**2
    rate = face_bits / (halo_ms / 2 * 1e-3) * 1e-9  # a face in each of two sweeps

    def runs(place: Place) -> list[Callable[[], Times]]:
        return [
            partial(
                _run,
                place,
                (1, 1),
                sizes.kept_edge,
                sizes.kept_iterations,
                variant.mode,
                "--relax-ms",
                f"{variant.relax_ms * sizes.kept_share:.4f}",
            )
            for variant in run.variants
        ]

    with Link(rate, _KEPT_BURST) as link, over_link(link, _MPI) as hosts:
        found = _measure(runs(_over(link, hosts)), sizes.turns)
    made = []
    for variant, times in zip(run.variants, found, strict=True):
        relax_ms = variant.relax_ms * sizes.kept_share
        hidden = variant.mode == "proxy"
        model = max(relax_ms, halo_ms) if hidden else relax_ms + halo_ms
        series = f"kept {variant.name}"
        made.append(_row(table, series, run.label, _totals(times), "ms", model, "model"))
        if times is not found[0]:
            made.append(_row(table, series, run.label, [_percent(times, found[0])], "% of sync"))
    return made


# --- one run ---


def _over(link: Link, hosts: Hosts) -> Place:
    return Place(hosts, partial(sial_runs.finish_at_line, link, "relaxation"))


def _run(
    place: Place,
    ranks: tuple[int, int],
    edge: int,
    iterations: int,
    mode: str,
    *options: str,
) -> Times:
    words = [str(program()), "--n", str(edge), "--iterations", str(iterations), "--mode", mode]
    return times_of(place.finish(place.hosts.command(*ranks, [*words, *options])))


def _measure(runs: Sequence[Callable[[], Times]], turns: int) -> list[list[Times]]:
    """Returns the times of each run."""
    found: list[list[Times]] = [[] for _ in runs]
    for at in in_turns(len(runs), turns):
        found[at].append(runs[at]())
    return found


def _totals(times: Sequence[Times]) -> list[float]:
    return [one.total for one in times]


def _shares(times: Sequence[Times]) -> list[float]:
    return [100 * one.communication / one.total for one in times]


def _percent(part: Sequence[Times], whole: Sequence[Times]) -> float:
    return 100 * statistics.median(_totals(part)) / statistics.median(_totals(whole))


def _row(
    table: str,
    series: str,
    x: int | str,
    values: Sequence[float],
    unit: str,
    beside: float | None = None,
    beside_name: str | None = None,
) -> rows.Row:
    case = f"{table}, {series}, {x}"
    return rows.Row.of_runs("redblack", case, 0, values, unit, beside, beside_name)
