"""`outboard bench paper`: measures figures and tables of the papers again, beside the stated
numbers. paper.toml lists the figures and the quoted numbers."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import native_program, paper_figures, paper_plot, paper_table, rows
from outboard_bench.blas import Blas
from outboard_bench.compiled import PREFIX, Program
from outboard_bench.copies import Copies
from outboard_bench.devices import Devices
from outboard_bench.fft import Fft
from outboard_bench.fftw_flops import FftwFlops
from outboard_bench.mp2c import Mp2c
from outboard_bench.native_program import NotBuiltError
from outboard_bench.paper_figures import Figure, Source
from outboard_bench.paper_points import Point
from outboard_bench.products import Products
from outboard_bench.redblack import Redblack
from outboard_bench.sial import Sial

Measured = Sequence[Mapping[str, Any]]


class _SkippedError(OutboardError):
    """This machine lacks a condition of a benchmark, as its check found out."""


class Paper:
    """Figures of the papers: ours beside what theirs state. `--figure list` names them."""

    name = "paper"
    summary = "figures of the papers, ours beside theirs (--figure list; --full; -- --help)"

    def draw(self, rows: Measured, file: Path) -> None:
        figures: dict[str, list[Point]] = {}
        for row in rows:
            id_, point = _point_of(row)
            figures.setdefault(id_, []).append(point)
        paper_plot.draw_points(figures, file)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        sources, figures = paper_figures.load()
        options = parse(arguments, figures)
        if options.figure is None:
            paper_table.print_list(figures.values())
            return 0
        written: list[rows.Row] = []
        missing: list[str] = []
        runs: dict[tuple[str, ...], Measured] = {}  # a benchmark runs once for equal arguments
        for figure in (figures[id_] for id_ in _by_source(options.figure, figures)):
            if figure.skipped:
                print(f"\n{figure.id}  skipped: {figure.skipped}")
                continue
            try:
                points = _points(figure, _command(sources[figure.measured_by], options), runs)
            except _SkippedError as reason:
                print(f"\n{figure.id}  skipped: {reason}")
                continue
            except OutboardError as error:  # the other figures may still be measured
                print(f"\n{figure.id}  not measured: {error}")
                missing.append(figure.id)
                continue
            paper_table.print_figure(figure, points)
            sys.stdout.flush()
            written += [_row(figure, point) for point in points]
            if json_file:  # keeps the finished figures if a later one fails
                rows.write(written, json_file)
            if options.out:
                _write(figure, points, options.out)
        if missing:
            raise OutboardError(f"not measured: {', '.join(missing)} (the reasons are above)")
        return 0


def _points(
    figure: Figure, command: tuple[str, ...], runs: dict[tuple[str, ...], Measured]
) -> list[Point]:
    """Returns the figure's points. A benchmark runs only if it has not run with these arguments
    before."""
    if command not in runs:
        runs[command] = _measure(*command)
    points = figure.points(runs[command])
    _check(figure, points)
    return points


def _by_source(chosen: Sequence[str], figures: Mapping[str, Figure]) -> list[str]:
    """Puts figures with the same source one after the other. Otherwise keeps their order."""
    order = list(dict.fromkeys(figures[id_].measured_by for id_ in chosen))
    return sorted(chosen, key=lambda id_: order.index(figures[id_].measured_by))


def _command(source: Source, options: argparse.Namespace) -> tuple[str, ...]:
    arguments = list(source.full if options.full else source.quick)
    if options.check:
        arguments = list(source.check)
    if source.links:
        arguments += ["--links", _links(source.links, options.links)]
        if options.device_rate and source.bench not in ("copies", "mp2c"):
            arguments += ["--device-rate", options.device_rate]
    elif source.bench == "products" and options.links == "none":
        arguments.append("--loopback")
    return source.bench, *arguments


def _links(which: str, chosen: str) -> str:
    return max(chosen.split(","), key=float) if which == "fastest" and chosen != "none" else chosen


def _measure(name: str, *arguments: str) -> Measured:
    """Runs the benchmark. Its own table is not printed, but its messages are."""
    print(f"measuring: outboard bench {name} {' '.join(arguments)}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="outboard-bench-") as folder:
        file = Path(folder) / "rows.json"
        try:
            status = _run(name, arguments, file)
        except NotBuiltError as error:  # builds without MPI leave the example out
            raise _SkippedError(str(error)) from error
        if status == rows.SKIPPED:
            raise _SkippedError(f"the benchmark {name} lacks what it needs (its message is above)")
        if status != 0:
            raise OutboardError(f"the benchmark {name} failed (its message is above)")
        return rows.check(rows.load(file))


_PYTHON = (Blas(), Copies(), Devices(), Fft(), FftwFlops(), Mp2c(), Products(), Redblack(), Sial())


def _run(name: str, arguments: Sequence[str], file: Path) -> int:
    for benchmark in _PYTHON:
        if benchmark.name == name:
            with contextlib.redirect_stdout(io.StringIO()):
                return benchmark.run(arguments, file)
    compiled = native_program.require(paths.require_native(), PREFIX + name)
    return Program(compiled).run(arguments, file, quiet=True)


def _check(figure: Figure, points: Sequence[Point]) -> None:
    if not points or not all(math.isfinite(point.value) for point in points):
        raise OutboardError(f"{figure.id} has no points, or one that is no number")


# --- output ---


def _row(figure: Figure, point: Point) -> rows.Row:
    stated = figure.stated_for(point)
    return rows.Row(
        bench="paper",
        case=f"{figure.id}, {point.series}, {point.x}",
        bytes=point.bytes,
        value=point.value,
        unit=point.unit,
        ceiling=point.stated,
        ceiling_name=f"{figure.paper}, {figure.section}" if point.stated is not None else None,
        ratio=stated.ratio(point.value) if stated else None,
        min=point.low,
        max=point.high,
        runs=point.runs,
    )


def _point_of(row: Mapping[str, Any]) -> tuple[str, Point]:
    """Inverts _row(), as far as a picture needs it."""
    id_, series, x = row["case"].split(", ")
    spread = (row["min"], row["max"])
    return id_, Point(series, x, row["value"], row["unit"], *spread, stated=row["ceiling"])


def _write(figure: Figure, points: Sequence[Point], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    said = asdict(figure)
    for key in ("measured_by", "shows", "select", "skipped"):
        del said[key]
    content = said | {"rows": [asdict(_row(figure, point)) for point in points]}
    (folder / f"{figure.id}.json").write_text(json.dumps(content, indent=1) + "\n")
    paper_plot.draw_points({figure.id: points}, folder / f"{figure.id}.png")


def parse(arguments: Sequence[str], figures: Mapping[str, Figure]) -> argparse.Namespace:
    """Returns the options of a run. `figure` is None if figures are only listed."""
    parser = argparse.ArgumentParser(prog="outboard bench paper", description=Paper.__doc__)
    add = parser.add_argument
    figure = parser.add_mutually_exclusive_group()
    figure.add_argument("name", nargs="?", help="the same as --figure NAME")
    figure.add_argument("--figure", help="names with commas, beginnings of names, list, all")
    add("--full", action="store_true", help="sizes as large as the papers', far longer")
    add("--check", action="store_true", help="tiny ones once, to see that all of it runs")
    add("--out", type=Path, metavar="FOLDER", help="a .json and a .png of each figure")
    add("--links", help="Gb/s with commas, or none; default as root: 1,10")
    add("--device-rate", help="devices that compute nothing at this rate, e.g. 500GF (fft, blas)")
    options = parser.parse_args(arguments)
    if options.links is None:
        options.links = "1,10" if os.geteuid() == 0 and not options.check else "none"
        if options.links == "none" and not options.check:
            print("outboard: emulated links are left out (they need root)", file=sys.stderr)
    chosen = options.name or options.figure or "all"
    options.figure = None if chosen == "list" else _chosen(chosen, figures)
    return options


def _chosen(text: str, figures: Mapping[str, Figure]) -> list[str]:
    """Returns the chosen figures in the order of the file. "rcpu-4" is all of that chapter,
    "rcpu-4.1" only that figure."""
    if text == "all":
        return list(figures)
    words = text.split(",")
    for word in words:
        if not any(_means(word, id_, figures) for id_ in figures):
            raise OutboardError(f"no figure is called {word}; `--figure list` shows them")
    return [id_ for id_ in figures if any(_means(word, id_, figures) for word in words)]


def _means(word: str, id_: str, figures: Mapping[str, Figure]) -> bool:
    return id_ == word if word in figures else id_.startswith(word)
