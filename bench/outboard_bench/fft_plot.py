"""The two pictures of `outboard bench fft`: the speed by size, and the time of each stage of remote
calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from outboard.errors import OutboardError
from outboard_bench.fft_problems import KINDS, Problem
from outboard_bench.plot import panels, save

STAGES = ("to device", "plan", "compute", "back", "other")
_COLOURS = dict(zip(STAGES, ("C0", "C4", "C2", "C1", "0.75"), strict=True))

Times = dict[tuple[Problem, str], tuple[float, float, float]]  # median, min, max [ms]
Split = dict[tuple[Problem, str], dict[str, float]]  # ms by stage


def draw(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draws the speed by size in `file`, and the shares of the stages beside it, with "-stages" in
    the name."""
    times, split = _sorted(rows)
    _draw_speed(times, file)
    if split:
        _draw_stages(split, file.with_name(f"{file.stem}-stages{file.suffix}"))


def _sorted(rows: Sequence[Mapping[str, Any]]) -> tuple[Times, Split]:
    times: Times = {}
    split: Split = {}
    for row in rows:
        words = row["case"].split(", ")
        key = (Problem.parse(words[0]), words[1])
        if len(words) == 2:
            times[key] = (row["value"], row["min"], row["max"])
        elif words[2].startswith("stage "):
            split.setdefault(key, {})[words[2].removeprefix("stage ")] = row["value"]
    if not times:
        raise OutboardError("there is nothing to plot in these rows; leave --plot out")
    return times, split


def _groups(problems: Sequence[Problem]) -> list[tuple[str, int, str]]:
    found = {(p.kind, len(p.shape), p.precision) for p in problems}
    return sorted(found, key=lambda g: (KINDS.index(g[0]), g[1], g[2]))


def _places(keys: Sequence[tuple[Problem, str]]) -> list[str]:
    return list(dict.fromkeys(place for _, place in keys))


def _of_group(problems: Sequence[Problem], group: tuple[str, int, str]) -> list[Problem]:
    chosen = {p for p in problems if (p.kind, len(p.shape), p.precision) == group}
    return sorted(chosen, key=lambda p: p.points)


def _draw_speed(times: Times, file: Path) -> None:
    groups = _groups([problem for problem, _ in times])
    figure, axes = panels(len(groups), columns=min(len(groups), 3))
    for axis, group in zip(axes, groups, strict=True):
        kind, rank, precision = group
        axis.set_title(f"{kind}, {rank}-D, {precision}", fontsize=10)
        for i, place in enumerate(_places(list(times))):
            _draw_curve(
                axis, times, _of_group([p for p, at in times if at == place], group), place, i
            )
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xlabel("points")
        axis.set_ylabel("GFLOP/s")
        axis.grid(True, which="both", alpha=0.25)
    axes[0].legend(fontsize=7)
    save(figure, file)


def _draw_curve(axis: Any, times: Times, problems: list[Problem], place: str, index: int) -> None:
    points = [p.points for p in problems]
    found = [times[p, place] for p in problems]
    speed = [
        [p.flops / (ms * 1e6) for p, ms in zip(problems, v, strict=True)]
        for v in zip(*found, strict=True)
    ]
    if not points:
        return
    style = "--" if place.startswith("local") else "-"
    axis.plot(
        points, speed[0], color=f"C{index}", linestyle=style, marker="o", markersize=3, label=place
    )
    axis.fill_between(points, speed[2], speed[1], color=f"C{index}", alpha=0.15)


def _draw_stages(split: Split, file: Path) -> None:
    """Draws the first kind and precision, with a line of panels for each number of dimensions."""
    kind, _, precision = _groups([problem for problem, _ in split])[0]
    groups = [g for g in _groups([p for p, _ in split]) if (g[0], g[2]) == (kind, precision)]
    places = _places(list(split))
    figure, axes = panels(len(groups) * len(places), columns=len(places))
    pairs = [(group, place) for group in groups for place in places]
    for axis, (group, place) in zip(axes, pairs, strict=True):
        axis.set_title(f"{kind}, {group[1]}-D, {place}", fontsize=10)
        _draw_bars(axis, split, _of_group([p for p, at in split if at == place], group), place)
    axes[0].legend(fontsize=7)
    save(figure, file)


def _draw_bars(axis: Any, split: Split, problems: list[Problem], place: str) -> None:
    below = [0.0] * len(problems)
    for stage in STAGES:
        heights = []
        for problem in problems:
            parts = split[problem, place]
            heights.append(100 * parts[stage] / (sum(parts.values()) or 1))
        axis.bar(range(len(problems)), heights, bottom=below, color=_COLOURS[stage], label=stage)
        below = [b + h for b, h in zip(below, heights, strict=True)]
    axis.set_xticks(range(len(problems)), [p.lengths for p in problems], rotation=60, fontsize=6)
    axis.set_ylim(0, 100)
    axis.set_ylabel("% of the call")
