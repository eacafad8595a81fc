"""Makes a backup the state of a manager again."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from pathlib import Path

from msgspec.structs import replace

from outboard.pool.core.records import TABLES, LeaseState
from outboard.pool.core.state import Config
from outboard.pool.core.transaction import Change
from outboard.pool.store.base import StoreError
from outboard.pool.store.etcd import EtcdStore
from outboard.pool.store.etcd_gateway import EtcdAddress
from outboard.pool.store.leadership import Leadership
from outboard.pool.store.sqlite import SqliteStore

# More than a pool grants between two backups. Epochs and revisions of the time after the backup are
# below, so daemons refuse their tokens.
_JUMP = 1 << 32


def restore(backup: Path, target: Path) -> int:
    """Copies `backup` to `target`, which must not exist, and raises all epochs, floors and the
    revision. Returns the number of leases that live. Raises StoreError."""
    if target.exists():
        raise StoreError(f"{target} is there already; move it away first")
    try:
        with sqlite3.connect(f"file:{backup}?mode=ro", uri=True) as source:
            if source.execute("pragma integrity_check").fetchone() != ("ok",):
                raise StoreError(f"{backup} is damaged; use another backup")
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with sqlite3.connect(target) as copy:
                source.backup(copy)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{backup} cannot be restored ({error})") from error
    store = SqliteStore(target)
    try:
        state = store.load(Config())
        changes = []
        for device in state.devices.values():
            # The open handles keep their epochs: their holders go on, if nobody came after them.
            raised = replace(device, epoch=device.epoch + _JUMP)
            changes.append(Change("devices", device.id, raised))
        store.commit(state.rev + _JUMP, state.now_ms, changes)
    finally:
        store.close()
    return sum(lease.state is LeaseState.HELD for lease in state.leases.values())


def restore_into_etcd(backup: Path, address: EtcdAddress) -> int:
    """As restore(), into etcd, where no pool may be below the prefix, and no manager may lead."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pool.db"
        leases = restore(backup, file)
        source = SqliteStore(file)
        state, held = source.load(Config()), source.held()
        acts = source.audits(0, 1 << 62, "")
        source.close()
    changes = [Change(t.name, t.key(r), r) for t in TABLES for r in getattr(state, t.name).values()]
    changes += [Change("audit", "", act) for act in acts]
    leadership = Leadership(address, "")
    store = EtcdStore(address, leadership)
    try:
        if leadership.campaign() is not None:
            raise StoreError("a manager leads there; stop all managers of the pool first")
        store.load(Config())
        store.take(state.rev, state.now_ms, changes, held)
    finally:
        store.close()
    return leases
