"""The use of leases: what daemons count arrives once, whatever starts anew."""

from __future__ import annotations

import csv
import io
import json
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pool_commands import SECOND, Pool, fresh_seed
from pool_daemon import PATIENCE_S, until
from test_pool_enforced import Pool as RealPool
from test_pool_enforced import make_pool

from conftest import Outboard, clean_environment
from outboard import paths
from outboard.pool.core.commands import DeregisterDaemon, SessionReport, StoreUse, UseReport
from outboard.pool.core.records import MOST_USE, Use
from outboard.pool.core.replies import Problem
from outboard.pool.store.base import UsageSum
from outboard.pool.store.sqlite import SqliteStore

NOTHING = Use()


def use_of(pool: Pool, lease: str) -> Use:
    """Returns the use that the store has on record, after somebody has asked."""
    pool.do(StoreUse())
    rows = {row.name: row for row in pool.store.usage("lease", 0, pool.now_ms + 1, "")}
    return rows[lease].use if lease in rows else NOTHING


def added(one: Use, other: Use) -> Use:
    return one.plus(other, NOTHING)


def restart_killed(pool: Pool) -> None:
    """The daemon was killed: it may register again when it counts as lost."""
    pool.wait(11 * SECOND, beating=False)
    assert not isinstance(pool.restart_daemon("n0"), Problem)


class Counters:
    """The counters of a daemon with one device, and the sum that should be on record."""

    def __init__(self, pool: Pool, chance: random.Random) -> None:
        self.pool, self.chance = pool, chance
        self.now: dict[int, Use] = {}  # by epoch, since the start of the daemon
        self.epochs: dict[str, int] = {}
        self.told: dict[str, Use] = {}  # what arrived, by lease
        self.heard: dict[int, Use] = {}

    def count(self, lease: str) -> None:
        more = Use(*(self.chance.randrange(1 << 40) for _ in range(4)))
        epoch = self.epochs[lease]
        self.now[epoch] = added(self.now.get(epoch, NOTHING), more)

    def beat(self, open_sessions: bool = True, lost: bool = False) -> None:
        """`lost`: the answer is; so the daemon says all of it again, and counts on."""
        uses = tuple(UseReport(epoch, use) for epoch, use in self.now.items())
        sessions = tuple(SessionReport(e, True) for e in self.now) if open_sessions else ()
        self.pool.beat(sessions=sessions, uses=uses)
        for lease, epoch in self.epochs.items():
            use, before = self.now.get(epoch, NOTHING), self.heard.get(epoch, NOTHING)
            self.told[lease] = self.told.get(lease, NOTHING).plus(use, before)
            self.heard[epoch] = use
        if lost:
            self.pool.seqs["n0"] += 1
            self.beat(open_sessions)

    def start(self) -> None:
        self.now.clear()
        self.heard.clear()
        restart_killed(self.pool)


def test_a_random_history_counts_everything_once() -> None:
    chance = random.Random(fresh_seed())
    for _ in range(20):
        pool = Pool(1, 1)
        counters = Counters(pool, chance)
        for number in range(4):
            lease = f"l{number}"
            view = pool.held(lease, ttl_ms=10_000_000)
            counters.epochs[lease] = view.handles[0].epoch
            for _ in range(chance.randrange(25)):
                act = chance.choice(["count"] * 4 + ["beat"] * 4 + ["daemon", "manager", "ask"])
                if act == "count":
                    counters.count(lease)
                elif act == "beat":
                    counters.beat(lost=chance.random() < 0.2)
                elif act == "daemon":
                    counters.start()
                    counters.beat(open_sessions=False)
                elif act == "manager":
                    # It was not stored yet, but the daemon lives, and says it again.
                    pool.restart_manager()
                    pool.register("n0")
                    counters.beat()
                else:
                    pool.now_ms += chance.randrange(5 * SECOND)
                    pool.do(StoreUse())
            counters.count(lease)
            pool.release(lease)
            counters.beat(open_sessions=False)  # the last word
            counters.now.clear()
            counters.heard.clear()
            for name, right in counters.told.items():
                assert use_of(pool, name) == right, name
        pool.restart_manager()
        for name, right in counters.told.items():
            assert use_of(pool, name) == right, name


