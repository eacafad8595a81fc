"""Reads and writes problems in the notation of FFTW's bench: [/][i|o][c|r|k][f|b]SIZES.

vN means N transforms one after another, and *N means N interleaved ones. / means split complex
numbers. k means a real-to-real transform, whose kinds follow each size. n:is:os gives strides.
"""

from __future__ import annotations

import math
import re

R2R_KINDS = ("f", "b", "h", "e00", "e01", "e10", "e11", "o00", "o01", "o10", "o11")


def points(problem: str) -> int:
    """Returns the points of one transform. A single point is a copy: it has nothing to compute and
    stays local."""
    sizes = re.split(r"[v*]", problem.lstrip("iofbdrckt/"))[0]
    found = [re.match(r"\d+", size) for size in sizes.split("x")]
    return math.prod(int(match[0]) for match in found if match)


def with_kinds(sizes: str, kinds: list[str]) -> str:
    """Returns the sizes of a problem, each followed by one of the kinds, in turn."""
    dims, *batch = re.split(r"(?=[v*])", sizes, maxsplit=1)
    named = [dim + kinds[i % len(kinds)] for i, dim in enumerate(dims.split("x"))]
    return "x".join(named) + "".join(batch)
