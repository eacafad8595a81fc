"""The history checker on logs of real managers, which are killed under load."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from etcd_cluster import etcd_cluster, needs_etcd
from noted_load import NotedLoad, Notes
from pool_commands import fresh_seed
from pool_daemon import Daemon, Worker
from pool_histories import (
    CHECKER,
    VIOLATIONS,
    History,
    check_history,
    events_of_daemon,
    expect_found,
)
from pool_server import EVERYBODY, Manager

from outboard import paths
from outboard.pool.client import PoolClient


def kinds(history: History, event: str) -> int:
    return sum(e["event"] == event for e in history)


def expect_a_rich_history(history: History, starts: int) -> None:
    """A check of a log that says nothing would prove nothing."""
    assert kinds(history, "start") == starts
    assert kinds(history, "commit") > 100
    for event in ("answer", "begin", "end", "floor"):
        assert kinds(history, event) > 40, event
    assert {True, False} <= {e["exclusive"] for e in history if e["event"] == "begin"}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Those of a manager with SQLite that was killed twice, and of its holders and daemons."""
    folder = tmp_path_factory.mktemp("sqlite")
    log, notes = folder / "manager.jsonl", Notes(folder / "notes.jsonl")
    manager = Manager(folder / "m", EVERYBODY, None, "--history", str(log))
    with NotedLoad(manager.url, notes, fresh_seed()) as load:
        load.goes_on()
        for _ in range(2):
            manager.kill()
            manager.start()
            load.goes_on()
    assert manager.stop() == 0
    yield [log, notes.path]


@pytest.fixture(scope="module")
def good(logs: list[Path]) -> History:
    events: History = check_history.read(logs)
    return events


def test_a_manager_with_sqlite_is_killed(good: History) -> None:
    expect_a_rich_history(good, starts=3)
    assert check_history.check(good) == []


@pytest.mark.parametrize("violate", VIOLATIONS, ids=lambda violate: violate.__name__)
def test_a_violation_is_found(violate: Callable[[History], None], good: History) -> None:
    expect_found(violate, good)


def test_a_deleted_line_is_found(logs: list[Path], tmp_path: Path) -> None:
    """The line of a grant that was answered."""
    lines = logs[0].read_text().splitlines(keepends=True)
    kept = list(lines)
    for at, line in enumerate(lines):
        event = json.loads(line) if line.strip() else {}
        if event.get("type") == "PutLease" and event["answer"].get("handles"):
            del kept[at]
            break
    wrong = tmp_path / "manager.jsonl"
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    for text, status, says in (
        (lines, 0, " 0 problem"),
        (kept, 1, "revision .* should be|answers .* otherwise"),
    ):
        wrong.write_text("".join(text))
        words = [sys.executable, str(CHECKER), str(wrong), str(logs[1])]
        run = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
        assert (run.returncode, run.stderr) == (status, "")
        assert re.search(says, run.stdout), run.stdout


def test_a_line_that_was_cut_by_a_death_is_none(tmp_path: Path) -> None:
    log = tmp_path / "log"
    start = '{"t": 2, "event": "start", "manager": "b", "rev": 0}\n'
    log.write_text('{"t": 1, "ev\n' + start)
    assert [event["event"] for event in check_history.read([log])] == ["start"]
    log.write_text(start + '{"t": 1, "ev')
    assert len(check_history.read([log])) == 1
    log.write_text('{"t": 1, "ev\n' + start.replace("start", "commit"))
    with pytest.raises(ValueError, match="no event"):
        check_history.read([log])


@needs_etcd
def test_the_leader_of_two_managers_is_killed(tmp_path: Path) -> None:
    with etcd_cluster(tmp_path / "etcd", 3) as etcd:
        folders = [tmp_path / name for name in ("m1", "m2")]
        managers = []
        for folder in folders:
            words = ["--state", etcd.address("pool"), "--signing-keys", str(folder / "keys")]
            words += ["--history", str(folder.with_suffix(".jsonl"))]
            managers.append(Manager(folder, EVERYBODY, None, *words))
        url = ",".join(manager.url for manager in managers)
        PoolClient(url).ask("GET", "/readyz")
        notes = Notes(tmp_path / "notes.jsonl")
        with NotedLoad(url, notes, fresh_seed()) as load:
            load.goes_on()
            for _ in range(2):
                leader = next(m for m in managers if m.client().raw("GET", "/readyz")[0] == 200)
                leader.kill()
                load.goes_on()
                leader.start()
        for manager in managers:
            assert manager.stop() == 0
        found = [folder.with_suffix(".jsonl") for folder in folders]
        history = check_history.read([*found, notes.path])
        expect_a_rich_history(history, starts=3)
        assert check_history.check(history) == []
        for violate in VIOLATIONS:
            expect_found(violate, history)


@pytest.mark.end_to_end
def test_a_real_daemon_serves_one_lease_after_the_other(
    tmp_path: Path, native: paths.Native
) -> None:
    """Programs compute on it, and the manager is killed meanwhile."""
    log, said = tmp_path / "manager.jsonl", tmp_path / "daemon.log"
    manager = Manager(tmp_path / "m", EVERYBODY, None, "--history", str(log))
    daemon = Daemon(native, "n1", "--pool", manager.url, log=said)
    client, notes = manager.client(), Notes(tmp_path / "notes.jsonl")
    daemon.wait_until_free(client)
    for lease in ("a", "b"):
        asked = time.monotonic_ns()
        told = client.ask("PUT", f"/v1/leases/{lease}", {"ttl_s": 60, "wait_s": 20}, wait_s=20)
        handles = [[h["device"], h["epoch"]] for h in told["handles"]]
        notes.note("answer", lease=lease, rev=told["rev"], asked=asked, handles=handles)
        variables = {"OUTBOARD_POOL": manager.url, "OUTBOARD_LEASE": lease}
        worker = Worker(native, tmp_path / lease, **variables)
        worker.expect_remote()
        manager.kill()
        manager.start()
        worker.expect_remote()
        client.ask("DELETE", f"/v1/leases/{lease}")
        worker.expect_local()
        worker.finish()
        daemon.wait_until_free(client)
    daemon.stop()
    assert manager.stop() == 0
    notes.write()
    sessions = events_of_daemon(said)
    epochs = [e["epoch"] for e in sessions if e["event"] == "begin"]
    assert len(set(epochs)) == 2
    assert epochs == sorted(epochs)
    floors = [e["floor"] for e in sessions if e["event"] == "floor"]
    assert floors == sorted(set(floors))
    assert set(epochs) <= set(floors)  # exclusive ones
    assert kinds(sessions, "begin") == kinds(sessions, "end")
    history = sorted(check_history.read([log, notes.path]) + sessions, key=lambda e: e["t"])
    assert kinds(history, "answer") == 2
    assert check_history.check(history) == []
    # The second lease, had it begun beside the first one.
    at = next(i for i, e in enumerate(history) if e["event"] == "begin" and e["epoch"] == epochs[0])
    late = next(e for e in history if e["event"] == "begin" and e["epoch"] == epochs[-1])
    history.insert(at + 1, late)
    assert any("run together" in text for text in check_history.check(history))
