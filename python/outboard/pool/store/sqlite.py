"""The state in an SQLite file: one writer, durable commits."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from outboard.pool.core.records import MOST_USE, TABLES, Audit, Device, Handle, Lease, Use
from outboard.pool.core.state import Config, State
from outboard.pool.core.transaction import Change
from outboard.pool.store.base import StoreError, UsageSum, whole_revisions
from outboard.pool.store.memory import Held

_VERSION = 3
_BUSY_S = 5.0
_FOREVER = 1 << 62

# Columns beside `doc` are there for the constraints, and for people who look into the file.
_SCHEMA = """
create table meta(key text primary key, value integer not null) without rowid;
create table daemon(name text primary key, doc blob not null) without rowid;
create table device(id text primary key, daemon text not null, doc blob not null,
                    epoch integer not null, floor integer not null, admin text not null)
                    without rowid;
create table lease(id text primary key, holder text not null, grp text not null,
                   state text not null, arrived integer not null, doc blob not null) without rowid;
create table handle(device text not null, epoch integer not null, lease text not null,
                    exclusive integer not null, open integer not null, doc blob not null,
                    primary key(device, epoch)) without rowid;
create unique index one_exclusive on handle(device) where open and exclusive;
create index handle_lease on handle(lease);
create table usage(name text primary key, doc blob not null) without rowid;
create table quota(name text primary key, doc blob not null) without rowid;
create table reservation(id text primary key, doc blob not null) without rowid;
create table ban(user text primary key, doc blob not null) without rowid;
create table audit(rev integer not null, at integer not null, actor text not null,
                   verb text not null, object text not null, detail text not null);
insert into meta values ('rev', 0), ('now_ms', 0);
"""
# Version 2: who held which device, from the grant until the end. It is kept when leases are
# forgotten.
_USE = """
create table held(device text not null, epoch integer not null, lease text not null,
                  holder text not null, grp text not null, share integer not null,
                  granted integer not null, ended integer not null,
                  primary key(device, epoch)) without rowid;
