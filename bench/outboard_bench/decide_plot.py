"""Draws the picture of `outboard bench decide`: the time of mode auto over that of the better side,
by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outboard.errors import OutboardError
from outboard_bench.decide_point import LIMITS, LOCAL, REMOTE
from outboard_bench.decide_rows import parts_of
from outboard_bench.plot import panels, save, size_text

# People who do not distinguish red and green can distinguish these colours. Source: Okabe and Ito,
# Color Universal Design (2008)
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
_MARKERS = "osD^vPX"
_TICKS = tuple(1 << power for power in range(12, 30, 4))


@dataclass(frozen=True)
class _Dot:
    bytes: int
    ratio: float  # the time over that of the better side
    winner: str
    device: str


def draw(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draws a line of panels for each kind of auto, a panel for each place, and a colour for each
    device. A filled mark means that remote is faster there."""
    dots: dict[tuple[str, str], list[_Dot]] = {}
    for row in rows:
        _, place, device, kind, is_share = parts_of(row["case"])
        if kind in LIMITS and not is_share:
            dot = _Dot(row["bytes"], 1 / row["ratio"], row["ceiling_name"], device)
            dots.setdefault((kind, place), []).append(dot)
    if not dots:
        raise OutboardError("there is nothing to plot in these rows; leave --plot out")
    places = list(dict.fromkeys(place for _, place in dots))
    devices = list(dict.fromkeys(dot.device for group in dots.values() for dot in group))
    figure, axes = panels(len(LIMITS) * len(places), columns=len(places))
    keys = [(kind, place) for kind in LIMITS for place in places]
    for axis, (kind, place) in zip(axes, keys, strict=True):
        _draw_panel(axis, dots.get((kind, place), []), devices, LIMITS[kind])
        axis.set_title(f"{kind} (limit {LIMITS[kind]:g}), {place}", fontsize=10)
    _legend(axes[0], devices)
    save(figure, file)


def _draw_panel(axis: Any, dots: Sequence[_Dot], devices: Sequence[str], limit: float) -> None:
    for index, device in enumerate(devices):
        for winner in (LOCAL, REMOTE):
            mine = [dot for dot in dots if (dot.device, dot.winner) == (device, winner)]
            colour = _colour(index)
            axis.plot(
                [dot.bytes for dot in mine],
                [dot.ratio for dot in mine],
                linestyle="none",
                marker=_MARKERS[index % len(_MARKERS)],
                markersize=4,
                color=colour,
                markerfacecolor=colour if winner == REMOTE else "none",
            )
    axis.axhline(1, color="0.6", linewidth=0.8)
    axis.axhline(limit, color="0.2", linewidth=0.8, linestyle="--")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(_TICKS, [size_text(tick) for tick in _TICKS])
    axis.set_xlim(_TICKS[0] / 2, 4 * _TICKS[-1])
    _name_ratios(axis, [dot.ratio for dot in dots])
    axis.set_xlabel("bytes of the operands")
    axis.set_ylabel("time, by that of the better side")
    axis.grid(True, alpha=0.25)


def _name_ratios(axis: Any, ratios: Sequence[float]) -> None:
    """Writes ticks as plain numbers. A logarithmic axis would write powers of ten, of which there
    is only one."""
    least, most = min((*ratios, 0.9)), max((*ratios, 1.3))
    axis.set_ylim(0.9 * least, 1.15 * most)
    named = (0.2, 0.3, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 100)
    ticks = [tick for tick in named if least <= tick <= most]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()


def _legend(axis: Any, devices: Sequence[str]) -> None:
    for index, device in enumerate(devices):
        marker = _MARKERS[index % len(_MARKERS)]
        axis.plot([], [], linestyle="none", marker=marker, color=_colour(index), label=device)
    empty = {"marker": "o", "color": "0.3", "linestyle": "none"}
    axis.plot([], [], label="remote wins", **empty)
    axis.plot([], [], label="local wins", markerfacecolor="none", **empty)
    axis.legend(fontsize=7)


def _colour(index: int) -> str:
    return _COLOURS[index % len(_COLOURS)]
