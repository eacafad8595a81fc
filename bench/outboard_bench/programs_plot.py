"""Draws the picture of `outboard bench programs`: the time of each program over its native time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outboard.errors import OutboardError
from outboard_bench.plot import panels, save
from outboard_bench.programs_outcome import AUTO, LIMITS, NATIVE, REMOTE
from outboard_bench.programs_rows import parts_of

# People who do not distinguish red and green can distinguish these colours. Source: Okabe and Ito,
# Color Universal Design (2008)
_GOOD, _ABOVE, _REMOTE = "#0072B2", "#D55E00", "0.65"
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
_INCHES_PER_PROGRAM, _LEAST_INCHES = 0.19, 2.6


@dataclass(frozen=True)
class _Bar:
    """The times of a program, by the native one."""

    name: str
    remote: float
    auto: float
    above: bool


def draw(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draws a panel for each place with a line for each program. A circle is forced remote, a dot
    is auto, and 1 is native. A dot should be where the smaller one of 1 and the circle is."""
    places = bars_of(rows)
    if not places:
        raise OutboardError("there is nothing to plot in these rows; leave --plot out")
    figure, axes = panels(len(places), columns=min(len(places), 3))
    most = max(len(bars) for bars in places.values())
    lines = -(-len(places) // 3)
    height = max(_LEAST_INCHES, 1.3 + _INCHES_PER_PROGRAM * most)
    figure.set_size_inches(5 * min(len(places), 3), lines * height)
    for axis, (place, bars) in zip(axes, places.items(), strict=True):
        _draw_panel(axis, sorted(bars, key=lambda bar: bar.remote))
        within = sum(not bar.above for bar in bars)
        axis.set_title(f"{place}: {within} of {len(bars)} within the limits", fontsize=10)
    axes[0].legend(fontsize=7, loc="best")
    save(figure, file)


def bars_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[_Bar]]:
    """Returns the bars by place."""
    found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        case = parts_of(row["case"])
        if not case.is_out:
            found.setdefault((case.place, case.program), {})[case.kind] = row
    places: dict[str, list[_Bar]] = {}
    for (place, name), kinds in found.items():
        auto, native = kinds[AUTO], kinds[NATIVE]["value"]
        above = 1 / auto["ratio"] > LIMITS[auto["ceiling_name"]]
        # by the ratio of rounds, as the limit is
        time = auto["ceiling"] / auto["ratio"]
        bar = _Bar(name, kinds[REMOTE]["value"] / native, time / native, above)
        places.setdefault(place, []).append(bar)
    return places


def _draw_panel(axis: Any, bars: Sequence[_Bar]) -> None:
    lines = range(len(bars))
    for line, bar in zip(lines, bars, strict=True):
        axis.plot([1, bar.remote], [line, line], color="0.88", linewidth=3, zorder=1)
    axis.axvline(1, color="0.3", linewidth=1, zorder=1, label="native")
    remote = [bar.remote for bar in bars]
    style = {"linestyle": "none", "marker": "o"}
    axis.plot(remote, lines, color=_REMOTE, markerfacecolor="none", label="remote", **style)
    for colour, above, label in ((_GOOD, False, "auto"), (_ABOVE, True, "auto, above its limit")):
        mine = [(bar.auto, line) for line, bar in zip(lines, bars, strict=True)]
        kept = [mine[line] for line in lines if bars[line].above == above]
        xs, ys = [x for x, _ in kept], [y for _, y in kept]
        axis.plot(xs, ys, color=colour, markersize=4, label=label, zorder=3, **style)
    axis.set_yticks(list(lines), [bar.name for bar in bars], fontsize=7)
    values = [*remote, *(bar.auto for bar in bars), 1.0]
    low, high = 0.8 * min(values), 1.25 * max(values)
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("time, by the native time")
    axis.grid(True, axis="x", alpha=0.25)