create index held_granted on held(granted);
create index audit_rev on audit(rev)
"""
# Version 3: what was used of the devices. The index finds the records of one user among all.
_USE_COUNTS = """
create index audit_actor on audit(actor, rev);
alter table held add column compute_ns integer not null default 0;
alter table held add column waited_ns integer not null default 0;
alter table held add column bytes_in integer not null default 0;
alter table held add column bytes_out integer not null default 0
"""
# A store table: its SQL table, whose primary key has the fields of the record's key as columns.
_SQL = {
    "daemons": "daemon",
    "devices": "device",
    "leases": "lease",
    "handles": "handle",
    "accounts": "usage",
    "quotas": "quota",
    "reservations": "reservation",
    "bans": "ban",
}
_FIELDS = {table.name: table.fields for table in TABLES}
# Rows that are read, and their order, where these are not all by the key.
_READ = {"leases": "order by arrived, id", "handles": "where open order by device, epoch"}


@contextmanager
def _as_store_error(what: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{what} ({error})") from error


class SqliteStore:
    """Write-ahead log and synchronous=FULL: a commit that returned survives a power cut.

    The file is for its owner only. A second manager on the same file is refused.
    """

    remote = False

    def __init__(self, path: Path) -> None:
        """Raises StoreError if the file cannot be opened or is of a newer version."""
        self._encode = msgspec.json.Encoder().encode
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(
                path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            self._open(path)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path} cannot be opened ({error})") from error

    def _open(self, path: Path) -> None:
        db = self._db
        db.execute("pragma locking_mode=exclusive")
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=full")
        db.execute("begin exclusive")
        version = db.execute("pragma user_version").fetchone()[0]
        if version > _VERSION:
            db.execute("rollback")
            db.close()
            text = f"{path} is of version {version} (this manager knows {_VERSION})"
            raise StoreError(f"{text} use a newer Outboard")
        for old, schema in enumerate((_SCHEMA, _USE, _USE_COUNTS)):
            if version <= old:
                for statement in schema.split(";"):
                    if statement.strip():
                        db.execute(statement)
        db.execute(f"pragma user_version={_VERSION}")
        db.execute("commit")

    def load(self, config: Config) -> State:
        meta = dict(self._db.execute("select key, value from meta"))
        state = State(config, rev=meta["rev"], now_ms=meta["now_ms"])
        for table in TABLES:
            which = _READ.get(table.name, f"order by {', '.join(table.fields)}")
            docs = self._db.execute(f"select doc from {_SQL[table.name]} {which}")
            decode = msgspec.json.Decoder(table.record).decode
            records = [decode(doc) for (doc,) in docs]
            setattr(state, table.name, {table.key(record): record for record in records})
        return state

    def commit(self, rev: int, now_ms: int, changes: list[Change]) -> None:
        self._commit(rev, now_ms, changes, [])

    def _commit(
        self, rev: int, now_ms: int, changes: list[Change], held: list[tuple[object, ...]]
    ) -> None:
        """`held`: rows of the table of that name."""
        with _as_store_error(f"revision {rev} is not stored"):
            self._db.execute("begin immediate")
            try:
                self._db.executemany(f"insert into held values ({', '.join('?' * 12)})", held)
                for change in changes:
                    self._write(change)
                    if isinstance(change.record, Handle):
                        self._use(change.record, now_ms)
                self._db.execute(
                    "update meta set value = max(value, case key when 'rev' then ? else ? end)",
                    (rev, now_ms),
                )
                self._db.execute("commit")
            except BaseException:
                self._db.execute("rollback")
                raise

    def check(self, now_ms: int) -> None:
        """The lock on the file keeps others away."""

    def audits(self, after: int, limit: int, who: str) -> list[Audit]:
        mine = "and actor = :who" if who else ""
        rows = self._db.execute(
            f"select * from audit where rev > :after {mine} order by rev limit :limit",
            {"after": after, "who": who, "limit": limit},
        )
        return whole_revisions([Audit(*row) for row in rows], limit)

    def usage(self, by: str, since_ms: int, now_ms: int, who: str) -> list[UsageSum]:
        column = {"user": "holder", "group": "grp", "lease": "lease"}[by]
        # total() and not sum(), which fails beyond 63 bits.
        rows = self._db.execute(
            f"select {column}, count(distinct lease), sum((min(ended, :now) - max(granted, :since))"
            " * share / 1000.0), total(compute_ns), total(waited_ns), total(bytes_in),"
            " total(bytes_out) from held where ended > :since and granted < :now"
            f" and (:who = '' or holder = :who) group by {column} order by {column}",
            {"now": now_ms, "since": since_ms, "who": who},
        )
        return [
            UsageSum(name, leases, float(ms), Use(*(min(MOST_USE, int(n)) for n in use)))
            for name, leases, ms, *use in rows
        ]

    def backup(self) -> Callable[[], bytes]:
        copy = sqlite3.connect(":memory:", check_same_thread=False)

        def serialize() -> bytes:
            with closing(copy), _as_store_error("the backup is not made"):
                return copy.serialize()

        with _as_store_error("the backup is not made"):
            self._db.backup(copy)
        return serialize

    def held(self) -> dict[tuple[str, int], Held]:
        """Returns who had which device and epoch."""
        rows = self._db.execute(
            "select device, epoch, lease, holder, grp, share, granted, ended,"
            " compute_ns, waited_ns, bytes_in, bytes_out from held"
        )
        found: dict[tuple[str, int], Held] = {}
        for device, epoch, *facts in rows:
            of = found[device, epoch] = Held(*facts[:6])
            of.use = Use(*facts[6:])
        return found

    def take(
        self, rev: int, now_ms: int, changes: list[Change], held: dict[tuple[str, int], Held]
    ) -> None:
        """Fills this store, which is empty, with all that another one has. Raises StoreError."""
        rows = [
            (
                *(*key, h.lease, h.user, h.group, h.share, h.granted_ms, h.ended_ms),
                *msgspec.structs.astuple(h.use),
            )
            for key, h in held.items()
        ]
        self._commit(rev, now_ms, changes, rows)

    def close(self) -> None:
        self._db.close()

    def _write(self, change: Change) -> None:
        record, execute = change.record, self._db.execute
        if isinstance(record, Audit):
            execute("insert into audit values (?, ?, ?, ?, ?, ?)", msgspec.structs.astuple(record))
        elif isinstance(record, Device):
            self._device(record)
        elif isinstance(record, Lease):
            self._lease(record)
        elif isinstance(record, Handle):
            self._handle(record)
        elif record is not None:
            sql = f"insert or replace into {_SQL[change.table]} values (?, ?)"
            execute(sql, (change.key, self._encode(record)))
        else:
            if change.table == "leases":
                execute("delete from handle where lease = ?", (change.key,))
            (field,) = _FIELDS[change.table]
            execute(f"delete from {_SQL[change.table]} where {field} = ?", (change.key,))

    def _use(self, handle: Handle, now_ms: int) -> None:
        if handle.lives:
            self._db.execute(
                "insert or ignore into held (device, epoch, lease, holder, grp, share, granted,"
                " ended) select ?, ?, id, holder, grp, ?, ?, ? from lease where id = ?",
                (
                    handle.device,
                    handle.epoch,
                    handle.share,
                    handle.granted_ms,
                    _FOREVER,
                    handle.lease,
                ),
            )
        else:
            self._db.execute(
                "update held set ended = min(ended, ?) where device = ? and epoch = ?",
                (now_ms, handle.device, handle.epoch),
            )
        if handle.use != Use():
            self._db.execute(
                "update held set compute_ns = ?, waited_ns = ?, bytes_in = ?, bytes_out = ?"
                " where device = ? and epoch = ?",
                (*msgspec.structs.astuple(handle.use), handle.device, handle.epoch),
            )

    def _device(self, device: Device) -> None:
        row = (device.id, device.daemon, self._encode(device), device.epoch, device.floor)
        sql = "insert or replace into device values (?, ?, ?, ?, ?, ?)"
        self._db.execute(sql, (*row, device.admin.value))

    def _lease(self, lease: Lease) -> None:
        row = (lease.id, lease.holder, lease.request.group, lease.state.value, lease.arrived_ms)
        sql = "insert or replace into lease values (?, ?, ?, ?, ?, ?)"
        self._db.execute(sql, (*row, self._encode(lease)))

    def _handle(self, handle: Handle) -> None:
        # No "or replace": it would delete the row that the unique index protects.
        row = (handle.device, handle.epoch, handle.lease, handle.exclusive, handle.open)
        self._db.execute(
            "insert into handle values (?, ?, ?, ?, ?, ?) on conflict(device, epoch) "
            "do update set open = excluded.open, doc = excluded.doc",
            (*row, self._encode(handle)),
        )
