"""The state in etcd, for several managers of which one leads.

Keys below the prefix: `leader`; `time` and `pool-name`; `signers/KID`, the public keys of managers;
`meta` (revision and time); `row/TABLE/KEY`; `exclusive/DEVICE`, the epoch that has a device alone;
`held/DEVICE/EPOCH`, who held it when; `audit/REVISION/NUMBER`; and `journal/NUMBER` while a commit
is under way that is too large for one transaction of etcd.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from outboard.pool.core.records import TABLES, Audit, Handle
from outboard.pool.core.state import Config, State
from outboard.pool.core.transaction import Change
from outboard.pool.store.base import StoreError, UsageSum, whole_revisions
from outboard.pool.store.etcd_gateway import (
    EtcdAddress,
    EtcdGateway,
    Json,
    decoded,
    delete,
    has_value,
    look,
    past,
    put,
)
from outboard.pool.store.leadership import Leadership
from outboard.pool.store.memory import Held, MemoryStore
from outboard.pool.store.sqlite import SqliteStore

_VERSION = 1
# etcd's own limits are 128 operations and 1.5 MiB of a request.
_MOST_OPERATIONS = 120
_MOST_BYTES = 1 << 20
_CHUNK_BYTES = 512 << 10
_READ_S = 5.0
_AUDIT_PAGE = 20  # rows of an answer
_AUDITS_OF_A_ROW = 100  # a commit may have thousands, and a row must fit into a request
_DIGITS = 16  # of a number in a key, so that keys have the order of numbers


class Meta(msgspec.Struct, frozen=True):
    """`commit`: a number of its own for each commit, so that one that arrives twice is known.
    `journal`: so many parts of the journal are the rest of this commit."""

    version: int
    rev: int
    now_ms: int
    commit: int
    journal: int = 0


Rows = dict[str, bytes | None]  # key below the prefix -> its value; None: the key goes


class EtcdStore:
    """Only the leader writes: each transaction compares the place of the leader. A copy of the
    tables in memory serves questions about use. Threads: one; audits() another one."""

    remote = True

    def __init__(self, address: EtcdAddress, leadership: Leadership) -> None:
        self.address = address
        self._prefix = address.prefix.encode() + b"/"
        self._gateway, self._leadership = EtcdGateway(address), leadership
        self._reads = EtcdGateway(address)
        self._whole = 0  # all records up to this revision are rows, and none is in the journal
        self._encode = msgspec.json.Encoder().encode
        self._meta: bytes | None = None
        self._now = Meta(_VERSION, 0, 0, 0)
        self._copy = MemoryStore()
        self._failed = ""

    def load(self, config: Config) -> State:
        """Finishes the commit that was under way, if there is one. Raises StoreError."""
        self._read_meta()
        if self._now.journal:
            self._replay()
        copy = self._copy = MemoryStore()
        for table in TABLES:
            decode = msgspec.json.Decoder(table.record).decode
            copy.take_table(table, [decode(raw) for _, raw in self._below(f"row/{table.name}/")])
        for key, raw in self._below("held/"):
            device, _, epoch = key.rpartition("/")
            copy.held[device, int(epoch)] = msgspec.json.decode(raw, type=Held)
        copy.rev = self._now.rev
        copy.now_ms = max(self._now.now_ms, self._leadership.time_ms())
        self._failed = ""
        self._whole = copy.rev
        return copy.load(config)

    def commit(self, rev: int, now_ms: int, changes: list[Change]) -> None:
        self._commit(rev, now_ms, changes, {})

    def take(
        self, rev: int, now_ms: int, changes: list[Change], held: dict[tuple[str, int], Held]
    ) -> None:
        """Fills this store, which is empty, with all that another one has. Raises StoreError."""
        if self._meta is not None:
            raise StoreError(
                f"etcd has a pool below {self.address.prefix} already; choose another prefix"
            )
        self._copy.held.update(held)
        rows: Rows = {f"held/{_pair(key)}": self._encode(one) for key, one in held.items()}
        self._commit(rev, now_ms, changes, rows)

    def _commit(self, rev: int, now_ms: int, changes: list[Change], more: Rows) -> None:
        if self._failed:
            raise StoreError(f"nothing is stored any more ({self._failed}) start the manager again")
        handles = [c.record for c in changes if isinstance(c.record, Handle)]
        before = {h.device: self._copy.exclusive.get(h.device) for h in handles if h.exclusive}
        self._copy.commit(rev, now_ms, changes)
        self._copy.audit.clear()  # etcd has these records, and nobody reads them here
        rows = more | self._rows(changes)
        after = {device: self._copy.exclusive.get(device) for device in before}
        compares = []
        for device, epoch in before.items():
            if after[device] != epoch:
                value = None if epoch is None else str(epoch).encode()
                compares.append(has_value(self._key(f"exclusive/{device}"), value))
                row = None if after[device] is None else str(after[device]).encode()
                rows[f"exclusive/{device}"] = row
        meta = Meta(_VERSION, self._copy.rev, self._copy.now_ms, self._now.commit + 1)
        try:
            self._write(rows, compares, meta)
        except StoreError as error:
            self._failed = str(error)
            raise
        self._whole = meta.rev

    def check(self, now_ms: int) -> None:
        if now_ms:
            self._leadership.now_ms = now_ms
        self._leadership.check()

    def audits(self, after: int, limit: int, who: str) -> list[Audit]:
        begin, end = self._key(f"audit/{after + 1:0{_DIGITS}}"), past(self._key("audit/"))
        whole = self._whole
        found: list[Audit] = []
        for kv in self._reads.between(begin, end, _READ_S, _AUDIT_PAGE):
            self._leadership.check()  # a process that ends must not read on
            records = msgspec.json.decode(decoded(kv["value"]), type=list[Audit])
            found += [r for r in records if after < r.rev <= whole and who in ("", r.actor)]
            if len(found) > limit:
                break
        return whole_revisions(found[:limit], limit)

    def usage(self, by: str, since_ms: int, now_ms: int, who: str) -> list[UsageSum]:
        return self._copy.usage(by, since_ms, now_ms, who)

    def backup(self) -> Callable[[], bytes]:
        copy = self._copy
        rows = [Change(t, key, row) for t, rows in copy.tables.items() for key, row in rows.items()]
        held = {key: replace(one) for key, one in copy.held.items()}
        return partial(self._file, copy.rev, copy.now_ms, rows, held)

    def _file(
        self, rev: int, now_ms: int, rows: list[Change], held: dict[tuple[str, int], Held]
    ) -> bytes:
        records = [record for record in self.audits(0, 1 << 62, "") if record.rev <= rev]
        rows = rows + [Change("audit", "", record) for record in records]
        try:
            with tempfile.TemporaryDirectory() as folder:
                store = SqliteStore(Path(folder) / "pool.db")
                try:
                    store.take(rev, now_ms, rows, held)
                    return store.backup()()
                finally:
                    store.close()
        except OSError as error:
            raise StoreError(f"the backup is not made ({error})") from error

    def close(self) -> None:
        """Gives the place of the leader free."""
        self._leadership.resign()
        self._gateway.close()
        self._reads.close()

    def _rows(self, changes: list[Change]) -> Rows:
        """Returns what the changes make of the keys, as the copy has it."""
        rows: Rows = {}
        audits: list[Audit] = []
        for change in changes:
            if isinstance(change.record, Audit):
                audits.append(change.record)
                continue
            key = change.key if isinstance(change.key, str) else _pair(change.key)
            record = self._copy.tables[change.table].get(change.key)
            rows[f"row/{change.table}/{key}"] = None if record is None else self._encode(record)
            if isinstance(change.key, tuple) and change.key in self._copy.held:
                rows[f"held/{key}"] = self._encode(self._copy.held[change.key])
        for at in range(0, len(audits), _AUDITS_OF_A_ROW):
            row = audits[at : at + _AUDITS_OF_A_ROW]
            rows[f"audit/{row[-1].rev:0{_DIGITS}}/{at:0{_DIGITS}}"] = self._encode(row)
        return rows

    def _write(self, rows: Rows, compares: list[Json], meta: Meta) -> None:
        """Writes all rows or none. Those that do not fit one transaction go into the journal first;
        the transaction that counts them is the commit."""
        size = sum(len(key) + len(value or b"") for key, value in rows.items())
        if len(rows) < _MOST_OPERATIONS and size < _MOST_BYTES:
            self._transact(compares, self._operations(rows.items()), meta)
            return
        raw = self._encode([(key, None if v is None else v.decode()) for key, v in rows.items()])
        parts = [raw[at : at + _CHUNK_BYTES] for at in range(0, len(raw), _CHUNK_BYTES)]
        for number, part in enumerate(parts):
            # Nobody reads these before the next transaction says that they are there.
            self._guarded([put(self._journal(number), part)])
        # More comparisons than etcd takes: the others rest on the copy in memory alone.
        committed = msgspec.structs.replace(meta, journal=len(parts))
        self._transact(compares[:_MOST_OPERATIONS], [], committed)
        self._apply(rows)

    def _apply(self, rows: Rows) -> None:
        """Makes the rows of the journal, which are committed, and then ends the journal."""
        batch: list[tuple[str, bytes | None]] = []
        size = 0
        for key, value in rows.items():
            batch.append((key, value))
            size += len(key) + len(value or b"")
            if len(batch) == _MOST_OPERATIONS or size >= _MOST_BYTES // 2:
                self._guarded(self._operations(batch))
                batch, size = [], 0
        self._guarded(self._operations(batch))
        done = msgspec.structs.replace(self._now, journal=0, commit=self._now.commit + 1)
        self._transact([], [delete(self._key("journal/"), past(self._key("journal/")))], done)

    def _replay(self) -> None:
        parts = [value for _, value in self._below("journal/")]
        raw = b"".join(parts[: self._now.journal])
        rows = msgspec.json.decode(raw, type=list[tuple[str, str | None]])
        self._apply({key: None if v is None else v.encode() for key, v in rows})

    def _operations(self, rows: Iterable[tuple[str, bytes | None]]) -> list[Json]:
        return [
            delete(self._key(key)) if value is None else put(self._key(key), value)
            for key, value in rows
        ]

    def _transact(self, compares: list[Json], operations: list[Json], meta: Meta) -> None:
        """One transaction that takes the store from the present `meta` to the next."""
        raw = self._encode(meta)
        self._guarded([put(self._key("meta"), raw), *operations], compares, raw)
        self._meta, self._now = raw, meta

    def _guarded(
        self, operations: list[Json], compares: Iterable[Json] = (), meta: bytes | None = None
    ) -> None:
        """A transaction that etcd refuses if this manager does not lead, and if another commit has
        come since: so one that was repeated and arrives late does nothing. `meta`: what it makes of
        that key. Raises StoreError."""
        key = self._key("meta")
        refused = self._leadership.transact(
            self._gateway,
            operations,
            self._until(),
            [has_value(key, self._meta), *compares],
            [look(key)],
        )
        if refused is None:
            return
        (found,) = refused
        # It was done if a first attempt had arrived and its answer was lost.
        if meta is None or not found or decoded(found[0]["value"]) != meta:
            raise StoreError("etcd refuses a commit (something else has changed the pool's keys)")

    def _until(self) -> float:
        """Returns until when etcd is asked: as long as this manager leads."""
        return time.monotonic() + max(0.0, self._leadership.left_s)

    def _below(self, name: str) -> Iterator[tuple[str, bytes]]:
        return self._gateway.below(self._key(name), _READ_S)

    def _read_meta(self) -> None:
        self._meta = self._gateway.value(self._key("meta"), self._until())
        self._now = Meta(_VERSION, 0, 0, 0)
        if self._meta is not None:
            self._now = msgspec.json.decode(self._meta, type=Meta)
        if self._now.version > _VERSION:
            why = f"it is of version {self._now.version}, and this manager knows {_VERSION}"
            raise StoreError(f"the state in etcd cannot be read ({why}) use a newer Outboard")

    def _key(self, name: str) -> bytes:
        return self._prefix + name.encode()

    def _journal(self, number: int) -> bytes:
        return self._key(f"journal/{number:0{_DIGITS}}")


def _pair(key: tuple[str, int]) -> str:
    return f"{key[0]}/{key[1]:0{_DIGITS}}"
