"""Draws the rows of a benchmark by size, each beside the ceiling measured in the same run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from outboard.errors import OutboardError


def draw(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draws one panel per case with several sizes. The file's suffix selects the kind of
    picture."""
    cases = [(case, list(group)) for case, group in groupby(rows, key=lambda row: row["case"])]
    curves = [(case, group) for case, group in cases if len(group) > 1]
    if not curves:
        raise OutboardError("there is nothing to plot by size in these rows; leave --plot out")
    figure, axes = panels(len(curves), columns=min(len(curves), 2))
    for axis, (case, group) in zip(axes, curves, strict=True):
        _draw_case(axis, case, group)
    save(figure, file)


def save(figure: Any, file: Path) -> None:
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "outboard"}):  # keeps text as text
        figure.savefig(file)


def panels(count: int, columns: int) -> tuple[Any, Sequence[Any]]:
    """Returns a figure and its `count` axes, with this number of columns."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise OutboardError(
            "plots need matplotlib (it is not installed); run: pip install matplotlib"
        ) from error
    lines = -(-count // columns)
    figure = Figure(figsize=(5 * columns, 3.2 * lines), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False).flatten()
    for unused in axes[count:]:
        unused.set_visible(False)
    return figure, list(axes[:count])


def _draw_case(axis: Any, case: str, group: Sequence[Mapping[str, Any]]) -> None:
    sizes = [row["bytes"] for row in group]
    axis.set_title(case, fontsize=10)
    ceilings = [row["ceiling"] for row in group]
    if all(value is not None for value in ceilings):
        axis.plot(sizes, ceilings, color="0.55", linestyle="--", label=group[0]["ceiling_name"])
    axis.plot(sizes, [row["value"] for row in group], color="C0", marker="o", label="outboard")
    axis.fill_between(
        sizes, [row["min"] for row in group], [row["max"] for row in group], color="C0", alpha=0.2
    )
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    ticks = _spread(sizes)
    axis.set_xticks(ticks, [size_text(bytes_) for bytes_ in ticks])
    axis.set_ylabel(group[0]["unit"])
    axis.grid(True, which="both", alpha=0.25)
    axis.legend(fontsize=8)


def _spread(sizes: Sequence[int]) -> list[int]:
    """Chooses sizes that are far enough apart for their labels: a factor of 16."""
    ticks: list[int] = []
    for size in sizes:
        if not ticks or size >= 16 * ticks[-1]:
            ticks.append(size)
    return ticks


def size_text(bytes_: int) -> str:
    """Formats a size: "64 KiB"."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if bytes_ >= scale:
            return f"{bytes_ / scale:g} {unit}"
    return f"{bytes_} B"