def test_heartbeats_are_stored_once_a_minute() -> None:
    pool = Pool()
    epoch = pool.held("x", ttl_ms=10_000_000).handles[0].epoch
    commits = 0
    for second in range(150):
        pool.now_ms += SECOND
        before = pool.state.rev
        pool.beat(uses=(UseReport(epoch, Use(second, 0, 0, 0)),))
        commits += pool.state.rev != before
    assert commits == 2
    stored = pool.store.tables["handles"]["n0/0", epoch].use.compute_ns
    assert 100 < stored < 149
    assert use_of(pool, "x").compute_ns == 149


@pytest.mark.parametrize("end", ["stops", "is silent"])
def test_the_last_word_of_a_daemon_survives_the_manager(end: str) -> None:
    """A daemon that is gone cannot say again what the manager had not stored."""
    pool = Pool()
    epoch = pool.held("x", ttl_ms=10_000_000).handles[0].epoch
    pool.now_ms += SECOND
    pool.beat(uses=(UseReport(epoch, Use(5, 6, 7, 8)),))
    if end == "stops":
        pool.do(DeregisterDaemon("n0", f"n0.{pool.instances['n0']}"))
    else:
        pool.wait(11 * SECOND, beating=False)
    pool.restart_manager()
    assert use_of(pool, "x") == Use(5, 6, 7, 8)


def test_sums_of_several_leases_have_a_limit(tmp_path: Path) -> None:
    """Daemons that lie make no number that JSON and other stores do not have."""
    store = SqliteStore(tmp_path / "db")
    row = ("ada", "", 1000, 0, 10, *[MOST_USE] * 4)
    rows = [("d/0", epoch, f"l{epoch}", *row) for epoch in range(4)]
    store._db.executemany(f"insert into held values ({', '.join('?' * 12)})", rows)
    (found,) = store.usage("user", 0, 20, "")
    assert found.use == Use(MOST_USE, MOST_USE, MOST_USE, MOST_USE)
    store.close()


def test_what_nobody_can_use_is_ignored() -> None:
    """Leases that are over and other devices count nothing, sums do not fall and have a limit."""
    pool = Pool()
    epoch = pool.held("x", ttl_ms=10_000_000).handles[0].epoch
    much = Use(MOST_USE, MOST_USE, MOST_USE, MOST_USE)
    pool.beat(uses=(UseReport(epoch, Use(5, 5, 5, 5)), UseReport(epoch + 1, much)))
    assert use_of(pool, "x") == NOTHING  # a second has not passed
    pool.now_ms += SECOND
    assert use_of(pool, "x") == Use(5, 5, 5, 5)
    pool.now_ms += SECOND
    pool.beat(uses=(UseReport(epoch, Use(3, 9, 5, 5)),))
    assert use_of(pool, "x") == Use(5, 9, 5, 5)
    for instance in range(2):  # the sum of both is more than a store keeps
        pool.now_ms += SECOND
        restart_killed(pool)
        pool.beat(sessions=(SessionReport(epoch),), uses=(UseReport(epoch, much),))
        pool.now_ms += SECOND
        assert use_of(pool, "x") == much, instance
    pool.release("x")
    pool.beat()
    pool.beat(uses=(UseReport(epoch, much),))
    row = pool.store.usage("user", 0, pool.now_ms, "ada")
    assert row == [UsageSum("ada", 1, row[0].device_ms, much)]


# --- real daemons and managers -------------------------------------------------------------------

PROGRAM = """
import sys, numpy as np
rng = np.random.default_rng(0)
for _ in range(int(sys.argv[1])):
    a = rng.integers(-8, 9, (500, 500)).astype(float)
    assert ((a @ a.T)[:3] == a[:3].astype(int) @ a.T.astype(int)).all()
"""
BYTES = 500 * 500 * 8
TRIANGLE_BYTES = 500 * 501 // 2 * 8  # a symmetric result travels as a triangle on some links
NO_USE = [0.0, 0.0, 0, 0]


@pytest.fixture
def real(tmp_path: Path, native: paths.Native) -> Iterator[RealPool]:
    pool = make_pool("tcp", tmp_path, native)
    yield pool
    pool.daemon.stop()
    if pool.manager.process.poll() is None:
        pool.manager.stop()


def row_of(pool: RealPool, lease: str) -> Any:
    rows = pool.client.ask("GET", "/v1/usage", query={"by": "lease"})["rows"]
    return next((row for row in rows if row["name"] == lease), None)


