"""Numbers and sizes of blocks, for many lanes at once.   Source: docs/sial/runtime.md, "Workers and
servers"
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from outboard.sial.explain.job import Range, Sizes
from outboard.sial.explain.lanes import Array, Lanes, Value
from outboard.sial.records import CAST, NONE, STAR, Program

ELEMENT_BYTES = 8


def _mixed(numbers: Array) -> Array:
    """Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014"""
    with np.errstate(over="ignore"):
        value = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(value ^ (value >> np.uint64(31)))


@dataclass(frozen=True)
class _Dimension:
    index: int
    lower: int
    segments: int
    parts: int  # subsegments per segment; 1 if it is no subindex
    stride: int  # of the number of a block

    @property
    def count(self) -> int:
        return self.segments * self.parts


class Geometry:
    """Answers for the arrays and indices of one program in one job."""

    def __init__(self, program: Program, sizes: Sizes) -> None:
        self._program = program
        self._ranges = sizes.ranges
        self._kinds = [one["kind"] for one in program["index"]]
        self._extents = [np.array(one.extents, np.int64) for one in sizes.ranges]
        self._arrays = [self._dimensions(one["indices"][: one["rank"]]) for one in program["array"]]

    def _dimensions(self, indices: list[int]) -> list[_Dimension]:
        made: list[_Dimension] = []
        stride = 1
        for index in reversed(indices):  # the last index is the fastest
            of = self._ranges[index]
            parts = of.parts if self._kinds[index] == 2 else 1
            of = self._ranges[of.parent] if of.parent != NONE else of
            made.append(_Dimension(index, of.lower, of.count, parts, stride))
            stride *= made[-1].count
        return made[::-1]

    def range(self, index: int) -> Range:
        return self._ranges[index]

    def blocks(self, array: int) -> int:
        """Returns how many blocks an array can have."""
        return math.prod(one.count for one in self._arrays[array])

    def whole_elements(self, array: int) -> int:
        return math.prod(self._elements(one.index) for one in self._arrays[array])

    def _elements(self, index: int) -> int:
        of = self._ranges[index]
        return of.count if self._kinds[index] == 0 else sum(of.extents)

    def upper(self, index: int, lanes: Lanes) -> Value:
        """Returns the last value of an index. That of a subindex depends on its segment."""
        of = self._ranges[index]
        if of.parent == NONE:
            return of.upper
        whole = np.asarray(self._extent(of.parent, lanes.indices[of.parent]))
        return np.asarray(np.minimum(of.parts, whole))

    def _extent(self, index: int, value: Value) -> Value:
        if self._kinds[index] == 0:
            return 1
        return np.asarray(self._extents[index][np.asarray(value) - self._ranges[index].lower])

    def extent(self, label: int, lanes: Lanes) -> Value:
        """Returns the number of elements that a label of a selector stands for."""
        index = label & ~CAST
        if label & CAST or self._kinds[index] == 0:
            return 1
        value = lanes.indices[index]
        parent = self._ranges[index].parent
        if parent == NONE:
            return self._extent(index, value)
        whole = np.asarray(self._extent(parent, lanes.indices[parent]))
        parts = np.minimum(self._ranges[index].parts, whole)
        return np.asarray(whole // parts + (np.asarray(value) <= whole % parts))

    def elements(self, selector: int, lanes: Lanes) -> Array:
        """Returns the elements of a block per lane. For `*`: of all its blocks together."""
        one = self._program["selector"][selector]
        product: Value = 1
        for dimension, label in zip(self._arrays[one["array"]], one["indices"], strict=False):
            if label == STAR:
                extent: Value = self._elements(dimension.index)
            elif self._kinds[dimension.index] == 0:
                extent = 1
            else:
                extent = self.extent(label, lanes)
            product = np.multiply(np.asarray(product), np.asarray(extent))
        return lanes.per_lane(product)

    def all_elements(self, labels: set[int], lanes: Lanes) -> Array:
        """Returns the product of the extents of labels."""
        product: Value = 1
        for label in labels:
            product = np.multiply(np.asarray(product), np.asarray(self.extent(label, lanes)))
        return lanes.per_lane(product)

    def labels(self, selector: int) -> set[int]:
        one = self._program["selector"][selector]
        return set(one["indices"][: len(self._arrays[one["array"]])]) - {STAR, NONE}

    def numbers(self, selector: int, lanes: Lanes) -> Array:
        """Returns the number of the block per lane; -1 where the array has no such segment."""
        one = self._program["selector"][selector]
        number: Value = 0
        outside: Value = False
        for dimension, label in zip(self._arrays[one["array"]], one["indices"], strict=False):
            index = label & ~CAST
            value = np.asarray(lanes.indices[index])
            by_part = self._kinds[index] == 2 and not label & CAST
            segment = np.asarray(lanes.indices[self._ranges[index].parent]) if by_part else value
            position = segment - dimension.lower
            outside = np.logical_or(
                np.asarray(outside), (position < 0) | (position >= dimension.segments)
            )
            if dimension.parts > 1 or self._kinds[dimension.index] == 2:
                position = position * dimension.parts + value - 1
            number = np.add(np.asarray(number), position * dimension.stride)
        return np.asarray(np.where(lanes.per_lane(outside), -1, lanes.per_lane(number)))

    def sizes_of(self, array: int, numbers: Array) -> Array:
        """Returns the bytes of blocks that have these numbers. Not for subindices."""
        sizes = np.full(len(numbers), ELEMENT_BYTES, np.int64)
        for one in self._arrays[array]:
            if self._kinds[one.index] == 1:
                sizes *= self._extents[one.index][numbers // one.stride % one.count]
        return sizes

    def servers_of(self, rule: str, array: int, numbers: Array, servers: int) -> Array:
        """Returns the servers of blocks, as src/sial/worker/block_placement.cpp places them."""
        if rule == "cyclic":
            return numbers % servers
        if rule == "hash":
            return np.asarray(_mixed(numbers) % np.uint64(servers)).astype(np.int64)
        if rule not in ("skewed", "bytes"):
            raise ValueError(rule)
        positions = [numbers // one.stride % one.count for one in self._arrays[array]]
        if rule == "skewed":
            return np.asarray(np.sum(positions, axis=0)) % servers
        before, chosen = np.zeros(len(numbers), np.int64), np.ones(len(numbers), np.int64)
        behind = whole = self.whole_elements(array)
        for one, position in zip(self._arrays[array], positions, strict=True):
            behind //= self._elements(one.index)
            extents = np.ones(one.count, np.int64)
            if self._kinds[one.index] == 1:
                extents = self._extents[one.index]
            before += chosen * np.concatenate([[0], np.cumsum(extents)])[position] * behind
            chosen *= extents[position]
        found = (before.astype(float) / float(whole) * servers).astype(np.int64)
        return np.asarray(np.minimum(found, servers - 1))

    def region_elements(self, array: int, bounds: list[Value], lanes: Lanes) -> Array | None:
        """Returns the elements of a region; None if its bounds depend on values."""
        product: Value = 1
        for one, lower, upper in zip(self._arrays[array], bounds[::2], bounds[1::2], strict=True):
            if lower is None or upper is None:
                return None
            first, last = np.asarray(lower) - one.lower, np.asarray(upper) - one.lower + 1
            ends = np.arange(one.segments + 1)
            if self._kinds[one.index] == 1:
                ends = np.concatenate([[0], np.cumsum(self._extents[one.index])])
            first, last = np.clip(first, 0, one.segments), np.clip(last, 0, one.segments)
            product = np.multiply(np.asarray(product), ends[last] - ends[first])
        return lanes.per_lane(product)
