"""A store in memory, for tests. It keeps what a store on disk would keep, and no more."""

from __future__ import annotations

from typing import Any

from outboard.pool.core.records import Audit, Handle
from outboard.pool.core.state import Config, State
from outboard.pool.core.transaction import Change
from outboard.pool.store.base import StoreError


class MemoryStore:
    """Also refuses two open exclusive handles of one device, as the SQLite store does."""

    def __init__(self) -> None:
        self.rev = 0
        self.now_ms = 0
        self.tables: dict[str, dict[Any, Any]] = {
            name: {}
            for name in "daemons devices leases handles accounts quotas reservations bans".split()
        }
        self.audit: list[Audit] = []
        self._exclusive: dict[str, int] = {}

    def load(self, config: Config) -> State:
        state = State(config, rev=self.rev, now_ms=self.now_ms)
        for name, table in self.tables.items():
            setattr(state, name, dict(table))
        return state

    def commit(self, rev: int, now_ms: int, changes: list[Change]) -> None:
        if changes and rev <= self.rev:
            raise StoreError(f"revision {rev} is not above {self.rev}")
        for change in changes:
            record = change.record
            if isinstance(record, Audit):
                self.audit.append(record)
            elif isinstance(record, Handle):
                self._handle(record)
            elif record is None:
                self.tables[change.table].pop(change.key, None)
            else:
                self.tables[change.table][change.key] = record
        self.rev, self.now_ms = max(rev, self.rev), max(now_ms, self.now_ms)

    def close(self) -> None:
        """Holds nothing that must be closed."""

    def _handle(self, handle: Handle) -> None:
        key = (handle.device, handle.epoch)
        if not handle.open:
            self.tables["handles"].pop(key, None)
            if self._exclusive.get(handle.device) == handle.epoch:
                del self._exclusive[handle.device]
            return
        if handle.exclusive:
            other = self._exclusive.setdefault(handle.device, handle.epoch)
            if other != handle.epoch:
                raise StoreError(f"{handle.device}: epochs {other} and {handle.epoch} overlap")
        self.tables["handles"][key] = handle
