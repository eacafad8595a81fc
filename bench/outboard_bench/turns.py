"""The order of measurements that are compared."""

from __future__ import annotations

from collections.abc import Iterator


def in_turns(count: int, rounds: int) -> Iterator[int]:
    """Yields the numbers below `count` in each round. Another one begins every round, so that other
    load of the machine slows each of them."""
    for turn in range(rounds):
        for i in range(count):
            yield (turn + i) % count
