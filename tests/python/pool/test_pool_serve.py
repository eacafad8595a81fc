"""The manager as a process: what its interface does over loopback, Unix sockets and TLS."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import socket
import ssl
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from pool_server import EVERYBODY, FakeDaemon, Manager, make_keys, running

from outboard.keys import MANAGER_NAME
from outboard.pool import tokens
from outboard.pool.client import PoolClient, PoolError, UnreachableError, client_tls
from outboard.pool.serve import reading, server
from outboard.pool.serve.settings import Settings
from outboard.pool.store.base import StoreError
from outboard.pool.store.leadership import DeposedError


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    made = Manager(tmp_path_factory.mktemp("m"), EVERYBODY)
    yield made
    assert made.stop() == 0


@pytest.fixture
def client(manager: Manager) -> Iterator[PoolClient]:
    """All leases are over, and all daemons gone, at the beginning."""
    made = manager.client()
    for row in made.pages("/v1/leases", "leases"):
        made.ask("DELETE", f"/v1/leases/{row['id']}")
    for row in made.pages("/v1/devices", "devices"):
        made.ask("PATCH", f"/v1/devices/{row['id'].replace('/', '%2F')}", {"admin": "retired"})
    yield made
    made.close()


def refused(name: str, client: PoolClient, method: str, path: str, body: Any = None) -> PoolError:
    with pytest.raises(PoolError) as raised:
        client.ask(method, path, body)
    assert raised.value.name == name, raised.value
    return raised.value


def test_a_lease_from_its_request_to_its_end(client: PoolClient) -> None:
    with running(client, "a1", devices=2) as (daemon,):
        lease = client.ask("PUT", "/v1/leases/one", {"count": 2})
        assert (lease["state"], len(lease["handles"])) == ("held", 2)
        again = client.ask("PUT", "/v1/leases/one", {"count": 2})
        epochs = [handle["epoch"] for handle in lease["handles"]]
        assert [handle["epoch"] for handle in again["handles"]] == epochs
        refused("other-body", client, "PUT", "/v1/leases/one", {"count": 1})
        public = {kid: base64.b64decode(der) for kid, der in daemon.keys.items()}
        for handle in lease["handles"]:
            claims = tokens.verify(handle["token"], public)
            assert (claims.aud, claims.dev, claims.jti) == ("a1", handle["device"], "one")
            assert isinstance(daemon.open(claims, lease["now_ms"]), int)
        renewed = client.ask("POST", "/v1/renew", {"ids": ["one", "two"]})["leases"]
        assert renewed[0]["end_ms"] >= lease["end_ms"]
        assert renewed[1]["problem"] == "unknown"
        client.ask("DELETE", "/v1/leases/one/handles/a1%2F0")
        left = client.ask("GET", "/v1/leases/one")["handles"]
        assert [handle["device"] for handle in left] == ["a1/1"]
        client.ask("DELETE", "/v1/leases/one")
        client.ask("DELETE", "/v1/leases/one")
        refused("lease-over", client, "GET", "/v1/leases/one")
        # The daemon's long poll hears of it at once, and confirms.
        until = time.monotonic() + 10
        while any(d["allocation"] != "free" for d in _devices(client, "a1")):
            assert time.monotonic() < until
            time.sleep(0.02)


def _devices(client: PoolClient, daemon: str) -> list[Any]:
    rows = client.pages("/v1/devices", "devices", {"limit": 1})
    return [row for row in rows if row["daemon"] == daemon and row["admin"] != "retired"]


def test_a_waiting_request_is_answered_when_a_device_is_free(client: PoolClient) -> None:
    with running(client, "a2"):
        client.ask("PUT", "/v1/leases/first", {})
        queued = client.ask("PUT", "/v1/leases/second", {})
        assert (queued["state"], queued["place"]) == ("queued", 1)
        refused("can-never-fit", client, "PUT", "/v1/leases/many", {"count": 2})
        refused("not-held", client, "POST", "/v1/leases/second/handles", {"part": "p"})
        row = client.ask("GET", "/v1/queue")["requests"][0]
        assert row["reason"] == "waits for 1 of any kind: 0 can be granted now"
        answers: list[Any] = []
        query = {"wait_s": 20}

        def ask() -> None:
            answers.append(client.ask("GET", "/v1/leases/second", None, query, 20))

        waiting = threading.Thread(target=ask)
        waiting.start()
        time.sleep(0.2)
        begin = time.monotonic()
        client.ask("DELETE", "/v1/leases/first")
        waiting.join(20)
        assert answers[0]["state"] == "held"
        assert time.monotonic() - begin < 15  # far below the 20 s of the poll
        grown: list[Any] = []
        body = {"part": "p", "count": 1, "wait_s": 0}
        refused("can-never-fit", client, "POST", "/v1/leases/second/handles", body)
        assert grown == []


def test_growing_waits_too(client: PoolClient) -> None:
    with running(client, "a3", devices=2):
        client.ask("PUT", "/v1/leases/g1", {})
        body = {"part": "p", "count": 1, "wait_s": 5}
        grown = client.ask("POST", "/v1/leases/g1/handles", body)
        assert len(grown["handles"]) == 2
        assert len(client.ask("POST", "/v1/leases/g1/handles", body)["handles"]) == 2
        rank = client.ask("GET", "/v1/leases/g1", query={"rank": 3})
        assert [handle["device"] for handle in rank["handles"]] == ["a3/1"]


@pytest.mark.parametrize("each", [0, 1])
@pytest.mark.parametrize("replaced", [True, False])
def test_ranks_keep_their_devices_when_another_is_lost(
    client: PoolClient, each: int, replaced: bool
) -> None:
    node, lease = f"r{each}{replaced:d}", f"/v1/leases/ranks{each}{replaced:d}"
    with running(client, node, devices=4):

        def devices() -> list[list[str]]:
            ranks = ({"rank": rank, "per_rank": each} for rank in range(3))
            answers = [client.ask("GET", lease, query=rank) for rank in ranks]
            return [[handle["device"] for handle in answer["handles"]] for answer in answers]

        client.ask("PUT", lease, {"count": 3, "replace": replaced})
        assert devices() == [[f"{node}/0"], [f"{node}/1"], [f"{node}/2"]]
        client.ask("PATCH", f"/v1/devices/{node}%2F1", {"admin": "retired"})
        # Without a replacement, the ranks that take turns share what is left.
        other = [f"{node}/3"] if replaced else [] if each else [f"{node}/2"]
        assert devices() == [[f"{node}/0"], other, [f"{node}/2"]]
        client.ask("DELETE", lease)


def test_administrators_cordon_drain_and_ban(client: PoolClient) -> None:
    with running(client, "a4"):
        client.ask("POST", "/v1/daemons/a4/cordon")
        assert client.ask("PUT", "/v1/leases/c1", {})["state"] == "queued"
        assert "cordoned" in _devices(client, "a4")[0]["why"]
        client.ask("POST", "/v1/daemons/a4/uncordon")
        client.ask("PUT", "/v1/bans/mallory", {"reason": "too greedy"})
        assert client.ask("GET", "/v1/bans")["bans"][0]["user"] == "certificate mallory"
        body = {"for_user": "mallory"}
        error = refused("banned", client, "PUT", "/v1/leases/job.1", body)
        assert "too greedy" in error.message
        client.ask("DELETE", "/v1/bans/mallory")
        client.ask("PUT", "/v1/quotas/user:ada", {"devices": 1, "week_device_s": 60})
        quota = client.ask("GET", "/v1/quotas")["quotas"][0]
        assert quota["name"] == "user:certificate ada"
        client.ask("POST", "/v1/daemons/a4/drain", {"deadline_s": 5})
        window = {"count": 1, "users": ["ada"], "start_ms": 5, "end_ms": 6}
        client.ask("PUT", "/v1/reservations/r", window)
        client.ask("DELETE", "/v1/reservations/r")
        verbs = [row["verb"] for row in client.ask("GET", "/v1/audit")["records"]]
        assert {"cordoned", "open", "ban", "unban", "quota", "draining", "reserve"} <= set(verbs)
        refused("unknown", client, "POST", "/v1/daemons/nobody/drain", {})


def test_usage_sums_what_was_held(client: PoolClient) -> None:
    with running(client, "a5"):
        client.ask("PUT", "/v1/leases/job.u", {"for_user": "uma"})
        time.sleep(0.3)
        client.ask("DELETE", "/v1/leases/job.u")
        rows = {row["name"]: row for row in client.ask("GET", "/v1/usage")["rows"]}
        assert 0.2 < rows["certificate uma"]["device_s"] < 20
        _, text = client.raw("GET", "/v1/usage?format=csv&by=lease")
        assert b'"job.u",1,' in text


def test_events_tell_of_commits(client: PoolClient, manager: Manager) -> None:
    words = ["curl", "-sN", "--max-time", "60", f"{manager.url}/v1/events"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as curl:
        assert curl.stdout is not None
        assert any(line == "event: change\n" for line in curl.stdout)  # as it is now
        client.ask("PUT", "/v1/quotas/user:eve", {"devices": 1})
        assert any(line == "event: change\n" for line in curl.stdout)
        curl.kill()


def test_metrics_and_page(client: PoolClient) -> None:
    name = "<script>alert(1)</script>"
    with running(client, "a6"):
        client.ask("PUT", "/v1/leases/m1", {})
        odd = FakeDaemon(client, name, 0)
        odd.devices = ["x"]
        odd.register()
        _, metrics = client.raw("GET", "/metrics")
        assert b'outboard_pool_devices{kind="gpu",state="exclusive"} 1.0' in metrics
        assert b'outboard_pool_leases{mode="exclusive",state="held"} 1.0' in metrics
        status, page = client.raw("GET", "/")
        assert status == 200
        assert b"<script>" not in page
        assert b"&lt;script&gt;" in page
        assert page.count(b"<caption>") == 3
        assert b'<h2 id="history">' in page
        odd.stop()


def test_the_openapi_document_is_the_committed_one(client: PoolClient) -> None:
    _, served = client.raw("GET", "/openapi.json")
    committed = Path(__file__).resolve().parents[3] / "docs/pool-openapi.json"
    assert json.loads(served) == json.loads(committed.read_text()), (
        "the interface has changed: python -m outboard.pool.serve.openapi > docs/pool-openapi.json"
    )


def test_the_state_folder_is_private(manager: Manager) -> None:
    state = manager.folder / "state"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    for file in state.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_answered_grants_survive_kill(tmp_path: Path) -> None:
    """The manager dies in the middle of grants, again and again."""
    manager = Manager(tmp_path / "m", EVERYBODY)
    client = manager.client()
    answered: dict[str, Any] = {}  # epochs, or what is known otherwise
    with running(client, "k1", "k2", devices=8):
        for turn in range(2):
            stop = threading.Event()

            def acquire(who: int, turn: int = turn, stop: threading.Event = stop) -> None:
                mine, number = manager.client(), 0
                while not stop.is_set():
                    name, number = f"t{turn}-{who}-{number}", number + 1
                    try:
                        answered[name] = None  # nobody knows yet
                        lease = mine.ask("PUT", f"/v1/leases/{name}", {"ttl_s": 600})
                        held = [h["epoch"] for h in lease["handles"]]
                        answered[name] = held
                        if number % 5:
                            answered[name] = None
                            mine.ask("DELETE", f"/v1/leases/{name}")
                            answered[name] = "released"
                    except UnreachableError:
                        return

            threads = [threading.Thread(target=acquire, args=(who,)) for who in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.7 + 0.2 * turn)
            manager.kill()
            stop.set()
            for thread in threads:
                thread.join()
            manager.start()
        for name, known in answered.items():
            status, raw = client.raw("GET", f"/v1/leases/{name}")
            if known == "released":
                assert status == 410, raw
            elif known:
                assert [h["epoch"] for h in json.loads(raw)["handles"]] == known, name
    assert manager.stop() == 0
    assert sum(isinstance(known, list) and known != [] for known in answered.values()) > 2
    assert sum(known == "released" for known in answered.values()) > 2


def test_a_dead_holder_loses_its_devices(client: PoolClient) -> None:
    with running(client, "d1"):
        client.ask("PUT", "/v1/leases/dead", {"ttl_s": 1})
        lease = client.ask("PUT", "/v1/leases/next", {"wait_s": 15}, wait_s=15)
        assert lease["state"] == "held"
        refused("lease-over", client, "GET", "/v1/leases/dead")


def test_a_dead_daemon_is_not_granted(client: PoolClient, manager: Manager) -> None:
    daemon = FakeDaemon(client, "d2")
    daemon.register()
    second = FakeDaemon(client, "d2")
    error = None
    try:
        second.register()
    except PoolError as refusal:
        error = refusal
    assert error is not None and error.name == "other-instance"
    until = time.monotonic() + 60
    while _devices(client, "d2")[0]["health"] != "lost":
        assert time.monotonic() < until
        time.sleep(0.2)
    assert client.ask("PUT", "/v1/leases/nobody", {})["state"] == "queued"
    second.register()
    assert (
        client.ask("GET", "/v1/leases/nobody", query={"wait_s": 20}, wait_s=20)["state"] == "held"
    )


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Manager, dict[str, Path]]]:
    folder = tmp_path_factory.mktemp("tls")
    made = make_keys(folder)
    manager = Manager(folder / "m", '[roles]\nadmin = ["root"]\nbatch = ["bob"]\n', made["m1"])
    yield manager, made
    assert manager.stop() == 0


def test_certificates_give_roles(secured: tuple[Manager, dict[str, Path]]) -> None:
    manager, made = secured
    ada, bob, root = (manager.client(made[name]) for name in ("ada", "bob", "root"))
    n1 = manager.client(made["n1"])
    with running(n1, "n1"):
        lease = ada.ask("PUT", "/v1/leases/tls", {})
        assert lease["holder"] == "certificate ada"
        for method, path in (("GET", ""), ("DELETE", ""), ("DELETE", "/handles/n1%2F0")):
            stolen = refused("unknown", bob, method, f"/v1/leases/tls{path}")
            guessed = refused("unknown", bob, method, f"/v1/leases/tlx{path}")
            assert stolen.message == guessed.message.replace("tlx", "tls")
        renewed = bob.ask("POST", "/v1/renew", {"ids": ["tls"]})["leases"][0]
        assert renewed["problem"] == "unknown"
        assert bob.ask("GET", "/v1/leases")["leases"] == []
        assert bob.ask("GET", "/v1/devices")["devices"][0]["holders"] == []
        assert root.ask("GET", "/v1/devices")["devices"][0]["holders"] == ["certificate ada"]
        # A client is no daemon, a daemon no client, and no daemon another one.
        body = {"instance": "x", "devices": []}
        refused("not-yours", ada, "PUT", "/v1/daemons/n1", body)
        refused("not-yours", n1, "PUT", "/v1/leases/mine", {})
        refused("not-yours", manager.client(made["n2"]), "PUT", "/v1/daemons/n1", body)
        beat = {"instance": "x", "seq": 1, "rev": 1, "devices": []}
        refused("not-yours", manager.client(made["n2"]), "POST", "/v1/daemons/n1/heartbeat", beat)
        # Roles: administrators, batch.
        for method, path in (
            ("PUT", "/v1/bans/bob"), ("PUT", "/v1/quotas/user:ada"), ("GET", "/v1/backup"),
            ("POST", "/v1/daemons/n1/cordon"), ("PATCH", "/v1/devices/n1%2F0"),
        ):  # fmt: skip
            refused("not-yours", ada, method, path, {})
        refused("not-yours", ada, "PUT", "/v1/leases/slurm.c.7.0", {})
        refused("not-yours", ada, "PUT", "/v1/leases/x", {"for_user": "bob"})
        refused("not-yours", ada, "PUT", "/v1/leases/x", {"group": "chem"})
        refused("invalid", ada, "PUT", "/v1/leases/x", {"ttl_s": 0})
        root.ask("DELETE", "/v1/leases/tls")
        refused("lease-over", ada, "GET", "/v1/leases/tls")


def test_only_administrators_and_batch_systems_ask_for_the_high_priority(
    secured: tuple[Manager, dict[str, Path]],
) -> None:
    manager, made = secured
    ada, bob, root = (manager.client(made[name]) for name in ("ada", "bob", "root"))
    with running(manager.client(made["n1"]), "n1", devices=1):
        refusal = refused("not-yours", ada, "PUT", "/v1/leases/p-high", {"priority": "high"})
        assert "(certificate ada has neither the role admin nor batch)" in refusal.message
        refused("unknown", ada, "GET", "/v1/leases/p-high")
        ada.ask("PUT", "/v1/leases/p-held", {"priority": "idle"})
        for client, lease, priority in (
            (ada, "p-ada", "normal"), (bob, "c.p.1", "high"), (root, "p-root", "high"),
        ):  # fmt: skip
            whom = {"for_user": "ada"} if client is bob else {}
            client.ask("PUT", f"/v1/leases/{lease}", {"priority": priority, **whom})
        queue = root.ask("GET", "/v1/queue")["requests"]
        assert sorted(row["lease"] for row in queue[:2]) == ["c.p.1", "p-root"]
        assert queue[2]["lease"] == "p-ada"
        # Others learn no more than the request, since the reason may tell who it is.
        reasons = [row["reason"] for row in bob.ask("GET", "/v1/queue")["requests"]]
        assert reasons == ["waits for 1 of any kind"] * 3
        for client, lease in ((ada, "p-held"), (ada, "p-ada"), (bob, "c.p.1"), (root, "p-root")):
            client.ask("DELETE", f"/v1/leases/{lease}")


def test_growing_gets_no_priority_that_the_client_may_not_ask_for(
    secured: tuple[Manager, dict[str, Path]],
) -> None:
    manager, made = secured
    ada, bob, root = (manager.client(made[name]) for name in ("ada", "bob", "root"))
    with running(manager.client(made["n1"]), "n1", devices=3):
        body = {"priority": "high", "for_user": "ada", "wait_s": 20}
        assert bob.ask("PUT", "/v1/leases/c.g.1", body, None, 20)["state"] == "held"
        root.ask("PUT", "/v1/leases/g-others", {"count": 2, "wait_s": 20}, None, 20)
        ada.ask("POST", "/v1/leases/c.g.1/handles", {"part": "ada"})  # her job asks
        bob.ask("POST", "/v1/leases/c.g.1/handles", {"part": "batch"})
        queue = root.ask("GET", "/v1/queue")["requests"]
        assert [row["priority"] for row in queue] == ["high", "normal"]
        for client, lease in ((bob, "c.g.1"), (root, "g-others")):
            client.ask("DELETE", f"/v1/leases/{lease}")


def test_tls_refuses_strangers(secured: tuple[Manager, dict[str, Path]], tmp_path: Path) -> None:
    manager, made = secured
    strangers = make_keys(tmp_path)
    for key in (strangers["ada"], made["old"]):
        with pytest.raises(UnreachableError):
            manager.client(key).ask("GET", "/healthz")
    # Without a certificate, and with an old version of TLS.
    for more in ([], ["--tls-max", "1.2"]):
        words = ["curl", "-sk", *more, f"{manager.url}/healthz"]
        assert subprocess.run(words, check=False, capture_output=True).stdout == b""


def test_no_connection_takes_up_the_proof_of_another(
    secured: tuple[Manager, dict[str, Path]],
) -> None:
    """A certificate that is revoked meanwhile would stay good for it."""
    manager, made = secured
    context = client_tls(made["ada"])
    place = (urlsplit(manager.url).hostname, urlsplit(manager.url).port)
    with (
        socket.create_connection(place, timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=MANAGER_NAME) as secure,
    ):
        secure.sendall(b"GET /healthz HTTP/1.1\r\nhost: m\r\nconnection: close\r\n\r\n")
        answer = b""
        while piece := secure.recv(4096):  # tickets come before the answer
            answer += piece
        assert answer.startswith(b"HTTP/1.1 200")
        assert secure.session is not None and not secure.session.has_ticket


def test_a_daemon_cannot_pose_as_the_manager(tmp_path: Path) -> None:
    made = make_keys(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made["n1"] / "daemon.pem", made["n1"] / "daemon.key")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                context.wrap_socket(connection, server_side=True).recv(1)

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(UnreachableError, match=r"(?i)hostname|certificate"):
            PoolClient(url, made["ada"]).ask("GET", "/healthz")
        thread.join(10)


def test_a_commit_right_after_an_event_is_told_without_another_one() -> None:
    class Commits:
        rev = 1

        async def wait_any(self, seconds: float) -> None:
            raise AssertionError("it waits for news although there are some")

    commits = Commits()
    manager: Any = SimpleNamespace(stopping=False, waits=commits)
    request: Any = SimpleNamespace(gone=False)

    async def story() -> list[bytes]:
        stream = (await reading.events(manager, request)).stream
        assert stream is not None
        told = [await anext(stream), await anext(stream)]
        commits.rev = 2
        return [*told, await anext(stream)]

    told = asyncio.run(story())
    assert [b"id: 1" in text for text in told] == [False, True, False]
    assert b"id: 2" in told[2]


def test_devices_tell_their_use_until_the_daemon_is_gone(client: PoolClient) -> None:
    def use() -> tuple[Any, ...]:
        row = client.ask("GET", "/v1/devices/u1%2F0")
        return row["memory_used_bytes"], row["sessions"], row["busy_sessions"]

    daemon = FakeDaemon(client, "u1")
    told = client.ask("PUT", daemon.path, {
        "instance": "i", "wire": [7],
        "devices": [{"id": "u1/0", "kind": "gpu", "model": "m", "memory_bytes": 1 << 30}],
    })  # fmt: skip
    assert use() == (None, None, None)
    sessions = [{"epoch": 1, "busy": busy} for busy in (True, False, True)]
    report = {"id": "u1/0", "floor": 1, "sessions": sessions, "memory_used_bytes": 12345}
    body = {"instance": "i", "seq": 1, "rev": told["rev"], "devices": [report]}
    client.ask("POST", f"{daemon.path}/heartbeat", body)
    assert use() == (12345, 3, 2)
    client.ask("DELETE", daemon.path, query={"instance": "i"})
    assert use() == (None, None, None)


def test_the_end_of_a_manager_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Each answer that waits finds out that this manager may not answer."""
    options = server.Options((), None, None, Settings(), "1")
    process = server._Process(options, None, None, tokens.Signer(None), "p", None)

    async def fail() -> int:
        process._stopped = asyncio.get_running_loop().create_future()
        for error in (DeposedError("another one leads"), StoreError("later"), ValueError("later")):
            process._fail(error)
        return await process._stopped

    assert asyncio.run(fail()) == server.PLACE_LOST
    assert [record.getMessage() for record in caplog.records] == [
        "the manager stops: its state cannot be kept: another one leads"
    ]
