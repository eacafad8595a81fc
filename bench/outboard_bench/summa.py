"""`outboard bench summa`: products on two ranks by the example summa and by ScaLAPACK's pdgemm."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from outboard.errors import OutboardError
from outboard_bench import machine, plot, rows, sial_hosts, sial_runs
from outboard_bench.link import Link, rate_list
from outboard_bench.native_program import CHECK_BURST, require_example
from outboard_bench.netns import ended_by_exception, may_emulate
from outboard_bench.turns import in_turns

MODES = ("sync", "async", "ticked", "shared", "proxy", "automatic")
_TIMES = re.compile(r"^(summa|pdgemm) .*median ([\d.]+) ms", re.MULTILINE)
_LAST_LINE = "pdgemm"
# Where each host has one of two cores, one thread of BLAS is all that a rank has room for.
_SETTINGS = {"OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Shape:
    """How both programs divide a product."""

    mesh: str  # ranks along rows and columns: 1x2
    panel: int

    def __str__(self) -> str:
        return f"mesh {self.mesh}, panels of {self.panel}"


@dataclass
class Times:
    """The milliseconds of products, by the shape of each run."""

    of: dict[Shape, list[float]] = field(default_factory=dict)

    def add(self, shape: Shape, milliseconds: float) -> None:
        self.of.setdefault(shape, []).append(milliseconds)

    def best(self) -> tuple[Shape, list[float]]:
        """Returns the shape with the least median, and its times."""
        return min(self.of.items(), key=lambda one: statistics.median(one[1]))


Run = Callable[[Sequence[str]], str]


class Summa:
    """Each mode of the overlap library, and pdgemm in turns with it in the same program. Either has
    its best mesh and panel in these runs."""

    name = "summa"
    summary = "summa beside ScaLAPACK's pdgemm, shared memory and links (its own: -- --help)"

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        program(options.mpi)
        with ended_by_exception(), rows.kept(json_file) as measured:
            for rate in options.rates:
                if rate and not may_emulate():
                    continue
                with _place(options, rate) as (name, run):
                    for order in options.orders:
                        fresh = measure(options, f"{options.mpi}, {name}", run, order)
                        rows.show(fresh)
                        measured += fresh
        return 0 if measured else rows.SKIPPED

    def draw(self, found: Sequence[Mapping[str, Any]], file: Path) -> None:
        """Draws how often a mode is as fast as pdgemm."""
        timed = [row for row in found if row["ratio"] is not None]
        figure, (axis,) = plot.panels(1, columns=1)
        axis.barh([row["case"] for row in timed], [row["ratio"] for row in timed], color="C0")
        axis.axvline(1, color="0.2", linestyle="--")
        axis.invert_yaxis()
        axis.set_xlabel("time of pdgemm / time of summa")
        plot.save(figure, file)


def measure(options: argparse.Namespace, place: str, run: Run, order: int) -> list[rows.Row]:
    """Returns a row for each mode."""
    cases = [
        (mode, Shape(mesh, panel))
        for mode in options.modes
        for mesh in options.meshes
        for panel in options.panels
    ]
    modes = {mode: (Times(), Times()) for mode in options.modes}
    for at in in_turns(len(cases), options.turns):
        mode, shape = cases[at]
        words = ["--mode", mode, "--mesh", shape.mesh, "--panel", str(shape.panel)]
        for size in ("--m", "--n", "--k"):
            words += [size, str(order)]
        words += ["--scalapack", "--turns", str(options.products)]
        for times, milliseconds in zip(modes[mode], times_of(run(words)), strict=True):
            times.add(shape, milliseconds)
    made = []
    for mode, (summa, pdgemm) in modes.items():
        shape, values = summa.best()
        other, beside = pdgemm.best()
        case = f"{place}, order {order}, {mode}, {shape}"
        peer = (statistics.median(beside), f"pdgemm, {other}")
        made.append(rows.Row.of_runs("summa", case, 8 * order**2, values, "ms", *peer))
    return made


def times_of(output: str) -> tuple[float, float]:
    """Returns the medians that the program printed: of summa and of pdgemm [ms]."""
    found = dict(_TIMES.findall(output))
    if found.keys() != {"summa", "pdgemm"}:
        raise OutboardError(f"summa printed no times of both (ScaLAPACK?): '{output.strip()}'")
    return float(found["summa"]), float(found["pdgemm"])


def program(mpi: str) -> Path:
    """Returns the example program. Raises NotBuiltError if it was not built."""
    return require_example(f"example_summa_{mpi}", f"{mpi} and libscalapack-{mpi}-dev")


@contextlib.contextmanager
def _place(options: argparse.Namespace, rate: float) -> Iterator[tuple[str, Run]]:
    """Yields the name of a place for two ranks, and what runs the program there."""
    settings = {**_SETTINGS, **machine.best_kernels(os.environ)}
    start = ["env", *(f"{name}={value}" for name, value in settings.items())]
    start.append(str(program(options.mpi)))
    if not rate:
        hosts = sial_hosts.here(options.mpi)
        yield "shared memory", lambda words: sial_runs.finish(hosts.command(2, 0, [*start, *words]))
        return
    burst = CHECK_BURST if options.check else None
    with Link(rate, burst) as link, sial_hosts.over_link(link, options.mpi) as hosts:
        finish = partial(sial_runs.finish_at_line, link, _LAST_LINE)
        yield link.name, lambda words: finish(hosts.command(1, 1, [*start, *words]))


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="outboard bench summa", description=Summa.__doc__)
    add = parser.add_argument
    add("--mpi", choices=sial_hosts.MPIS, default="openmpi", help="the MPI (default: openmpi)")
    add("--rates", type=_rates, default=(0.0, 1.0, 4.0), help="Gb/s; 0: shared memory")
    add("--orders", type=_numbers, default=(1024, 2048, 4096), help="of square products")
    add("--modes", type=_modes, default=("ticked", "shared"), help=", ".join(MODES))
    add("--meshes", type=_meshes, default=("1x2", "2x1"), help="of two ranks, with commas")
    add("--panels", type=_numbers, default=(64, 128, 256), help="columns, with commas")
    add("--turns", type=int, default=2, help="runs of each case, in turns")
    add("--products", type=int, default=3, help="of each run, whose median counts")
    add("--check", action="store_true", help="a small one, once, to see that it runs")
    options = parser.parse_args(arguments)
    if options.turns < 1 or options.products < 1:
        parser.error("--turns and --products take 1 or more")
    if options.check:
        options.rates, options.orders, options.turns = (0.0, 1.0), (200,), 1
        options.modes, options.meshes, options.panels = ("ticked",), ("1x2",), (64,)
    return options


def _rates(text: str) -> tuple[float, ...]:
    parts = text.split(",")
    return tuple(0.0 if part == "0" else rate_list(part)[0] for part in parts)


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(word) if word.isdecimal() else 0 for word in text.split(","))
    if not all(1 <= number <= 1 << 16 for number in numbers):
        raise argparse.ArgumentTypeError(f"'{text}' has no numbers of 1 to 65536")
    return numbers


def _modes(text: str) -> tuple[str, ...]:
    modes = tuple(text.split(","))
    if not set(modes) <= set(MODES):
        raise argparse.ArgumentTypeError(f"'{text}' is not of {', '.join(MODES)}")
    return modes


def _meshes(text: str) -> tuple[str, ...]:
    meshes = tuple(text.split(","))
    if not set(meshes) <= {"1x2", "2x1"}:
        raise argparse.ArgumentTypeError(f"'{text}' is not of 1x2 and 2x1")
    return meshes
