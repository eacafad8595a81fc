"""Makes a backup the state of a manager again."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from msgspec.structs import replace

from outboard.pool.core.records import LeaseState
from outboard.pool.core.state import Config
from outboard.pool.core.transaction import Change
from outboard.pool.store.base import StoreError
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
