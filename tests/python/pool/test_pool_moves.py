"""A pool moves from etcd to SQLite, and back, by backup and restore, while a program computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from etcd_cluster import etcd_cluster, needs_etcd
from pool_daemon import FENCED, Daemon, Worker, hello, until
from pool_server import EVERYBODY, Manager

from conftest import Outboard, clean_environment
from outboard import paths
from outboard.pool.client import PoolError

pytestmark = [pytest.mark.end_to_end, needs_etcd]
JUMP = 1 << 32


class Pool:
    """One manager, whose state moves, and a daemon with two devices."""

    def __init__(self, folder: Path, native: paths.Native, outboard: Outboard, *state: str) -> None:
        self.folder, self.outboard = folder, outboard
        self.manager = Manager(folder / "m", EVERYBODY, None, *state)
        self.client = self.manager.client()
        self.wait_until_it_leads()
        self.daemon = Daemon(native, "n1", "--devices", "2", "--pool", self.manager.url)
        for device in (0, 1):
            self.daemon.wait_until_free(self.client, device)

    def command(self, *words: str) -> str:
        environment = clean_environment(OUTBOARD_POOL=f"unix:{self.manager.folder}/s")
        done = self.outboard("pool", *words, environment=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def grant(self, lease: str) -> Any:
        """Returns the handle of a device."""
        told = self.client.ask(
            "PUT", f"/v1/leases/{lease}", {"ttl_s": 600, "wait_s": 20}, wait_s=20
        )
        (handle,) = told["handles"]
        return handle

    def handle(self, lease: str) -> Any:
        (handle,) = self.client.ask("GET", f"/v1/leases/{lease}")["handles"]
        return handle

    def move(self, state: str, *options: str) -> Any:
        """Returns the handle that was granted after the backup."""
        backup = f"{len(list(self.folder.glob('*.db')))}.db"
        self.command("backup", backup)
        late = self.grant("late")
        assert hello(self.daemon.address, late["token"]) == (0, "")
        assert self.manager.stop() == 0
        said = self.command("restore", backup, "--state", state)
        assert f"restored {state}" in said
        assert "with 1 held leases" in said
        self.manager.options = ("--state", state, *options)
        self.manager.start()
        self.wait_until_it_leads()
        return late

    def wait_until_it_leads(self) -> None:
        until(lambda: self.client.raw("GET", "/readyz")[0] == 200, "the manager leads")


def test_a_pool_moves_while_a_program_computes(
    tmp_path: Path, native: paths.Native, outboard: Outboard
) -> None:
    with etcd_cluster(tmp_path / "etcd") as etcd:
        keys = tmp_path / "keys"  # of the manager in etcd; with SQLite, the whole state
        signed = ("--signing-keys", str(keys))
        pool = Pool(tmp_path, native, outboard, "--state", etcd.address("first"), *signed)
        before = pool.grant("goes-on")
        worker = Worker(
            native, tmp_path / "w", OUTBOARD_POOL=pool.manager.url, OUTBOARD_LEASE="goes-on"
        )
        worker.expect_remote()
        pool.client.ask("PUT", "/v1/bans/mallory", {"reason": "why"})
        moves = ((str(keys), ()), (etcd.address("second"), signed))
        for number, (state, options) in enumerate(moves):
            late = pool.move(state, *options)
            worker.expect_remote()
            # The backup has this lease and this ban, so they go on.
            assert pool.handle("goes-on")["epoch"] == before["epoch"]
            assert pool.client.ask("GET", "/v1/bans")["bans"][0]["user"] == "certificate mallory"
            # A lease that was granted after the backup is lost.
            with pytest.raises(PoolError, match="no lease late"):
                pool.client.ask("GET", "/v1/leases/late")
            # The device is granted after the daemon has spoken, with an epoch that nobody can have
            # seen. The token of the lost lease is worth nothing then.
            again = pool.grant(f"again-{number}")
            code, why = hello(pool.daemon.address, late["token"])
            assert code == FENCED, why
            assert again["device"] == late["device"]
            assert again["epoch"] > late["epoch"] + JUMP // 2
            assert hello(pool.daemon.address, again["token"]) == (0, "")
            pool.client.ask("DELETE", f"/v1/leases/again-{number}")
            pool.daemon.wait_until_free(pool.client, 1)
        verbs = [row["verb"] for row in pool.client.ask("GET", "/v1/audit")["records"]]
        assert verbs.count("ban") == 1
        assert worker.counted("local_calls") == 0
        assert worker.finish() > 0  # it checks each product
        pool.daemon.stop()
        assert pool.manager.stop() == 0
