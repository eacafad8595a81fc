"""What every store does."""

from __future__ import annotations

from typing import Protocol

from outboard.pool.core.state import Config, State
from outboard.pool.core.transaction import Change


class StoreError(Exception):
    """The store failed. The manager must stop: its memory may be ahead of the store."""


class Store(Protocol):
    """Called by one thread."""

    def load(self, config: Config) -> State:
        """Returns the stored tables. The command `Start` makes the rest of the state."""
        ...

    def commit(self, rev: int, now_ms: int, changes: list[Change]) -> None:
        """Stores all changes or none, durably. `rev`: of the last of them. `now_ms`: pool time,
        the least that the next start may use.

        Raises StoreError if they are not stored, or break what the store guarantees.
        """
        ...

    def close(self) -> None: ...
