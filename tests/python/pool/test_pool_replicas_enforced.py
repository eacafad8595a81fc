"""Real daemons and programs beside two managers: the one that leads is killed, and work goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from etcd_cluster import etcd_cluster, needs_etcd
from pool_daemon import Daemon, Worker, until
from pool_server import EVERYBODY, Manager

from outboard import paths
from outboard.pool.client import PoolClient

pytestmark = [pytest.mark.end_to_end, needs_etcd]


@pytest.fixture
def managers(tmp_path: Path) -> Iterator[list[Manager]]:
    """The one that leads is the first."""
    with etcd_cluster(tmp_path / "etcd") as etcd:
        state = ("--state", etcd.address("pool"))
        made = [
            Manager(
                tmp_path / n, EVERYBODY, None, *state, "--signing-keys", str(tmp_path / n / "k")
            )
            for n in ("m1", "m2")
        ]
        PoolClient(",".join(m.url for m in made)).ask("GET", "/readyz")
        yield sorted(made, key=lambda m: m.client().raw("GET", "/readyz")[0])
        for manager in made:
            manager.kill()


def test_the_leader_is_killed_while_a_program_computes(
    managers: list[Manager], tmp_path: Path, native: paths.Native
) -> None:
    # The daemon and the first program ask the leader first, the second one asks the dead one first.
    leader, standby = managers
    url = f"{leader.url},{standby.url}"
    daemon = Daemon(native, "n1", "--pool", url)
    client = PoolClient(url)
    daemon.wait_until_free(client)
    body = {"count": 1, "ttl_s": 60, "wait_s": 20}
    lease = client.ask("PUT", "/v1/leases/a", body, wait_s=20)
    assert lease["state"] == "held"
    variables = {"OUTBOARD_POOL": url, "OUTBOARD_LEASE": "a"}
    first = Worker(native, tmp_path / "first", **variables)
    first.expect_remote()

    leader.kill()
    until(lambda: standby.client().raw("GET", "/readyz")[0] == 200, "the other one leads")
    first.expect_remote()

    def device() -> Any:
        return client.pages("/v1/devices", "devices")[0]

    until(lambda: device()["health"] == "ok", "the daemon has registered with the next leader")
    # A token of the dead leader, and one of the next.
    again = client.ask("GET", "/v1/leases/a")["handles"][0]
    assert again["epoch"] == lease["handles"][0]["epoch"]
    assert again["token"] != lease["handles"][0]["token"]
    second = Worker(native, tmp_path / "second", **variables)
    second.expect_remote()
    first.expect_remote()
    assert first.counted("local_calls") == 0
    for worker in (first, second):
        worker.finish()
    client.ask("DELETE", "/v1/leases/a")
    daemon.wait_until_free(client)
    assert client.ask("PUT", "/v1/leases/b", body, wait_s=20)["state"] == "held"
    daemon.stop()
