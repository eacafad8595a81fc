"""A manager begins with an empty state, while a daemon that knows the former one goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pool_daemon import Daemon, until
from pool_server import EVERYBODY, FakeDaemon, Manager

from conftest import Outboard
from outboard import paths
from outboard.pool.client import PoolClient

CAUSE = "its daemon knows a newer state of this pool"


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    made = Manager(tmp_path / "m", EVERYBODY)
    yield made
    assert made.stop() == 0


def why(client: PoolClient) -> str:
    rows = client.pages("/v1/devices", "devices")
    return "".join(row["why"] for row in rows if row["id"] == "n1/0")


def warnings(manager: Manager) -> list[Any]:
    lines = [json.loads(line) for line in (manager.folder / "log").read_text().splitlines()]
    return [line for line in lines if line["level"] == "warning" and CAUSE in line["message"]]


def age(client: PoolClient, first: int, last: int) -> None:
    """Raises the revision of the state."""
    for number in range(first, last):
        client.ask("PUT", f"/v1/bans/b{number}", {})


def begin_anew(manager: Manager) -> None:
    """Starts the manager again without its database; it is of the same pool."""
    assert manager.stop() == 0
    for file in (manager.folder / "state").glob("pool.db*"):
        file.rename(manager.folder / file.name)
    manager.start()


def test_the_cause_is_told_once_and_until_it_is_over(manager: Manager) -> None:
    client = manager.client()
    age(client, 0, 20)
    daemon = FakeDaemon(client, "n1")
    daemon.register()
    assert why(client) == ""
    begin_anew(manager)
    client = daemon.client = manager.client()
    daemon.register()
    assert CAUSE in why(client)
    daemon.beat(0)
    (told,) = warnings(manager)
    assert (told["daemon"], told["its_revision"] > told["own_revision"]) == ("n1", True)
    assert "`outboard pool restore`" in told["message"]
    age(client, 0, 30)  # the new state has a later revision at last
    assert CAUSE not in why(client)
    for _ in range(2):  # the first one hears of the new state, the second one obeys it
        daemon.beat(0)
    assert why(client) == ""
    assert len(warnings(manager)) == 1


@pytest.mark.end_to_end
@pytest.mark.parametrize("cure", ["restart", "restore"])
def test_each_of_the_cures_cures(
    cure: str, manager: Manager, tmp_path: Path, native: paths.Native, outboard: Outboard
) -> None:
    client = manager.client()
    age(client, 0, 50)
    daemon = Daemon(native, "n1", "--pool", manager.url)
    daemon.wait_until_free(client)
    begin_anew(manager)
    until(lambda: CAUSE in why(client), "the cause is told")
    until(lambda: len(warnings(manager)) == 1, "the log has the cause, too")
    if cure == "restart":
        daemon.stop()
        daemon.start()
    else:
        assert manager.stop() == 0
        state = manager.folder / "state"
        (state / "pool.db").rename(tmp_path / "empty.db")
        for file in state.glob("pool.db-*"):
            file.unlink()
        former = str(manager.folder / "pool.db")
        done = outboard("pool", "restore", former, "--state", str(state))
        assert done.returncode == 0, done.stderr
        manager.start()
    daemon.wait_until_free(client)
    assert why(client) == ""
    daemon.stop()
    assert "a request failed" not in (manager.folder / "log").read_text()
