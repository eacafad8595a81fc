"""A number over time as a path of SVG, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

HEIGHT = 100


class Sparkline(NamedTuple):
    """`path`: in a box of `width` minutes by HEIGHT, 0 at the bottom, `most` at the top. The line
    is interrupted where minutes are missing."""

    name: str
    path: str
    width: int
    least: int
    most: int
    latest: int


def sparkline(name: str, minutes: Sequence[int], values: Sequence[int]) -> Sparkline:
    """Draws values at rising minutes.

    @pre there is at least one
    """
    top = max(*values, 1)
    heights = [round(HEIGHT * (1 - value / top)) for value in values]
    path = ""
    for begin, end in _runs(minutes):
        path += f"M{minutes[begin] - minutes[0]} {heights[begin]}h0"  # one minute alone is a dot
        for at in range(begin + 1, end):
            if at + 1 == end or not heights[at - 1] == heights[at] == heights[at + 1]:
                path += f"L{minutes[at] - minutes[0]} {heights[at]}"
    width = max(1, minutes[-1] - minutes[0])
    return Sparkline(name, path, width, min(values), max(values), values[-1])


def _runs(minutes: Sequence[int]) -> list[tuple[int, int]]:
    """Returns where minutes follow each other: begins and ends."""
    begins = [at for at in range(len(minutes)) if at == 0 or minutes[at] - minutes[at - 1] > 1]
    return list(zip(begins, [*begins[1:], len(minutes)], strict=True))
