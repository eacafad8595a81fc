"""All stores keep what the core says. SQLite keeps it over SIGKILL in the middle of commits."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from etcd_cluster import EtcdCluster, etcd_cluster, leading_store, needs_etcd
from pool_commands import SECOND, Pool, fresh_seed

from outboard.pool.core.commands import BanUser, Grow, SetQuota, SetReservation, UnbanUser
from outboard.pool.core.records import TABLES, Handle, Quota, Reservation, Selector, Use
from outboard.pool.core.state import Config, State
from outboard.pool.core.transaction import Change
from outboard.pool.store.base import Store, StoreError, UsageSum
from outboard.pool.store.memory import MemoryStore
from outboard.pool.store.sqlite import SqliteStore


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd")) as cluster:
        yield cluster


@pytest.fixture(params=["memory", "sqlite", pytest.param("etcd", marks=needs_etcd)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store
    if request.param == "memory":
        made = MemoryStore()
    elif request.param == "sqlite":
        made = SqliteStore(tmp_path / "db")
    else:
        made = leading_store(request.getfixturevalue("etcd"))
    yield made
    made.close()


def assert_same(loaded: State, state: State) -> None:
    assert loaded.rev == state.rev
    for table in TABLES:
        assert getattr(loaded, table.name) == getattr(state, table.name), table


def test_loading_gives_what_the_core_has(store: Store) -> None:
    pool = Pool(daemons=2, devices=2)
    committed: Store = store
    memory, pool.store = pool.store, committed  # type: ignore[assignment]
    committed.commit(pool.state.rev, pool.now_ms, _all_rows(memory))
    pool.held("a", count=2, group="chem", replace=True)
    pool.held("b", "bob", exclusive=False, share=300, memory_bytes=10, ttl_ms=0)
    pool.put("c", "eve", count=4)
    pool.ask(Grow("b", "bob", "p", 2))
    pool.ask(SetQuota("root", Quota("user:eve", devices=3)))
    pool.ask(SetReservation("root", Reservation("r", Selector("gpu"), 1, ("eve",), 5, 6)))
    pool.ask(BanUser("root", "mallory"))
    pool.ask(BanUser("root", "oscar"))
    pool.ask(UnbanUser("root", "oscar"))
    pool.release("a")
    pool.beat("n0", fatal=True)
    pool.wait(5 * SECOND)
    assert_same(committed.load(Config()), pool.state)
    assert committed.load(Config()).now_ms <= pool.state.now_ms


def _all_rows(memory: MemoryStore) -> list[Change]:
    return [Change(t, k, r) for t, rows in memory.tables.items() for k, r in rows.items()]


def test_forgotten_leases_take_their_handles_along(tmp_path: Path) -> None:
    pool, store = Pool(), SqliteStore(tmp_path / "db")
    memory, pool.store = pool.store, store  # type: ignore[assignment]
    store.commit(pool.state.rev, pool.now_ms, _all_rows(memory))
    pool.held("a")
    pool.release("a")
    pool.beat()
    pool.now_ms += 7 * 86_400 * SECOND
    pool.beat()
    assert store.load(Config()).leases == {}
    store.close()
    with sqlite3.connect(tmp_path / "db") as db:
        assert db.execute("select count(*) from handle").fetchone() == (0,)
        assert db.execute("select count(*) from audit").fetchone() > (0,)


def _handle(device: str, epoch: int, exclusive: bool = True, **more: Any) -> Change:
    share = 1000 if exclusive else 500
    facts: Any = (device, epoch, "lease", exclusive, share, 1, 0)
    handle = Handle(*facts, **more)
    return Change("handles", (device, epoch), handle)


def test_exclusive_grants_cannot_overlap(store: Store) -> None:
    store.commit(1, 1, [_handle("d", 1), _handle("e", 1)])
    with pytest.raises(StoreError):
        store.commit(2, 2, [_handle("d", 2)])


def test_exclusive_grants_may_follow_each_other(store: Store) -> None:
    store.commit(1, 1, [_handle("d", 1)])
    store.commit(2, 2, [_handle("d", 1, open=False), _handle("d", 2)])
    store.commit(3, 3, [_handle("e", 5, exclusive=False), _handle("e", 6, exclusive=False)])
    assert sorted(store.load(Config()).handles) == [("d", 2), ("e", 5), ("e", 6)]


def test_a_refused_commit_changes_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "db")
    store.commit(1, 1, [_handle("d", 1)])
    with pytest.raises(StoreError):
        store.commit(2, 2, [_handle("e", 9), _handle("d", 2)])
    state = store.load(Config())
    assert (state.rev, sorted(state.handles)) == (1, [("d", 1)])
    store.commit(2, 2, [_handle("e", 9)])  # it works on


def test_time_and_revision_never_fall(store: Store) -> None:
    store.commit(5, 100, [_handle("d", 1)])
    store.commit(6, 50, [_handle("e", 1)])
    state = store.load(Config())
    assert (state.rev, state.now_ms) == (6, 100)


def test_the_file_is_private_and_durable(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "db")
    assert stat.S_IMODE((tmp_path / "db").stat().st_mode) == 0o600
    assert store._db.execute("pragma synchronous").fetchone() == (2,)  # FULL
    assert store._db.execute("pragma journal_mode").fetchone() == ("wal",)


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "db") as db:
        db.execute("pragma user_version=99")
    with pytest.raises(StoreError, match="newer"):
        SqliteStore(tmp_path / "db")


def test_a_second_manager_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from outboard.pool.store import sqlite

    monkeypatch.setattr(sqlite, "_BUSY_S", 0.1)
    store = SqliteStore(tmp_path / "db")
    store.commit(1, 1, [_handle("d", 1)])
    with pytest.raises(StoreError, match="locked"):
        SqliteStore(tmp_path / "db")
    store.close()
    SqliteStore(tmp_path / "db").close()


# Grants and ends leases as fast as it can. Prints each revision when its commit has returned.
WRITER = """
import sys
sys.path[:0] = [{tests!r}]
from pathlib import Path
from pool_commands import Pool
from outboard.pool.core.transaction import Change
from outboard.pool.store.sqlite import SqliteStore
store = SqliteStore(Path({file!r}))
pool = Pool(daemons=2, devices=4)
rows = [Change(t, k, r) for t, table in pool.store.tables.items() for k, r in table.items()]
store.commit(pool.state.rev, pool.now_ms, rows)
class Loud:
    def commit(self, rev, now_ms, changes):
        if changes:
            store.commit(rev, now_ms, changes)
            print(rev, len(pool.state.handles), flush=True)
