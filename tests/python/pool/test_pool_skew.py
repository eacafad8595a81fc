"""One release of skew: what one version of manager, daemons and clients has made or says, the
other one understands. Until there is a second release, these are what the first one will have."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import saved_store
from etcd_cluster import etcd_cluster, needs_etcd
from interface_changes import broken
from pool_daemon import LEASE_VERSION, PATIENCE_S, Daemon, Worker, until
from pool_server import EVERYBODY, FakeDaemon, Manager, running

from conftest import ROOT, Outboard
from outboard import paths
from outboard.doctor import wire
from outboard.pool.client import PoolError
from outboard.pool.store import sqlite

SAVED = sorted(saved_store.FOLDER.glob("store-*.sql"))
INTERFACES = sorted(saved_store.FOLDER.glob("openapi-*.json"))
DEVICES = ("n1/0", "n1/1", "n2/0", "n2/1")


def test_the_present_forms_are_saved() -> None:
    names = [file.stem for file in SAVED]
    assert f"store-{sqlite._VERSION}" in names, "make one: tests/python/pool/saved_store.py"
    assert INTERFACES


def rows(file: Path, question: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(file)) as db:
        return db.execute(question, values).fetchall()


@pytest.mark.parametrize("saved", SAVED, ids=lambda file: file.stem)
@pytest.mark.parametrize("state", ["sqlite", pytest.param("etcd", marks=needs_etcd)])
def test_a_saved_store_is_served(
    saved: Path, state: str, tmp_path: Path, outboard: Outboard
) -> None:
    file = tmp_path / "saved.db"
    saved_store.restore(saved.read_text(), file)
    tables = [name for (name,) in rows(file, "select name from sqlite_master where type = 'table'")]
    assert all(rows(file, f"select 1 from {name} limit 1") for name in tables)
    with contextlib.ExitStack() as stack:
        place = str(tmp_path / "state")
        options: tuple[str, ...] = ("--state", place)
        if state == "etcd":
            etcd = stack.enter_context(etcd_cluster(tmp_path / "etcd"))
            place = etcd.address("saved")
            options = ("--state", place, "--signing-keys", str(tmp_path / "keys"))
        done = outboard("pool", "restore", str(file), "--state", place)
        assert done.returncode == 0, done.stderr
        manager = Manager(tmp_path / "m", EVERYBODY, None, *options)
        until(lambda: manager.client().raw("GET", "/readyz")[0] == 200, "the manager leads")
        assert_goes_on(manager, file)
        assert manager.stop() == 0


def assert_goes_on(manager: Manager, file: Path) -> None:
    """All that `file` has is there, leases go on, and devices are granted again."""
    client = manager.client()
    ask = client.ask
    told = {row["id"]: row["state"] for row in client.pages("/v1/leases", "leases")}
    alive = dict(rows(file, "select id, state from lease where state != 'over'"))
    assert {name: state for name, state in told.items() if state != "over"} == alive
    (renewed,) = ask("POST", "/v1/renew", {"ids": ["part"]})["leases"]
    assert renewed["wanted"]  # somebody waits
    ask("DELETE", "/v1/leases/part")
    (quota,) = ask("GET", "/v1/quotas")["quotas"]
    assert (quota["name"], quota["devices"]) == ("user:certificate eve", 3)
    (reservation,) = ask("GET", "/v1/reservations")["reservations"]
    assert (reservation["id"], reservation["users"]) == ("course", ["certificate eve"])
    assert ask("GET", "/v1/bans")["bans"] == [
        {"user": "certificate mallory", "reason": "ask the help desk"}
    ]
    records = ask("GET", "/v1/audit")["records"]
    before = rows(file, "select rev, actor, verb, object from audit order by rev")
    assert [tuple(r[k] for k in ("rev", "actor", "verb", "object")) for r in records][
        : len(before)
    ] == before
    users = {row["name"] for row in ask("GET", "/v1/usage")["rows"]}
    assert users == {name for (name,) in rows(file, "select holder from held")}

    daemons = []
    for name, document in rows(file, "select name, doc from daemon"):
        instance = json.loads(document)["instance"]  # they have run on meanwhile
        daemons.append(FakeDaemon(client, name, 2, instance, labels={"rack": "r7"}))
        daemons[-1].register()
        daemons[-1].start()
    try:
        for lease in ("alone", "slurm.a.4711.0"):  # they need no renewals
            handles = ask("GET", f"/v1/leases/{lease}")["handles"]
            query = "select device, epoch from handle where open and lease = ?"
            assert [(h["device"], h["epoch"]) for h in handles] == rows(file, query, lease)
        for lease in ("alone", "slurm.a.4711.0"):
            ask("DELETE", f"/v1/leases/{lease}")
        ask("PATCH", "/v1/devices/n2%2F1", {"admin": "open"})
        last = until(lambda: ask("GET", "/v1/leases/waits")["handles"], "the queue goes on")
        assert sorted(handle["device"] for handle in last) == list(DEVICES)
        epochs = dict(rows(file, "select id, epoch from device"))
        assert all(handle["epoch"] > epochs[handle["device"]] for handle in last)
    finally:
        for daemon in daemons:
            daemon.stop()


@pytest.mark.parametrize("saved", INTERFACES, ids=lambda file: file.stem)
def test_the_interface_breaks_nobody(saved: Path) -> None:
    """A break is right if docs/decisions/0082 permits it; then a new release begins with it."""
    present = json.loads((ROOT / "docs" / "pool-openapi.json").read_text())
    assert broken(json.loads(saved.read_text()), present) == []


def lease_body(document: Any) -> Any:
    return document["components"]["schemas"]["LeaseBody"]


def answer(document: Any) -> Any:
    return document["components"]["schemas"]["HandleAnswer"]


CHANGES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda d: d["paths"].pop("/v1/renew"), "POST /v1/renew is gone"),
    (lambda d: d["paths"]["/v1/leases/{id}"].pop("delete"), "DELETE /v1/leases/{id} is gone"),
    (lambda d: d["paths"]["/v1/leases"]["get"]["parameters"].pop(), "the parameter"),
    (lambda d: d["paths"]["/v1/leases"]["get"]["parameters"][0].update(required=True),
     "is required now"),
    (lambda d: d["paths"]["/v1/leases/{id}"]["put"]["responses"].pop("202"),
     "the answer 202 is gone"),
    (lambda d: lease_body(d)["properties"].pop("ttl_s"), "has no ttl_s any more"),
    (lambda d: lease_body(d)["required"].append("group"), "requires group now"),
    (lambda d: lease_body(d)["properties"]["share"].update(maximum=500),
     "share has a narrower maximum"),
    (lambda d: lease_body(d)["properties"]["uid"].update(minimum=0), "uid has a narrower minimum"),
    (lambda d: lease_body(d)["properties"]["group"].update(pattern="^a$"), "another pattern"),
    (lambda d: lease_body(d)["properties"]["count"].update(type="string"),
     "count may not be integer any more"),
    (lambda d: d["components"]["schemas"]["Priority"]["enum"].remove("idle"),
     "priority may not be idle any more"),
    (lambda d: answer(d)["properties"].pop("token"), "has no token any more"),
    (lambda d: answer(d)["required"].remove("epoch"), "may lack epoch now"),
    (lambda d: answer(d)["properties"]["epoch"].update(type="string"), "epoch may be string now"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "why"), CHANGES, ids=[why for _, why in CHANGES])
def test_a_break_of_the_interface_is_found(change: Callable[[Any], Any], why: str) -> None:
    old = json.loads((ROOT / "docs" / "pool-openapi.json").read_text())
    new = copy.deepcopy(old)
    change(new)
    found = broken(old, new)
    assert found
    assert all(why in line for line in found), found
    # An addition breaks nobody: the other way round there are other breaks, or none.
    assert all(why not in line for line in broken(new, old))


@pytest.mark.end_to_end
def test_clients_of_two_versions_beside_each_other(native: paths.Native, tmp_path: Path) -> None:
    """At one daemon, the Python speaker of the version before and a program of this one."""
    assert wire.VERSION == LEASE_VERSION - 1
    daemon = Daemon(native, "")
    worker = Worker(native, tmp_path / "w", OUTBOARD_SERVER=daemon.address)
    worker.expect_remote()
    host, _, port = daemon.address.rpartition(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as peer:
        session = wire.Session(peer)
        assert session.welcome.version == wire.VERSION
        size = 3 << 20
        session.make_buffer(size)
        for _ in range(3):
            data = os.urandom(size)
            session.write(data)
            worker.expect_remote()
            assert session.read(size)[0] == data
        session.close()
    worker.expect_remote()
    assert worker.finish() > 0  # it checks each product
    daemon.stop()


@pytest.mark.end_to_end
def test_a_client_gets_daemons_that_it_can_talk_to(native: paths.Native, tmp_path: Path) -> None:
    """A pool in the middle of an upgrade: one daemon is of the version before."""
    manager = Manager(tmp_path / "m", EVERYBODY)
    client = manager.client()
    new = Daemon(native, "new", "--pool", manager.url)
    new.wait_until_free(client)

    def grant(lease: str, *versions: int) -> Any:
        body = {"ttl_s": 60, "wait_s": 20, "wire": versions}
        return client.ask("PUT", f"/v1/leases/{lease}", body, wait_s=20)

    before = LEASE_VERSION - 1
    with running(client, "old", wire=[before]):
        with pytest.raises(PoolError, match="will never be free") as never:
            client.ask("PUT", "/v1/leases/two", {"count": 2, "wire": [LEASE_VERSION]})
        assert never.value.name == "can-never-fit"
        (handle,) = grant("of-now", LEASE_VERSION)["handles"]
        assert handle["device"] == "new/0"
        worker = Worker(native, tmp_path / "w", OUTBOARD_POOL=manager.url, OUTBOARD_LEASE="of-now")
        worker.expect_remote()
        assert grant("before", before)["handles"][0]["device"] == "old/0"
        # The device of the version before is free, and is no use to a client of this one.
        client.ask("DELETE", "/v1/leases/before")
        body = {"ttl_s": 60, "wire": [LEASE_VERSION]}
        assert client.ask("PUT", "/v1/leases/waits", body)["state"] == "queued"
        assert worker.finish() > 0  # it checks each product
        client.ask("DELETE", "/v1/leases/of-now")
        told = until(lambda: client.ask("GET", "/v1/leases/waits")["handles"], "the new one")
        assert told[0]["device"] == "new/0"
    new.stop()
    assert manager.stop() == 0
