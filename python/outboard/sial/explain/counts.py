"""What the estimate of one program is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from outboard.sial.explain.lanes import Array


@dataclass
class Counts:
    """Sums over all workers, per instruction."""

    executions: Array
    flops: Array
    touched: Array  # bytes of operands and results
    requests: Array  # blocks that a get has to fetch
    received: Array  # bytes of these
    sent: Array  # bytes of blocks that are put

    @staticmethod
    def zeros(instructions: int) -> Counts:
        return Counts(*(np.zeros(instructions, np.int64) for _ in range(6)))

    def arrays(self) -> tuple[Array, ...]:
        return (
            self.executions, self.flops, self.touched, self.requests, self.received, self.sent,
        )  # fmt: skip

    def copy(self) -> Counts:
        return Counts(*(one.copy() for one in self.arrays()))

    def add_again(self, before: Counts, times: int) -> None:
        """Adds what has come since `before` so many times more."""
        for own, old in zip(self.arrays(), before.arrays(), strict=True):
            own += (own - old) * times


@dataclass
class Peak:
    """The most bytes of one sort, per rank, and where the largest one is reached."""

    sizes: Array
    instruction: int = -1
    parts: dict[int, int] = field(default_factory=dict)  # bytes by array, at the largest
    counts: Array | None = None  # blocks per rank at its peak

    def raise_to(self, sizes: Array, instruction: int) -> bool:
        """Returns true if the largest of all ranks has grown."""
        grown = int(sizes.max(initial=0)) > int(self.sizes.max(initial=0))
        np.maximum(self.sizes, sizes, out=self.sizes)
        if grown:
            self.instruction = instruction
        return grown


@dataclass
class Estimate:
    """The estimate of one program."""

    counts: Counts
    worker_flops: Array
    blocks: Peak  # statics, temps, locals, per worker
    fetched: Peak  # per worker
    stored: Peak  # per server
    statics: int
    array_peaks: dict[int, Array] = field(default_factory=dict)  # bytes per server, by array
    array_blocks: dict[int, int] = field(default_factory=dict)  # most blocks, by array
    notes: dict[str, None] = field(default_factory=dict)  # what is not exact, in order
    evicts: bool = False  # fetched blocks exceed their memory
