"""Draws series of points: a panel for each unit, and for stages a stack for each place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from outboard.errors import OutboardError
from outboard_bench import paper_points
from outboard_bench.paper_points import STAGES, Point, sizes
from outboard_bench.plot import panels, save

_COLOURS = dict(zip(STAGES, ("C0", "C4", "C2", "C1", "0.75"), strict=True))
_MARKERS = "os^vDPX*"
_LINEAR_SPAN = 30.0  # the axis is logarithmic if the ratio of values exceeds this

Panel = tuple[str, str, list[Point]]  # title, "stack" or a unit, points


def draw_points(figures: Mapping[str, Sequence[Point]], file: Path) -> None:
    """Draws all figures in one file, by name."""
    panels_of_all = [panel for name, points in figures.items() for panel in split(name, points)]
    if not panels_of_all:
        raise OutboardError("there is nothing to plot in these rows; leave --plot out")
    figure, axes = panels(len(panels_of_all), columns=min(len(panels_of_all), 3))
    for axis, (title, kind, points) in zip(axes, panels_of_all, strict=True):
        axis.set_title(title, fontsize=9)
        if kind == "stack":
            _draw_stack(axis, points)
        else:
            _draw_curves(axis, points, kind)
        axis.legend(fontsize=6)
    save(figure, file)


def draw_problems(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draws rows of `outboard bench blas`."""
    names = dict.fromkeys(row["case"].split(" ")[0] for row in rows)
    draw_points({name: paper_points.times_and_stages(rows, f"^{name} ") for name in names}, file)


def draw_flops(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draws rows of `outboard bench fftw_flops`."""
    draw_points({"FFTW's own count": paper_points.flops(rows, "")}, file)


def split(name: str, points: Sequence[Point]) -> list[Panel]:
    """Splits points into panels: one for the stages of each place, and one for all others of each
    unit."""
    found: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        place, _, stage = point.series.partition(": ")
        key = (f"{name} {place}", "stack") if stage in STAGES else (name, point.unit)
        found.setdefault(key, []).append(point)
    curves_first = sorted(found.items(), key=lambda item: item[0][1] == "stack")
    return [(title, kind, group) for (title, kind), group in curves_first]


def _draw_curves(axis: Any, points: Sequence[Point], unit: str) -> None:
    xs = sizes(points)
    for i, series in enumerate(dict.fromkeys(point.series for point in points)):
        mine = sorted((p for p in points if p.series == series), key=lambda p: xs.index(p.x))
        at = [xs.index(point.x) for point in mine]
        style = "--" if series.startswith(("local", "pure")) else "-"
        marker = _MARKERS[i // 10 % len(_MARKERS)]
        values = [point.value for point in mine]
        axis.plot(at, values, linestyle=style, marker=marker, markersize=3, label=series)
        lows, highs = [point.low for point in mine], [point.high for point in mine]
        axis.fill_between(at, lows, highs, alpha=0.15)
    said = [(xs.index(point.x), point.stated) for point in points if point.stated is not None]
    if said:
        axis.plot(*zip(*dict.fromkeys(said), strict=True), "kx", label="stated by the paper")
    positive = [point.value for point in points if point.value > 0]
    if len(positive) == len(points) and max(positive) > _LINEAR_SPAN * min(positive):
        axis.set_yscale("log")
    axis.set_ylabel(unit)
    axis.grid(True, which="both", alpha=0.25)
    axis.set_xticks(range(len(xs)), xs, rotation=60, fontsize=6)


def _draw_stack(axis: Any, points: Sequence[Point]) -> None:
    xs = sizes(points)
    below = [0.0] * len(xs)
    for stage in STAGES:
        shares = {p.x: p.value for p in points if p.series.endswith(f": {stage}")}
        heights = [shares.get(x, 0.0) for x in xs]
        axis.bar(range(len(xs)), heights, bottom=below, color=_COLOURS[stage], label=stage)
        below = [b + h for b, h in zip(below, heights, strict=True)]
    axis.set_ylim(0, 100)
    axis.set_ylabel("% of the call")
    axis.set_xticks(range(len(xs)), xs, rotation=60, fontsize=6)
