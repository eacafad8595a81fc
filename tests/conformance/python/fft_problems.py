"""Transforms as Hypothesis draws them: kinds, sizes, axes, and memory layouts of the arrays."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pyfftw
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]

MOST_POINTS = 2048  # points of one array
PRIMES = (2, 3, 5, 7, 11, 13, 17, 31, 61, 97, 127, 251, 509)
REAL_KINDS = tuple(f"FFTW_R{part}DFT{kind}" for part in "EO" for kind in ("00", "01", "10", "11"))
POISON = 0xA5  # the value of every byte that no transform has written


@dataclasses.dataclass(frozen=True)
class Place:
    """The memory layout of an array: its axes from the outermost in, a step and padding for
    each."""

    order: tuple[int, ...]
    steps: tuple[int, ...]
    padding: tuple[int, ...]
    offset: int  # number of elements before the first

    def make(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Array, Array]:
        """Returns the whole memory, as poisoned bytes, and the view of it that is the array."""
        lengths = [
            shape[a] * abs(s) + p
            for a, s, p in zip(self.order, self.steps, self.padding, strict=True)
        ]
        count = math.prod(lengths) + self.offset
        memory: Array = pyfftw.empty_aligned(count * dtype.itemsize, "uint8", n=64)
        memory[:] = POISON
        outer = memory.view(dtype)[self.offset :].reshape(lengths)
        spans = [
            slice(0, shape[a] * s, s) if s > 0 else slice(shape[a] * -s - 1, None, s)
            for a, s in zip(self.order, self.steps, strict=True)
        ]
        return memory, outer[tuple(spans)].transpose(np.argsort(self.order))

    def reversed_along(self, axis: int) -> Place:
        steps = (-s if a == axis else s for a, s in zip(self.order, self.steps, strict=True))
        return dataclasses.replace(self, steps=tuple(steps))

    def with_dense_axis(self, axis: int) -> Place:
        """Returns the same layout with `axis` innermost and without gaps."""
        axes = zip(self.order, self.steps, self.padding, strict=True)
        others = (each for each in axes if each[0] != axis)
        order, steps, padding = zip(*others, (axis, 1, 0), strict=True)
        return Place(order, steps, padding, self.offset)


@dataclasses.dataclass(frozen=True)
class Problem:
    """One transform. `shape` is the shape of the real or larger side."""

    scheme: str  # c2c, r2c, c2r, r2r
    single: bool
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    directions: tuple[str, ...]
    in_place: bool
    source: Place
    target: Place
    effort: str
    threads: int
    other_arrays: bool  # True: executed on arrays that it was not planned for
    data: str
    exponent: int
    seed: int

    @property
    def half_shape(self) -> tuple[int, ...]:
        """Returns the shape of the complex side of r2c and c2r."""
        last = self.axes[-1]
        return tuple(n // 2 + 1 if axis == last else n for axis, n in enumerate(self.shape))

    @property
    def lengths(self) -> list[int]:
        return [self.shape[axis] for axis in self.axes]

    @property
    def real_type(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self.single else np.float64)

    @property
    def complex_type(self) -> np.dtype[Any]:
        return np.dtype(np.complex64 if self.single else np.complex128)

    @property
    def points(self) -> int:
        return math.prod(self.lengths)


def places(rank: int) -> st.SearchStrategy[Place]:
    """Draws layouts. Most axes are dense, so that dense arrays and arrays with one odd axis are
    frequent."""
    step = st.sampled_from((1, 1, 1, 2, 3))
    return st.builds(
        Place,
        order=st.permutations(range(rank)).map(tuple),
        steps=st.tuples(*[step] * rank),
        padding=st.tuples(*[st.sampled_from((0, 0, 1, 5))] * rank),
        offset=st.sampled_from((0, 0, 1)),
    )


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    """Draws one to four lengths of any value, primes and 1 included, as long as the array stays
    small."""
    left, found = MOST_POINTS, []
    for _ in range(draw(st.integers(1, 4))):
        most = min(left, 600)
        primes = [p for p in PRIMES if p <= most] or [1]
        length = draw(
            st.one_of(
                st.integers(1, min(most, 20)),
                st.integers(1, most),
                st.sampled_from(primes),
                st.just(1),
            )
        )
        found.append(length)
        left //= length
    return tuple(draw(st.permutations(found)))


def directions(draw: st.DrawFn, scheme: str, lengths: list[int]) -> tuple[str, ...]:
    if scheme == "c2c":
        return (draw(st.sampled_from(("FFTW_FORWARD", "FFTW_BACKWARD"))),)
    if scheme != "r2r":
        return ("FFTW_FORWARD" if scheme == "r2c" else "FFTW_BACKWARD",)
    # REDFT00 of one point is not defined.
    kinds = [REAL_KINDS if n > 1 else REAL_KINDS[1:] for n in lengths]
    return tuple(draw(st.sampled_from(k)) for k in kinds)


@st.composite
def problems(draw: st.DrawFn, scheme: str) -> Problem:
    shape = draw(shapes())
    rank = len(shape)
    axes = tuple(draw(st.permutations(range(rank)))[: draw(st.integers(1, rank))])
    source, target = draw(places(rank)), draw(places(rank))
    backwards = draw(st.integers(0, rank - 1))
    in_place = draw(st.booleans())
    # The planner of FFTW (3.3.5, which the wheel contains, and 3.3.10) recurses without end for
    # some complex transforms of which an axis runs backwards, natively too. Examples: 18 x 18
    # points, input strides 3 and 57, output strides -1 and 18; in place, 429 points with stride -3
    # in a batch of 3 with stride 1. Reversed batches work, and so does one reversed axis that is
    # alone or has a batch out of place.
    if backwards not in axes or rank == 1 or (len(axes) == 1 and not in_place):
        source, target = (
            place.reversed_along(backwards) if draw(st.booleans()) else place
            for place in (source, target)
        )
    return Problem(
        scheme=scheme,
        single=draw(st.booleans()),
        shape=shape,
        axes=axes,
        directions=directions(draw, scheme, [shape[axis] for axis in axes]),
        in_place=in_place,
        source=source,
        target=target,
        effort=draw(st.sampled_from(("FFTW_ESTIMATE",) * 9 + ("FFTW_MEASURE",))),
        threads=draw(st.sampled_from((1, 1, 1, 2))),
        other_arrays=draw(st.booleans()),
        data=draw(st.sampled_from(("random",) * 4 + ("impulse", "wave", "zero"))),
        exponent=draw(st.integers(-20, 20)),
        seed=draw(st.integers(0, 2**32 - 1)),
    )
