"""A rolling restart: manager and daemons end in order and come back, and no client fails."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from pool_daemon import PATIENCE_S, Daemon, Worker, until
from pool_server import EVERYBODY, PYTHON, Manager, running

from conftest import Outboard, clean_environment
from outboard import paths
from outboard.errors import OutboardError
from outboard.pool.client import PoolClient, PoolError, UnreachableError
from outboard.pool.restarting import ask_to_restart, restart_all

pytestmark = pytest.mark.end_to_end

RESTARTS = 4  # the status of a daemon that is to be started again

# Exact in any order of sums; the oracle is numpy's product of integers, which calls no library.
PRODUCT = """
import numpy as np
whole = np.arange(100 * 100).reshape(100, 100) % 17
a = whole.astype(float)
assert (a @ a.T == whole @ whole.T).all(), "a wrong product"
"""


class Jobs(threading.Thread):
    """Runs one short job after the other; each must have an accelerator and the right result."""

    def __init__(self, manager: Manager, native: paths.Native) -> None:
        super().__init__()
        self.ended = threading.Event()
        self.failures: list[str] = []
        self.done = 0
        self.environment = clean_environment(
            OUTBOARD_NATIVE_DIR=str(native.root), PYTHONPATH=str(PYTHON), OUTBOARD_POOL=manager.url
        )

    def run(self) -> None:
        words = [sys.executable, "-m", "outboard", "run", "--accelerators", "1", "--wait", "60s"]
        words += ["--require", "--mode", "remote", "--", sys.executable, "-c", PRODUCT]
        while not self.ended.is_set():
            done = subprocess.run(
                words, env=self.environment, capture_output=True, text=True, timeout=2 * PATIENCE_S
            )
            self.done += 1
            if done.returncode != 0:
                self.failures.append(f"status {done.returncode}: {done.stderr}")

    def expect_more(self, count: int) -> None:
        begin = self.done
        until(lambda: self.done >= begin + count or not self.is_alive(), "jobs end")


@pytest.mark.slow
def test_no_client_fails(tmp_path: Path, native: paths.Native) -> None:
    manager = Manager(tmp_path / "m", EVERYBODY)
    daemons = [Daemon(native, name, "--pool", manager.url) for name in ("n1", "n2")]
    local = manager.local()
    for daemon in daemons:
        daemon.wait_until_free(local)
    client = manager.client()
    wish = {"ttl_s": 60, "wait_s": 20, "static": True}
    assert client.ask("PUT", "/v1/leases/long", wish, wait_s=20)["state"] == "held"
    worker = Worker(native, tmp_path / "w", OUTBOARD_POOL=manager.url, OUTBOARD_LEASE="long")
    jobs = Jobs(manager, native)
    jobs.start()
    try:
        worker.expect_remote()
        jobs.expect_more(1)
        for _ in range(2):
            assert manager.stop() == 0
            worker.expect_remote()  # leases go on without the manager
            manager.start()
            jobs.expect_more(1)
            worker.expect_remote()
            client.ask("POST", "/v1/renew", {"ids": ["long"]})
        for daemon in daemons:
            local.ask("POST", f"/v1/daemons/{daemon.name}/cordon")
            assert daemon.stop() == 0  # SIGTERM: calls in flight finish
            worker.expect_more("calls", "calls return while a daemon is away")
            daemon.start()
            local.ask("POST", f"/v1/daemons/{daemon.name}/uncordon")
            until(
                lambda name=daemon.name: all(
                    row["health"] == "ok"
                    for row in local.pages("/v1/devices", "devices")
                    if row["daemon"] == name
                ),
                f"{daemon.name} is back",
            )
            client.ask("POST", "/v1/renew", {"ids": ["long"]})
            worker.expect_remote()
            jobs.expect_more(1)
    finally:
        jobs.ended.set()
        jobs.join(2 * PATIENCE_S)
    assert jobs.failures == []
    assert jobs.done >= 5
    assert worker.finish() > 0  # it checks each product
    for daemon in daemons:
        daemon.stop()
    assert manager.stop() == 0


class Supervised(Daemon):
    """A daemon that is started again after status 4, as systemd does."""

    def start(self) -> None:
        super().start()
        self.ends: list[int] = getattr(self, "ends", [])
        threading.Thread(target=self._start_again, args=(self.process,), daemon=True).start()

    def _start_again(self, process: subprocess.Popen[str]) -> None:
        self.ends.append(process.wait())
        if self.ends[-1] == RESTARTS:
            self.start()


def test_daemons_restart_in_turns(tmp_path: Path, native: paths.Native, outboard: Outboard) -> None:
    """A program and jobs go on. A cordoned daemon stays as it is."""
    manager = Manager(tmp_path / "m", EVERYBODY)
    daemons = [Supervised(native, name, "--pool", manager.url) for name in ("n1", "n2", "n3")]
    local = manager.local()
    for daemon in daemons:
        daemon.wait_until_free(local)
    local.ask("POST", "/v1/daemons/n3/cordon")
    client = manager.client()
    wish = {"ttl_s": 60, "wait_s": 20}
    assert client.ask("PUT", "/v1/leases/long", wish, wait_s=20)["state"] == "held"
    worker = Worker(native, tmp_path / "w", OUTBOARD_POOL=manager.url, OUTBOARD_LEASE="long")
    worker.expect_remote()
    jobs = Jobs(manager, native)
    jobs.start()
    try:
        jobs.expect_more(1)
        done = outboard("pool", "restart", "--all", "--pool", f"unix:{tmp_path}/m/s")
        assert done.returncode == 0, done.stderr
        said = [line.split()[:2] for line in done.stdout.splitlines()]
        assert said == [["n1", "restarts"], ["n1", "is"], ["n2", "restarts"], ["n2", "is"]]
        jobs.expect_more(1)
    finally:
        jobs.ended.set()
        jobs.join(2 * PATIENCE_S)
    assert jobs.failures == []
    assert [daemon.ends for daemon in daemons] == [[RESTARTS], [RESTARTS], []]
    rows = {row["daemon"]: row for row in local.pages("/v1/devices", "devices")}
    assert {name: rows[name]["admin"] for name in rows} == {
        "n1": "open", "n2": "open", "n3": "cordoned",
    }  # fmt: skip
    assert worker.finish() > 0  # it checks each product
    for daemon in daemons:
        daemon.stop()
    assert manager.stop() == 0


def test_a_daemon_without_an_open_device_is_not_restarted(
    tmp_path: Path, native: paths.Native, outboard: Outboard
) -> None:
    manager = Manager(tmp_path / "m", EVERYBODY)
    daemon = Supervised(native, "n1", "--pool", manager.url)
    daemon.wait_until_free(manager.local())
    manager.local().ask("POST", "/v1/daemons/n1/cordon")
    for words, why in (
        (("restart", "n1"), "n1 has no open device"),
        (("drain", "n1", "--restart"), "n1 has no open device"),
        (("restart", "n9"), "there is no daemon n9"),
        (("restart",), "name the daemons to restart, or give --all"),
    ):
        done = outboard("pool", *words, "--pool", f"unix:{tmp_path}/m/s")
        assert done.returncode != 0
        assert why in done.stderr
    assert daemon.ends == []
    daemon.stop()
    assert manager.stop() == 0


class OlderManager(PoolClient):
    """A manager that does not know the field `restart` ignores it."""

    def ask(self, method: str, path: str, body: Any = None, *more: Any, **named: Any) -> Any:
        if isinstance(body, dict):
            body = {key: value for key, value in body.items() if key != "restart"}
        return super().ask(method, path, body, *more, **named)


def test_an_older_manager_drains_one_daemon_only(tmp_path: Path) -> None:
    manager = Manager(tmp_path / "m", EVERYBODY)
    with running(manager.client(), "n1", "n2"):
        local = OlderManager(f"unix:{tmp_path}/m/s")
        for _ in range(2):  # also when it is asked again
            with pytest.raises(OutboardError, match=r"has drained n1, .* pool uncordon n1"):
                restart_all(local, (), 0, print)
            local.ask("POST", "/v1/daemons/n1/uncordon")
        with pytest.raises(OutboardError, match=r"has drained n1, .* pool uncordon n1"):
            ask_to_restart(local, "n1", 0)
        rows = local.pages("/v1/devices", "devices")
        assert [(row["daemon"], row["admin"]) for row in rows] == [
            ("n1", "draining"), ("n2", "open"),
        ]  # fmt: skip
    assert manager.stop() == 0


class AwayManager(PoolClient):
    """Does not answer some questions: the manager restarts, or another one takes the lead."""

    def __init__(self, url: str, away: set[int]) -> None:
        super().__init__(url)
        self.away, self.asked, self.lost = away, 0, 0

    def ask(self, *arguments: Any, **named: Any) -> Any:
        self.asked += 1
        if self.asked in self.away:
            raise UnreachableError("the manager does not answer")
        if self.asked + 1 in self.away and arguments[0] == "POST":
            self.lost += 1  # it is done, and its answer is lost
            super().ask(*arguments, **named)
            raise PoolError(503, "not-leader", "another manager leads")
        return super().ask(*arguments, **named)


def test_a_restart_goes_on_while_the_manager_restarts(tmp_path: Path) -> None:
    manager = Manager(tmp_path / "m", EVERYBODY)
    with running(manager.client(), "n1"):
        local = AwayManager(f"unix:{tmp_path}/m/s", {2, 5})
        said: list[str] = []
        ended = threading.Event()

        def restart() -> None:
            restart_all(local, ("n1",), 0, said.append)
            ended.set()

        threading.Thread(target=restart, daemon=True).start()
        until(lambda: "n1 restarts" in said, "it was asked for a restart")
        assert len([line for line in said if "asking again" in line]) == 2
        assert local.lost == 1
        assert not ended.is_set()
        manager.local().ask("POST", "/v1/daemons/n1/uncordon")  # as when it has come back
        until(ended.is_set, "it is back")
    assert manager.stop() == 0


def test_fields_of_a_newer_version_are_ignored(tmp_path: Path) -> None:
    manager = Manager(tmp_path / "m", EVERYBODY)
    client = manager.client()
    with running(client, "n1", of_the_next_release={"a": [1]}):
        body = {"ttl_s": 60, "wait_s": 20, "of_the_next_release": True}
        lease = client.ask("PUT", "/v1/leases/one", body, wait_s=20)
        assert lease["state"] == "held"
        told = client.ask("POST", "/v1/renew", {"ids": ["one"], "of_the_next_release": 1})
        assert told["leases"][0]["id"] == "one"
    assert manager.stop() == 0
