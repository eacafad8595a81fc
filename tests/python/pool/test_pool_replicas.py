"""Two managers and three members of etcd: any one of them may die, and nothing that was answered is
lost."""

from __future__ import annotations

import base64
import contextlib
import json
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from etcd_cluster import EtcdCluster, HoldingProxy, etcd_cluster, needs_etcd
from pool_commands import fresh_seed
from pool_server import EVERYBODY, FakeDaemon, Manager, running

from outboard.errors import OutboardError
from outboard.pool.client import PoolClient, PoolError
from outboard.pool.serve.manager import SOON_S
from outboard.pool.serve.server import PLACE_LOST
from outboard.pool.tokens import verify

pytestmark = needs_etcd
DEVICES = 4  # of each of two daemons


class Site:
    """The whole of it. revive() starts managers again that have ended, as a supervisor does."""

    def __init__(self, folder: Path, etcd: EtcdCluster) -> None:
        self.etcd = etcd
        state = ("--state", etcd.address("pool"))
        self.managers = [
            Manager(folder / n, EVERYBODY, None, *state, "--signing-keys", str(folder / n / "keys"))
            for n in ("m1", "m2")
        ]
        self.url = ",".join(m.url for m in self.managers)
        self.client = PoolClient(self.url)

    def leader(self) -> Manager:
        self.client.ask("GET", "/readyz")
        for manager in self.managers:
            alive = manager.process.poll() is None
            if alive and manager.client().raw("GET", "/readyz")[0] == 200:
                return manager
        raise AssertionError("none leads")

    def revive(self) -> None:
        for manager in self.managers:
            if manager.process.poll() is not None:
                manager.start()

    def log(self, manager: Manager) -> str:
        return (manager.folder / "log").read_text()

    def acquire(self, lease: str, count: int = 1) -> Any:
        body = {"count": count, "wait_s": 5}
        return self.client.ask("PUT", f"/v1/leases/{lease}", body, wait_s=5)

    def held(self, lease: str) -> set[tuple[str, int]]:
        told = self.client.ask("GET", f"/v1/leases/{lease}")
        return {(h["device"], h["epoch"]) for h in told["handles"]}

    def granted(self) -> dict[str, list[Any]]:
        """Returns what the audit says of each lease."""
        found: dict[str, list[Any]] = {}
        after: str | int = 0
        while True:
            page = self.client.ask("GET", "/v1/audit", query={"after": after})
            for record in page["records"]:
                found.setdefault(record["object"], []).append(record)
            after = page["next"]
            if not after:
                return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    with etcd_cluster(folder / "etcd", 3) as etcd:
        made = Site(folder, etcd)
        yield made
        for manager in made.managers:
            manager.kill()


@pytest.fixture
def daemons(site: Site) -> Iterator[list[FakeDaemon]]:
    site.revive()
    site.client.ask("GET", "/readyz")
    with running(PoolClient(site.url), "n1", "n2", devices=DEVICES) as made:
        yield made


class Holder(threading.Thread):
    """Acquires and gives back. Keeps what it was told, and what it holds at the end."""

    def __init__(self, site: Site, name: str, ended: threading.Event) -> None:
        super().__init__(daemon=True)
        self._site, self._name, self._ended = site, name, ended
        self.client = PoolClient(site.url)
        self.told: list[tuple[str, str, int]] = []  # lease, device, epoch
        self.holds: dict[str, set[tuple[str, int]]] = {}
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            number = 0
            while not self._ended.is_set():
                number += 1
                self._turn(f"{self._name}-{number}", keep=number % 5 == 1 and len(self.holds) < 2)
        except BaseException as error:
            self.failed = error

    def _turn(self, lease: str, keep: bool) -> None:
        path = f"/v1/leases/{lease}"
        try:
            told = self.client.ask("PUT", path, {"count": 1, "wait_s": 1}, wait_s=1)
        except OutboardError:
            return  # nobody knows, or nobody leads: the lease ends by itself
        handles = {(h["device"], h["epoch"]) for h in told["handles"]}
        self.told += [(lease, *handle) for handle in handles]
        if keep and handles:
            self.holds[lease] = handles
            return
        with contextlib.suppress(OutboardError):
            self.client.ask("DELETE", path)
        time.sleep(0.05)


