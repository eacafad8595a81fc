"""Iterations of loops that are followed together.

A lane is one iteration of all loops around an instruction. An instruction is interpreted once for
many lanes, so a program with a million iterations takes seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
# A number that all lanes share, or one per lane. None: it depends on values of blocks.
Value = int | float | Array | None


@dataclass
class Temp:
    """A temp that was written first at one place: the number of its block per lane; -1: none."""

    array: int
    numbers: Array
    sizes: Array  # bytes


@dataclass
class Lanes:
    """Lanes in the order in which workers execute them."""

    count: int
    worker: Array | None = None  # per lane; None: all workers execute each lane
    indices: dict[int, Value] = field(default_factory=dict)
    ints: dict[int, Value] = field(default_factory=dict)  # those with known values
    scalars: dict[int, Value] = field(default_factory=dict)
    temps: list[Temp] = field(default_factory=list)
    locals: dict[int, Array] = field(default_factory=dict)  # bytes per lane, by array

    def take(self, which: Array) -> Lanes:
        """Returns some lanes: `which` holds their numbers, or says which ones."""
        count = int(np.count_nonzero(which)) if which.dtype == bool else len(which)

        def pick(value: Value) -> Value:
            return value[which] if isinstance(value, np.ndarray) else value

        return Lanes(
            count,
            None if self.worker is None else self.worker[which],
            {key: pick(value) for key, value in self.indices.items()},
            {key: pick(value) for key, value in self.ints.items()},
            {key: pick(value) for key, value in self.scalars.items()},
            [Temp(one.array, one.numbers[which], one.sizes[which]) for one in self.temps],
            {key: value[which] for key, value in self.locals.items()},
        )

    def put_back(self, part: Lanes, which: Array) -> None:
        """Takes over what `part`, the lanes that `which` says, has changed."""
        for own, other in ((self.ints, part.ints), (self.scalars, part.scalars)):
            for key in set(own) | set(other):
                own[key] = _merged(own.get(key), other.get(key), which, self.count)
        for one, changed in zip(self.temps, part.temps, strict=False):
            one.numbers[which], one.sizes[which] = changed.numbers, changed.sizes
        for one in part.temps[len(self.temps) :]:
            numbers = np.full(self.count, -1, np.int64)
            sizes = np.zeros(self.count, np.int64)
            numbers[which], sizes[which] = one.numbers, one.sizes
            self.temps.append(Temp(one.array, numbers, sizes))
        for array, held in part.locals.items():
            self.locals.setdefault(array, np.zeros(self.count, np.int64))[which] = held

    def forget(self, ints: set[int], scalars: set[int]) -> None:
        """Notes that nobody knows the values of these variables."""
        for number in ints:
            self.ints[number] = None
        for number in scalars:
            self.scalars[number] = None

    def per_lane(self, value: Value) -> Array:
        """Returns a value per lane. @pre the value is known"""
        return np.broadcast_to(np.asarray(value), (self.count,))


def _merged(own: Value, other: Value, which: Array, count: int) -> Value:
    if own is None or other is None:
        return None
    if not isinstance(own, np.ndarray) and not isinstance(other, np.ndarray) and own == other:
        return own
    kind = np.result_type(np.asarray(own), np.asarray(other))
    merged = np.array(np.broadcast_to(np.asarray(own), (count,)), dtype=kind)
    merged[which] = other
    return merged
