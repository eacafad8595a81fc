"""A store in memory, for tests. It keeps what a store on disk would keep, and no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from outboard.pool.core.records import TABLES, Audit, Handle, Lease, Table, Use
from outboard.pool.core.state import Config, State
from outboard.pool.core.transaction import Change
from outboard.pool.store.base import StoreError, UsageSum, whole_revisions


@dataclass
class Held:
    """A device in the hands of a holder."""

    lease: str
    user: str
    group: str
    share: int
    granted_ms: int
    ended_ms: int
    use: Use = field(default_factory=Use)


class MemoryStore:
    """Also refuses two open exclusive handles of one device, as the SQLite store does.

    `exclusive`: the epoch that has a device alone. `held`: who had a device, by device and epoch.
    """

    remote = False

    def __init__(self) -> None:
        self.rev = 0
        self.now_ms = 0
        self.tables: dict[str, dict[Any, Any]] = {table.name: {} for table in TABLES}
        self.audit: list[Audit] = []
        self.exclusive: dict[str, int] = {}
        self.held: dict[tuple[str, int], Held] = {}

    def load(self, config: Config) -> State:
        state = State(config, rev=self.rev, now_ms=self.now_ms)
        for name, table in self.tables.items():
            setattr(state, name, dict(table))
        return state

    def take_table(self, table: Table, records: list[Any]) -> None:
        """Fills an empty table with what another store has, in the order of that store's load()."""
        if table.record is Handle:
            records.sort(key=lambda handle: (handle.device, handle.epoch))
            self.exclusive = {h.device: h.epoch for h in records if h.exclusive}
        elif table.record is Lease:
            records.sort(key=lambda lease: (lease.arrived_ms, lease.id))
        self.tables[table.name] = {table.key(record): record for record in records}

    def refuse(self, rev: int, changes: list[Change]) -> None:
        """Raises StoreError if commit() must not take these changes."""
        if changes and rev <= self.rev:
            raise StoreError(f"revision {rev} is not above {self.rev}")
        alone: dict[str, int] = {}
        for change in changes:
            handle = change.record
            if not isinstance(handle, Handle) or not handle.exclusive:
                continue
            other = alone.get(handle.device, self.exclusive.get(handle.device, handle.epoch))
            if not handle.open:
                alone[handle.device] = 0 if other == handle.epoch else other
            elif other not in (0, handle.epoch):
                raise StoreError(f"{handle.device}: epochs {other} and {handle.epoch} overlap")
            else:
                alone[handle.device] = handle.epoch

    def commit(self, rev: int, now_ms: int, changes: list[Change]) -> None:
        self.refuse(rev, changes)
        for change in changes:
            record = change.record
            if isinstance(record, Audit):
                self.audit.append(record)
            elif isinstance(record, Handle):
                self._handle(record)
                self._use(record, now_ms)
            elif record is None:
                self.tables[change.table].pop(change.key, None)
            else:
                self.tables[change.table][change.key] = record
        self.rev, self.now_ms = max(rev, self.rev), max(now_ms, self.now_ms)

    def audits(self, after: int, limit: int, who: str) -> list[Audit]:
        found = [a for a in self.audit if a.rev > after and who in ("", a.actor)]
        return whole_revisions(found[:limit], limit)

    def usage(self, by: str, since_ms: int, now_ms: int, who: str) -> list[UsageSum]:
        sums: dict[str, tuple[set[str], float, Use]] = {}
        for held in self.held.values():
            ms = min(held.ended_ms, now_ms) - max(held.granted_ms, since_ms)
            if held.ended_ms <= since_ms or held.granted_ms >= now_ms or who not in ("", held.user):
                continue
            leases, before, use = sums.setdefault(getattr(held, by), (set(), 0.0, Use()))
            leases.add(held.lease)
            ms_so_far = before + ms * held.share / 1000
            sums[getattr(held, by)] = (leases, ms_so_far, use.plus(held.use, Use()))
        return [UsageSum(name, len(of[0]), of[1], of[2]) for name, of in sorted(sums.items())]

    def backup(self) -> Callable[[], bytes]:
        raise StoreError("a store in memory has no backup")

    def check(self, now_ms: int) -> None:
        """Nobody else has the memory."""

    def close(self) -> None:
        """Holds nothing that must be closed."""

    def _use(self, handle: Handle, now_ms: int) -> None:
        key = (handle.device, handle.epoch)
        if handle.lives:
            lease = self.tables["leases"].get(handle.lease)
            if lease is not None:
                facts = (lease.id, lease.holder, lease.request.group, handle.share)
                self.held.setdefault(key, Held(*facts, handle.granted_ms, 1 << 62))
        elif key in self.held:
            self.held[key].ended_ms = min(self.held[key].ended_ms, now_ms)
        if key in self.held:
            self.held[key].use = handle.use

    def _handle(self, handle: Handle) -> None:
        key = (handle.device, handle.epoch)
        if not handle.open:
            self.tables["handles"].pop(key, None)
            if self.exclusive.get(handle.device) == handle.epoch:
                del self.exclusive[handle.device]
            return
        if handle.exclusive:
            self.exclusive[handle.device] = handle.epoch
        self.tables["handles"][key] = handle
