"""Saved stores of the manager, as text of SQL. Those of releases stay as they are, so that tests
find out what a new manager cannot read.

    PYTHONPATH=python:tests/python python tests/python/pool/saved_store.py FILE

makes one of the present version, by a real manager.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from pool_server import EVERYBODY, Manager, running

FOLDER = Path(__file__).with_name("saved")


def make(folder: Path) -> bytes:
    """Returns the backup of a pool that has a row in each table."""
    manager = Manager(folder / "m", EVERYBODY + '[groups]\nchem = ["loopback"]\n')
    client = manager.client()

    def put(path: str, **body: object) -> None:
        client.ask("PUT", f"/v1/{path}", body)

    put("quotas/user:eve", devices=3, waiting=2)
    put("reservations/course", count=1, users=["eve"], start_ms=1 << 43, end_ms=1 << 44)
    put("bans/mallory", reason="ask the help desk")
    with running(client, "n1", "n2", devices=2, labels={"rack": "r7"}):
        # Whoever reads this again later renews nothing, but for `part`.
        kept = {"ttl_s": 0, "until_ms": 1 << 43}
        put("leases/ended", ttl_s=60)
        client.ask("DELETE", "/v1/leases/ended")
        put("leases/alone", **kept, count=2, group="chem", replace=True, wait_s=20)
        put("leases/slurm.a.4711.0", **kept, for_user="ada", wait_s=20)
        part = {"exclusive": False, "share": 300, "memory_bytes": 10, "wait_s": 20}
        put("leases/part", ttl_s=86_400, **part, priority="high")
        put("leases/waits", **kept, count=4, wire=[7, 8], **{"class": {"labels": {"rack": "r7"}}})
        client.ask("PATCH", "/v1/devices/n2%2F1", {"admin": "cordoned"})
        _, backup = manager.local().raw("GET", "/v1/backup")
    manager.stop()
    return backup


def text_of(backup: bytes) -> str:
    """Returns the statements that make the store anew."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pool.db"
        file.write_bytes(backup)
        with closing(sqlite3.connect(file)) as db:
            (version,) = db.execute("pragma user_version").fetchone()
            lines = [f"pragma user_version={version};"]
            made = db.execute("select type, name, sql from sqlite_master where sql is not null")
            schema = made.fetchall()
            lines += [f"{sql};" for _, _, sql in schema]
            for table in (name for kind, name, _ in schema if kind == "table"):
                rows = db.execute(f"select * from {table} order by 1, 2")
                lines += [f"insert into {table} values ({_values(db, row)});" for row in rows]
    return "\n".join(lines) + "\n"


def _values(db: sqlite3.Connection, row: tuple[object, ...]) -> str:
    """Records are bytes of JSON, which people shall be able to read."""
    quoted = []
    for value in row:
        plain = value.decode() if isinstance(value, bytes) else value
        (text,) = db.execute("select quote(?)", (plain,)).fetchone()
        quoted.append(f"cast({text} as blob)" if isinstance(value, bytes) else text)
    return ", ".join(quoted)


def restore(text: str, file: Path) -> None:
    """Makes the file of a store."""
    file.touch(0o600)
    with closing(sqlite3.connect(file)) as db:
        db.executescript(f"begin; {text} commit;")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Path(sys.argv[1]).write_text(text_of(make(Path(folder))))