def assert_nothing_was_lost(site: Site, holders: list[Holder]) -> None:
    for holder in holders:
        assert holder.failed is None, holder.failed
        for lease, handles in holder.holds.items():
            assert site.held(lease) == handles
    # An epoch of a device belongs to one lease: no grant was made twice.
    owner: dict[tuple[str, int], str] = {}
    for holder in holders:
        for lease, device, epoch in holder.told:
            assert owner.setdefault((device, epoch), lease) == lease
    # Devices are in the hands of one lease at a time, and what was answered is on record.
    rows = site.client.pages("/v1/devices", "devices")
    assert len(rows) == 2 * DEVICES
    assert all(len(row["leases"]) <= 1 for row in rows)
    record = site.granted()
    for holder in holders:
        for lease in {lease for lease, *_ in holder.told}:
            assert "grant" in [r["verb"] for r in record[lease]], lease


def under_load(site: Site, act: Any) -> list[Holder]:
    """Holders acquire while `act` happens, and go on until each has got devices after it."""
    ended = threading.Event()
    names = [f"{act.__name__}{n}-{time.monotonic_ns()}" for n in range(2)]
    holders = [Holder(site, name, ended) for name in names]
    for holder in holders:
        holder.start()
    _wait(lambda: all(len(h.told) > 3 for h in holders))
    act()
    before = [len(h.told) for h in holders]
    _wait(lambda: all(len(h.told) > n + 2 for h, n in zip(holders, before, strict=True)))
    ended.set()
    for holder in holders:
        holder.join(60)
    return holders


