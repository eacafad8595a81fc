"""What every store does."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from outboard.pool.core.records import Audit, Use
from outboard.pool.core.state import Config, State
from outboard.pool.core.transaction import Change


class StoreError(Exception):
    """The store failed. The manager must stop: its memory may be ahead of the store."""


class UsageSum(NamedTuple):
    """`device_ms`: times share, since the time that was asked for. The use is that of the devices
    that were held then, from their grants on."""

    name: str
    leases: int
    device_ms: float
    use: Use


class Store(Protocol):
    """Called by one thread, but for what says otherwise. `remote`: audits() waits for a network, so
    it is called by a thread of its own, beside the one that commits."""

    remote: bool

    def load(self, config: Config) -> State:
        """Returns the stored tables. The command `Start` makes the rest of the state."""
        ...

    def commit(self, rev: int, now_ms: int, changes: list[Change]) -> None:
        """Stores all changes or none, durably. `rev`: of the last of them. `now_ms`: pool time,
        the least that the next start may use.

        Raises StoreError if they are not stored, or break what the store guarantees.
        """
        ...

    def check(self, now_ms: int) -> None:
        """Raises StoreError if this manager may not answer any more: another one may lead.
        `now_ms`: pool time, which a store of several managers passes on. Any thread."""
        ...

    def audits(self, after: int, limit: int, who: str) -> list[Audit]:
        """Returns about `limit` records of revisions above `after`, in order; of the actor `who`,
        or of all if it is empty. No revision is cut. Raises StoreError if they cannot be read."""
        ...

    def usage(self, by: str, since_ms: int, now_ms: int, who: str) -> list[UsageSum]:
        """Returns the use since a time, by "user", "group" or "lease"; of the holder `who`, or of
        all if it is empty."""
        ...

    def backup(self) -> Callable[[], bytes]:
        """Takes a copy of the whole store. The function that it returns makes a file of SQLite of
        it, in the thread of audits(). Raises StoreError, and so does that."""
        ...

    def close(self) -> None: ...


def whole_revisions(records: list[Audit], limit: int) -> list[Audit]:
    """Cuts the last revision off if not all of its records may be there."""
    if len(records) < limit or records[0].rev == records[-1].rev:
        return records
    return [record for record in records if record.rev != records[-1].rev]
