"""Sets of blocks: those that workers have fetched, and those that servers store."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from outboard.sial.explain.lanes import Array

_LARGEST_MAP = 1 << 28  # keys of which each has a byte


class KeySet:
    """A set of numbers below `size`."""

    def __init__(self, size: int) -> None:
        self._map = np.zeros(size, bool) if size <= _LARGEST_MAP else None
        self._sorted = np.zeros(0, np.int64)

    def add(self, keys: Array) -> Array:
        """Adds keys. Returns the positions of those that are new, each one once."""
        new = np.flatnonzero(~self._contains(keys))
        if len(new) == 0:
            return new
        _, first = np.unique(keys[new], return_index=True)
        new = new[np.sort(first)]
        if self._map is not None:
            self._map[keys[new]] = True
        else:
            self._sorted = np.union1d(self._sorted, keys[new])
        return new

    def remove(self, keys: Array) -> Array:
        """Removes keys. Returns the positions of those that were there, each one once."""
        there = np.flatnonzero(self._contains(keys))
        if len(there) == 0:
            return there
        _, first = np.unique(keys[there], return_index=True)
        there = there[np.sort(first)]
        if self._map is not None:
            self._map[keys[there]] = False
        else:
            self._sorted = np.setdiff1d(self._sorted, keys[there])
        return there

    def numbers(self) -> Array:
        """Returns all keys."""
        return self._sorted if self._map is None else np.flatnonzero(self._map)

    def _contains(self, keys: Array) -> Array:
        if self._map is not None:
            return np.asarray(self._map[keys])
        if len(self._sorted) == 0:
            return np.zeros(len(keys), bool)
        at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        return np.asarray(self._sorted[at] == keys)


class Fetched:
    """The blocks of one array that workers hold."""

    def __init__(self, blocks: int, workers: int) -> None:
        self._blocks, self._workers = blocks, workers
        self.clear()

    def clear(self) -> None:
        self._keys: KeySet | None = None
        self.sizes = np.zeros(self._workers, np.int64)  # bytes per worker

    def add(self, numbers: Array, sizes: Array, worker: Array | None) -> tuple[int, int]:
        """Returns how many blocks have to be fetched, and their bytes."""
        numbers, sizes, workers = self._spread(numbers, sizes, worker)
        if self._keys is None:
            self._keys = KeySet(self._blocks * self._workers)
        new = self._keys.add(numbers * self._workers + workers)
        np.add.at(self.sizes, workers[new], sizes[new])
        return len(new), int(sizes[new].sum())

    def forget(self, numbers: Array, sizes: Array, worker: Array | None) -> None:
        if self._keys is None:
            return
        numbers, sizes, workers = self._spread(numbers, sizes, worker)
        old = self._keys.remove(numbers * self._workers + workers)
        np.subtract.at(self.sizes, workers[old], sizes[old])

    def _spread(
        self, numbers: Array, sizes: Array, worker: Array | None
    ) -> tuple[Array, Array, Array]:
        """Repeats lanes that all workers execute."""
        if worker is not None:
            return numbers, sizes, worker
        return (
            np.repeat(numbers, self._workers),
            np.repeat(sizes, self._workers),
            np.tile(np.arange(self._workers), len(numbers)),
        )


class Stored:
    """The blocks of one array on the servers."""

    def __init__(self, blocks: int, servers: int, place: Callable[[Array], Array]) -> None:
        """`place` returns the servers of blocks."""
        self._blocks, self._servers, self._place = blocks, servers, place
        self.clear()

    def clear(self) -> None:
        self._keys: KeySet | None = None
        self.sizes = np.zeros(self._servers, np.int64)  # bytes per server
        self.counts = np.zeros(self._servers, np.int64)

    def add(self, numbers: Array, sizes: Array) -> None:
        if self._keys is None:
            self._keys = KeySet(self._blocks)
        new = self._keys.add(numbers)
        servers = self._place(numbers[new])
        np.add.at(self.sizes, servers, sizes[new])
        np.add.at(self.counts, servers, 1)

    def numbers(self) -> Array:
        return np.zeros(0, np.int64) if self._keys is None else self._keys.numbers()