pool.store = Loud()
for number in range(10**9):
    pool.now_ms += 1
    pool.put(f"x{{number}}", count=8)
    pool.release(f"x{{number}}")
    pool.beat_all()
"""


def test_kill_in_the_middle_of_commits(tmp_path: Path) -> None:
    seed = fresh_seed()
    chance = random.Random(seed)
    for turn in range(8):
        file = tmp_path / f"db{turn}"
        script = WRITER.format(tests=str(Path(__file__).parent), file=str(file))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        with subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
        ) as writer:
            assert writer.stdout is not None
            lines = []
            for _ in range(chance.randrange(3, 60)):
                lines.append(writer.stdout.readline())
            # Somewhere in the next commits, which are about 1 ms long.
            spin = chance.randrange(20_000)
            while spin:
                spin -= 1
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.readlines()
        assert writer.returncode == -signal.SIGKILL
        _assert_whole(file, [line for line in lines if line.endswith("\n")])


def _assert_whole(file: Path, lines: list[str]) -> None:
    """All commits that returned are there. The one that was cut off is there whole, or not."""
    answered, handles = (int(word) for word in lines[-1].split())
    store = SqliteStore(file)
    state = store.load(Config())
    store.close()
    assert answered <= state.rev <= answered + 1
    if state.rev == answered:
        assert len(state.handles) == handles
    # A grant takes all eight devices; ends are confirmed by four devices at a time.
    assert len(state.handles) in (0, 4, 8)
    held = [lease for lease in state.leases.values() if lease.state == "held"]
    assert len(held) == (1 if any(h.lives for h in state.handles.values()) else 0)
    for (device, epoch), handle in state.handles.items():
        assert state.devices[device].epoch == epoch
        assert handle.lease in state.leases


def test_a_store_of_the_version_before_is_taken_over(tmp_path: Path) -> None:
    """Version 1 had no table of use, version 2 only times. Rows stay, and use counts from then."""
    file = tmp_path / "db"
    SqliteStore(file).close()
    db = sqlite3.connect(file)
    db.executescript("drop table held; drop index audit_rev; drop index audit_actor;")
    db.execute("pragma user_version=1")
    db.execute("insert into ban values ('mallory', ?)", ('{"user":"mallory","reason":"x"}',))
    db.commit()
    db.close()
    store = SqliteStore(file)
    assert store.load(Config()).bans["mallory"].reason == "x"
    assert store.usage("user", 0, 1, "") == []
    store.close()
    db = sqlite3.connect(file)
    assert db.execute("pragma user_version").fetchone() == (3,)
    db.execute("insert into held values ('d/0', 1, 'l', 'ada', '', 1000, 10, 20, 0, 0, 0, 0)")
    for column in ("compute_ns", "waited_ns", "bytes_in", "bytes_out"):
        db.execute(f"alter table held drop column {column}")
    db.execute("drop index audit_actor")
    db.execute("pragma user_version=2")
    db.commit()
    db.close()
    store = SqliteStore(file)
    assert store.usage("user", 0, 30, "") == [UsageSum("ada", 1, 10.0, Use())]
    store.close()


def test_few_records_are_found_without_reading_all(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "db")
    rows = [(rev, 0, "bob" if rev == 9000 else "ada", "v", "o", "") for rev in range(1, 10_001)]
    store._db.executemany("insert into audit values (?, ?, ?, ?, ?, ?)", rows)
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    store._db.set_progress_handler(step, 100)  # each 100 instructions of SQLite's machine
    assert [row.rev for row in store.audits(0, 10, "bob")] == [9000]
    assert store.audits(9000, 10, "bob") == []
    assert store.audits(0, 10, "carol") == []
    assert [row.rev for row in store.audits(5, 3, "")] == [6, 7]
    assert steps < 10, "a reader with few records made SQLite read those of others"
    store.close()
