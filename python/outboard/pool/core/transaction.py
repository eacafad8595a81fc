"""One step of the state: keeps what changed, so that a store can write just that."""

from __future__ import annotations

import heapq

from outboard.pool.core.records import TABLE_OF, Audit, Handle, Key, Record, Row
from outboard.pool.core.replies import DesiredChanged, LeaseChanged, Notice
from outboard.pool.core.state import State


class Change(Record, frozen=True):
    """One row of a stored table. `record` None: the row goes."""

    table: str
    key: Key
    record: Record | None


class Transaction:
    """The changes of one command. `rev`: the revision that they get, if there are any."""

    def __init__(self, state: State, now_ms: int) -> None:
        self.state = state
        self.now_ms = now_ms
        self.rev = state.rev + 1
        self._changed: dict[tuple[str, Key], Record | None] = {}
        self._audit: list[Audit] = []
        self._leases: dict[str, None] = {}
        self._daemons: dict[str, None] = {}

    def put(self, record: Row) -> None:
        if isinstance(record, Handle):
            self._put_handle(record)
            return
        table = TABLE_OF[type(record)]
        key = table.key(record)
        getattr(self.state, table.name)[key] = record
        self._note(table.name, key, record)

    def delete_lease(self, lease: str) -> None:
        del self.state.leases[lease]
        del self.state.live_leases[lease]
        self._note("leases", lease, None)

    def delete_reservation(self, name: str) -> None:
        del self.state.reservations[name]
        self._note("reservations", name, None)

    def delete_ban(self, user: str) -> None:
        del self.state.bans[user]
        self._note("bans", user, None)

    def audit(self, actor: str, verb: str, thing: str, detail: str = "") -> None:
        self._audit.append(Audit(self.rev, self.now_ms, actor, verb, thing, detail))

    def lease_changed(self, lease: str) -> None:
        self._leases[lease] = None

    def desired_changed(self, daemon: str) -> None:
        self._daemons[daemon] = None

    def timer(self, at_ms: int, kind: str, key: str, number: int = 0) -> None:
        heapq.heappush(self.state.timers, (at_ms, kind, key, number))

    def changes(self) -> list[Change]:
        """Returns the changed rows, each once, and gives the state its new revision."""
        if not self._changed and not self._audit:
            return []
        self.state.rev = self.rev
        rows = [Change(table, key, record) for (table, key), record in self._changed.items()]
        return rows + [Change("audit", "", record) for record in self._audit]

    def notices(self) -> list[Notice]:
        return [LeaseChanged(i) for i in self._leases] + [DesiredChanged(d) for d in self._daemons]

    def _put_handle(self, handle: Handle) -> None:
        key = (handle.device, handle.epoch)
        live = self.state.live_devices[handle.device]
        if handle.open:
            self.state.handles[key] = handle
            live.handles[handle.epoch] = handle
            self.state.live_leases[handle.lease].handles[key] = None
        else:
            del self.state.handles[key]
            del live.handles[handle.epoch]
            del self.state.live_leases[handle.lease].handles[key]
        self._note("handles", key, handle)

    def _note(self, table: str, key: Key, record: Record | None) -> None:
        self._changed[table, key] = record