def _wait(done: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def give_back(site: Site, holders: list[Holder]) -> None:
    for holder in holders:
        for lease in holder.holds:
            site.client.ask("DELETE", f"/v1/leases/{lease}")


def test_the_standby_says_who_leads(site: Site, daemons: list[FakeDaemon]) -> None:
    leader = site.leader()
    standby = next(m for m in site.managers if m is not leader)
    with pytest.raises(PoolError, match=f"does not lead.*{leader.url}") as refused:
        standby.client().ask("GET", "/v1/devices")
    assert (refused.value.status, refused.value.name) == (503, "not-leader")
    assert standby.client().ask("GET", "/healthz")["status"] == "standby"
    assert "outboard_pool_leader 0.0" in standby.client().raw("GET", "/metrics")[1].decode()
    assert "outboard_pool_leader 1.0" in leader.client().raw("GET", "/metrics")[1].decode()


def test_the_leader_is_killed_while_leases_are_acquired(
    site: Site, daemons: list[FakeDaemon]
) -> None:
    leader = site.leader()
    token = site.acquire("before")["handles"][0]
    holders = under_load(site, leader.kill)
    assert site.leader() is not leader
    assert_nothing_was_lost(site, holders)
    # The token that the dead one has signed is good at daemons that have registered anew.
    daemon = next(d for d in daemons if d.name == token["daemon"])
    keys = {kid: base64.b64decode(der) for kid, der in daemon.keys.items()}
    claims = verify(token["token"], keys)
    assert (claims.dev, claims.epo) in site.held("before")
    assert claims.iss == verify(site.client.ask("GET", "/v1/leases/before")["handles"][0]["token"],
                                keys).iss  # fmt: skip
    give_back(site, holders)


def test_the_leader_gives_its_place_away_when_it_is_asked_to_stop(
    site: Site, daemons: list[FakeDaemon]
) -> None:
    leader = site.leader()
    stopped: list[int] = []

    def stop() -> None:
        stopped.append(leader.stop())

    holders = under_load(site, stop)
    assert stopped == [0]
    assert site.leader() is not leader
    assert_nothing_was_lost(site, holders)
    give_back(site, holders)


def test_a_member_of_etcd_is_killed(site: Site, daemons: list[FakeDaemon]) -> None:
    member = random.Random(fresh_seed()).choice(site.etcd.members)
    holders = under_load(site, member.kill)
    assert_nothing_was_lost(site, holders)
    give_back(site, holders)
    site.etcd.start(member)
    site.etcd.wait()


def test_a_member_of_etcd_is_stopped(site: Site, daemons: list[FakeDaemon]) -> None:
    """It takes requests, and does not answer. It may be etcd's leader."""
    member = random.Random(fresh_seed()).choice(site.etcd.members)
    assert member.process is not None
    process = member.process

    def stop() -> None:
        process.send_signal(signal.SIGSTOP)

    try:
        holders = under_load(site, stop)
        assert_nothing_was_lost(site, holders)
    finally:
        process.send_signal(signal.SIGCONT)
    site.etcd.wait()
    give_back(site, holders)


def test_a_stopped_leader_stores_nothing_when_it_goes_on(
    site: Site, daemons: list[FakeDaemon]
) -> None:
    """It also signs no token for a lease that it knows to be held."""
    leader = site.leader()
    ended = site.log(leader).count("the manager stops: ")
    assert site.acquire("known")["handles"][0]["token"]
    leader.process.send_signal(signal.SIGSTOP)
    answers: list[Any] = []

    def ask(method: str, path: str, body: Any) -> None:
        try:
            answers.append(leader.client().raw(method, path, body, 30))
        except OutboardError as error:
            answers.append(error)

    questions = (
        ("PUT", "/v1/leases/late", {"count": 1}), ("GET", "/v1/leases/known", None),
        ("POST", "/v1/renew", {"ids": ["known"]}),
    )  # fmt: skip
    # They wait in the socket of the one that sleeps.
    asking = [threading.Thread(target=ask, args=question) for question in questions]
    for thread in asking:
        thread.start()
    site.client.ask("DELETE", "/v1/leases/known")
    _wait(lambda: site.acquire("meanwhile")["state"] == "held")
    before = site.held("meanwhile")
    leader.process.send_signal(signal.SIGCONT)
    assert leader.process.wait(30) == PLACE_LOST
    for thread in asking:
        thread.join(60)
    assert len(answers) == len(questions)
    assert all(isinstance(answer, OutboardError) for answer in answers), answers
    assert site.log(leader).count("the manager stops: ") == ended + 1
    assert "leads no more" in site.log(leader) or "another manager leads" in site.log(leader)
    with pytest.raises(PoolError) as unknown:
        site.client.ask("GET", "/v1/leases/late")
    assert unknown.value.name == "unknown"
    assert site.held("meanwhile") == before
    site.client.ask("DELETE", "/v1/leases/meanwhile")


@pytest.mark.slow
def test_etcd_is_away_and_comes_back(site: Site, daemons: list[FakeDaemon]) -> None:
    leader = site.leader()
    handles = {(h["device"], h["epoch"]) for h in site.acquire("kept")["handles"]}
    for member in site.etcd.members[:2]:
        member.kill()
    assert leader.process.wait(30) == PLACE_LOST
    assert "the manager stops: its state cannot be kept" in site.log(leader)
    site.revive()
    for manager in site.managers:
        _wait(lambda m=manager: b"storage" in m.client().raw("GET", "/readyz")[1])
        with pytest.raises(PoolError, match=r"cannot lead .*etcd.* see to etcd"):
            manager.client().ask("GET", "/v1/devices")
    for member in site.etcd.members[:2]:
        site.etcd.start(member)
    site.etcd.wait()
    assert site.held("kept") == handles
    assert site.acquire("again")["state"] == "held"


def test_slow_reads_of_the_record_hold_nobody_else_back(tmp_path: Path) -> None:
    """While etcd does not answer such reads, many of them, the leader grants and tells."""
    with etcd_cluster(tmp_path / "etcd", 1) as etcd:
        proxy = HoldingProxy(etcd.members[0], "/range", b"/audit/")
        state = ("--state", f"etcd://127.0.0.1:{proxy.port}/slow")
        manager = Manager(tmp_path / "m", EVERYBODY, None, *state, "--signing-keys",
                          str(tmp_path / "keys"))  # fmt: skip
        client = manager.client()
        _wait(lambda: client.raw("GET", "/readyz")[0] == 200)
        with running(client, "n1"):
            proxy.holds.set()
            answers: list[tuple[int, bytes]] = []
            enough = threading.Event()

            def ask() -> None:
                own = manager.client()
                while not enough.is_set():
                    answers.append(own.raw("GET", "/v1/audit", None, 120))

            asking = [threading.Thread(target=ask) for _ in range(4)]
            for thread in asking:
                thread.start()
            assert proxy.held.wait(60)
            for number in range(12):
                lease = f"/v1/leases/l{number}"
                assert client.ask("PUT", lease, {"wait_s": 20}, wait_s=20)["state"] == "held"
                client.ask("DELETE", lease)
                client.ask("GET", "/v1/devices")
            during = len(answers)
            enough.set()
            for thread in asking:
                thread.join()
            # One read waits 5 s. In the way of grants, there was one before each grant.
            assert during < 12
            assert {json.loads(raw)["type"] for _, raw in answers} == {
                "urn:outboard:problem:storage"
            }
            assert {status for status, _ in answers} == {503}
            proxy.holds.clear()
            proxy.goes_on.set()
            verbs = [r["verb"] for r in client.ask("GET", "/v1/audit")["records"]]
            assert verbs.count("grant") == 12
        assert manager.stop() == 0
        proxy.shutdown()
        proxy.server_close()


def test_an_early_release_is_answered_before_it_is_stored(tmp_path: Path) -> None:
    with etcd_cluster(tmp_path / "etcd", 1) as etcd:
        proxy = HoldingProxy(etcd.members[0], "/txn")
        state = ("--state", f"etcd://127.0.0.1:{proxy.port}/early")
        manager = Manager(tmp_path / "m", EVERYBODY, None, *state, "--signing-keys",
                          str(tmp_path / "keys"))  # fmt: skip
        client = manager.client()
        _wait(lambda: client.raw("GET", "/readyz")[0] == 200)
        with running(client, "n1", devices=2):
            for lease in ("early", "usual"):
                assert client.ask("PUT", f"/v1/leases/{lease}", {})["state"] == "held"
            statuses: dict[str, int] = {}

            def delete(target: str) -> None:
                statuses[target] = manager.client().raw("DELETE", target, None, 120)[0]

            proxy.holds.set()
            delete("/v1/leases/early?early=1")
            assert set(statuses.values()) == {202}
            assert proxy.held.wait(60)
            # The program that gave it back tells of its link, and does not wait for the store.
            link = {"machine": "m", "daemon": "n1", "rtt_us": 100, "bytes_per_s": 1e9}
            assert client.ask("POST", "/v1/renew", {"ids": [], "links": [link]})["leases"] == []
            assert not proxy.goes_on.is_set()
            # The store may be gone, so the next ones wait like all others.
            time.sleep(2 * SOON_S)
            late = ("/v1/leases/usual", "/v1/leases/none?early=1")
            asking = [threading.Thread(target=delete, args=(target,)) for target in late]
            for thread in asking:
                thread.start()
            time.sleep(0.5)
            assert len(statuses) == 1
            proxy.holds.clear()
            proxy.goes_on.set()
            for thread in asking:
                thread.join()
            assert [statuses[target] for target in late] == [204, 404]
            for lease in ("early", "usual"):
                with pytest.raises(PoolError) as over:
                    client.ask("GET", f"/v1/leases/{lease}")
                assert over.value.name == "lease-over"
        assert manager.stop() == 0
        proxy.shutdown()
        proxy.server_close()