def run(pool: RealPool, outboard: Outboard, native: paths.Native, lease: str, calls: int) -> None:
    variables = {**pool.variables, "OUTBOARD_LEASE": lease, "OUTBOARD_NATIVE_DIR": str(native.root)}
    done = outboard(
        "run", "--mode", "remote", "--", sys.executable, "-c", PROGRAM, str(calls),
        environment=clean_environment(**variables),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def settled(pool: RealPool, lease: str, calls: int = 0, before: Any = None) -> Any:
    """Returns the row once it has the bytes of `calls` calls since `before` (each sends a matrix
    and gets one or its triangle; the client also measures the link when it connects), and no more
    use arrives."""
    seen: list[Any] = []
    old = use(before) if before else NO_USE

    def same() -> Any:
        time.sleep(3)  # a heartbeat, and a second until it is stored
        seen.append(row_of(pool, lease))
        new = use(seen[-1]) if seen[-1] else NO_USE
        least = (calls * BYTES, calls * TRIANGLE_BYTES)
        complete = all(new[i] - old[i] >= bound for i, bound in zip((2, 3), least, strict=True))
        return complete and len(seen) > 1 and seen[-2] and new == use(seen[-2]) and seen[-1]

    try:
        row = until(same, f"the use of {calls} calls has arrived and does not change", PATIENCE_S)
    except AssertionError:
        print(f"use before: {old}; rows since: {seen}")
        raise
    assert use(row)[0] > old[0] or calls == 0, row
    return row


def use(row: Any) -> list[Any]:
    return [row[name] for name in ("compute_s", "waited_s", "bytes_in", "bytes_out")]


def until_heard(pool: RealPool) -> None:
    """Waits until the daemon has confirmed what it knows to the manager."""

    until(lambda: health(pool) == "ok", "the manager hears the daemon")


def health(pool: RealPool) -> str:
    (device,) = pool.client.pages("/v1/devices", "devices")
    return str(device["health"])


@pytest.mark.end_to_end
def test_deaths_count_nothing_twice(
    real: RealPool, outboard: Outboard, native: paths.Native
) -> None:
    """While no program runs, the sums stay as they are, whatever starts anew."""
    real.hold("x", ttl_s=600)
    run(real, outboard, native, "x", 5)
    first = settled(real, "x", 5)

    real.manager.kill()
    real.manager.start()
    until_heard(real)
    assert use(settled(real, "x")) == use(first)
    run(real, outboard, native, "x", 3)
    second = settled(real, "x", 3, first)

    real.daemon.stop(signal.SIGKILL)
    until(lambda: health(real) == "lost", "the daemon counts as lost")
    real.daemon.start()
    until_heard(real)
    assert use(settled(real, "x")) == use(second)
    run(real, outboard, native, "x", 4)
    third = settled(real, "x", 4, second)

    real.holder.ask("DELETE", "/v1/leases/x")
    real.daemon.wait_until_free(real.client)
    assert use(row_of(real, "x")) == use(third)
    real.manager.kill()
    real.manager.start()
    assert use(row_of(real, "x")) == use(third)


@pytest.mark.end_to_end
def test_the_command_shows_it(real: RealPool, outboard: Outboard, native: paths.Native) -> None:
    real.hold("slurm.c1.7.0", ttl_s=600)
    run(real, outboard, native, "slurm.c1.7.0", 4)
    settled(real, "slurm.c1.7.0", 4)

    def said(*words: str) -> str:
        pool = f"unix:{real.manager.folder}/s"
        done = outboard("pool", "usage", *words, "--pool", pool)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (row,) = csv.DictReader(io.StringIO(said("--by", "job", "--format", "csv")))
    assert (row["name"], row["cluster"], row["job"]) == ("slurm.c1.7", "c1", "7")
    (told,) = json.loads(said("--by", "job", "--format", "json"))["rows"]
    assert told["bytes_in"] >= 4 * BYTES
    for name in ("bytes_in", "bytes_out"):
        assert int(row[name]) == told[name]
    assert float(row["compute_s"]) == pytest.approx(told["compute_s"], abs=1e-3)
    assert float(row["waited_s"]) == pytest.approx(told["waited_s"], abs=1e-3)
    table = said("--by", "lease")
    assert "computing" in table
    assert f"{told['bytes_out'] / 1e9:.3f}" in table
