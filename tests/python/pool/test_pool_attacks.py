"""Attacks on the manager that must fail, and after each the manager still answers."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pool_daemon import until
from pool_server import EVERYBODY, Manager, make_keys, running

from outboard.pool.client import PoolClient, PoolError


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    made = Manager(tmp_path_factory.mktemp("m"), EVERYBODY)
    yield made
    made.client().ask("GET", "/readyz")
    log = (made.folder / "log").read_text()
    assert made.stop() == 0
    assert "Traceback" not in log
    assert "a request failed" not in log


@pytest.fixture
def client(manager: Manager) -> PoolClient:
    return manager.client()


def talk(manager: Manager, data: bytes, seconds: float = 5) -> bytes:
    """Sends bytes, and returns what comes until the manager closes."""
    with socket.create_connection(("127.0.0.1", manager.port), seconds) as peer:
        answer = b""
        with contextlib.suppress(OSError):
            peer.sendall(data)
            while part := peer.recv(65536):
                answer += part
    return answer


def head(method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/leases/..%2F..%2Fetc%2Fpasswd", "/v1/leases/x'%3B%20drop%20table%20lease%3B--",
        "/v1/leases/%00", "/v1/leases/a%0Ab", "/v1/leases/abc%0A", "/v1/leases/" + "x" * 65,
        "/v1/leases/%F0%9F%98%80", "/v1/leases/", "/v1/leases/%2e%2e%2f",
    ],
)  # fmt: skip
def test_ids_are_checked(client: PoolClient, path: str) -> None:
    for method in ("PUT", "GET", "DELETE"):
        status, _ = client.raw(method, path, {} if method == "PUT" else None)
        assert status in (404, 405, 422), path
    status, _ = client.raw("GET", "/v1/devices/" + path.rpartition("/")[2])
    assert status in (200, 404, 422)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"count":0}', b'{"count":-1}',
        b'{"count":1e99}', b'{"count":1.5}', b'{"count":"1"}', b'{"share":1001}',
        b'{"ttl_s":-1}', b'{"ttl_s":1e400}', b'{"until_ms":99999999999999999999}',
        b'{"near":{"machine":"x","bytes":0}}', b'{"wait_s":31}', b'{"priority":"root"}',
        b'{"a":' * 20_000, b"[" * 100_000, b'{"class":{"labels":{"a":1}}}',
    ],
)  # fmt: skip
def test_bodies_are_checked(manager: Manager, body: bytes) -> None:
    length = f"content-length: {len(body)}"
    answer = talk(manager, head("PUT", "/v1/leases/b", length, "connection: close") + body)
    status = int(answer.split()[1])
    assert status in (400, 409, 422), answer
    problem = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert problem["type"].startswith("urn:outboard:problem:")
    assert problem["status"] == status


def test_a_body_of_a_gibibyte_is_refused(manager: Manager, client: PoolClient) -> None:
    answer = talk(manager, head("PUT", "/v1/leases/b", f"content-length: {1 << 30}"))
    assert answer.startswith(b"HTTP/1.1 413")
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    sent = head("PUT", "/v1/leases/b", "transfer-encoding: chunked") + chunk * 400
    answer = talk(manager, sent)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 413")  # reset while we still send
    client.ask("GET", "/readyz")


def test_endless_headers_are_refused(manager: Manager, client: PoolClient) -> None:
    answer = talk(manager, head("GET", "/healthz", *(f"x{n}: {'y' * 1000}" for n in range(100))))
    assert not answer.startswith(b"HTTP/1.1 200")
    assert not talk(manager, head("GET", "/" + "x" * 100_000)).startswith(b"HTTP/1.1 200")
    client.ask("GET", "/readyz")


def test_slow_requests_are_cut_off(manager: Manager, client: PoolClient) -> None:
    """Slow loris: 200 connections that send a byte now and then, or nothing."""
    peers = [socket.create_connection(("127.0.0.1", manager.port), 5) for _ in range(200)]
    for peer in peers[:150]:
        peer.sendall(b"GET /heal")
    for peer in peers[150:170]:
        peer.sendall(head("PUT", "/v1/leases/slow", "content-length: 50") + b'{"co')
    begin = time.monotonic()
    while time.monotonic() - begin < 8:
        for peer in peers[:100]:
            with contextlib.suppress(ConnectionError):  # it is cut off
                peer.sendall(b"t")
        client.ask("GET", "/readyz")
        time.sleep(1)
    for peer in peers:
        peer.settimeout(10)
        with contextlib.suppress(ConnectionError):
            assert peer.recv(1000) == b""
        peer.close()


def ask_often(manager: Manager, request: bytes, count: int) -> Counter[bytes]:
    """Sends a request so often, without a pause. Returns how often each status came."""
    with (
        socket.create_connection(("127.0.0.1", manager.port), 60) as peer,
        peer.makefile("rb") as stream,
    ):
        sending = threading.Thread(target=peer.sendall, args=(request * count,))
        sending.start()
        statuses: Counter[bytes] = Counter()
        while statuses.total() < count:
            statuses[stream.readline().split()[1]] += 1
            length = 0
            while field := stream.readline().strip().lower():
                if field.startswith(b"content-length:"):
                    length = int(field.partition(b":")[2])
            stream.read(length)
        sending.join()
    return statuses


def serve_another(manager: Manager, flood: Future[Any]) -> None:
    """Lets another user get the device of q2, and wait for it, as long as the flood goes on."""
    other = manager.local()
    body = {"class": {"labels": {"of": "another"}}, "ttl_s": 60, "wait_s": 20}
    turns = 0
    while not flood.done() or turns == 0:
        turns += 1
        first, second = f"first-{turns}", f"second-{turns}"
        assert other.ask("PUT", f"/v1/leases/{first}", body, wait_s=20)["state"] == "held"
        assert other.ask("PUT", f"/v1/leases/{second}", {**body, "wait_s": 0})["state"] == "queued"
        with ThreadPoolExecutor(1) as pool:
            wait = pool.submit(other.ask, "GET", f"/v1/leases/{second}", None, {"wait_s": 20}, 20)
            other.ask("DELETE", f"/v1/leases/{first}")
            assert wait.result()["state"] == "held"
        other.ask("DELETE", f"/v1/leases/{second}")
        time.sleep(0.3)  # it is no flood itself


@contextlib.contextmanager
def all_polls_taken(manager: Manager, client: PoolClient) -> Iterator[PoolError]:
    """The client waits for the lease q-waits so often as it may. Yields the refusal of one more."""
    mine = {"of": "mine"}
    with running(client, "q1", labels=mine):
        wish = {"ttl_s": 600, "class": {"labels": mine}}
        client.ask("PUT", "/v1/leases/q-held", wish)
        client.ask("PUT", "/v1/leases/q-waits", wish)
        peers = []
        request = head("GET", "/v1/leases/q-waits?wait_s=30")

        def wait_as_well() -> None:
            peer = socket.create_connection(("127.0.0.1", manager.port), 10)
            peer.sendall(request)
            peers.append(peer)

        for _ in range(300):
            wait_as_well()

        def refusal() -> PoolError | None:
            try:
                client.ask("GET", "/v1/leases/q-waits", query={"wait_s": 1}, wait_s=1)
            except PoolError as error:
                return error
            wait_as_well()  # this request had a place that one of the others did not get
            return None

        yield until(refusal, "all requests that wait are counted", 20)
        for peer in peers:
            peer.close()


def test_a_user_cannot_hold_all_polls(manager: Manager, client: PoolClient) -> None:
    with all_polls_taken(manager, client) as refused:
        assert (refused.status, refused.name) == (429, "too-many-waiting")
        client.ask("GET", "/readyz")
        client.ask("DELETE", "/v1/leases/q-held")
        client.ask("DELETE", "/v1/leases/q-waits")


@pytest.mark.slow
def test_others_are_served_beside_a_flood_of_polls(tmp_path: Path) -> None:
    manager = Manager(tmp_path / "m", EVERYBODY)
    client = manager.client()
    with (
        running(client, "q2", labels={"of": "another"}),
        all_polls_taken(manager, client),
        ThreadPoolExecutor(1) as pool,
    ):
        often = head("GET", "/v1/leases/q-waits?wait_s=0.01")
        flood = pool.submit(ask_often, manager, often, 10_000)
        serve_another(manager, flood)
        # On a slow machine, the first requests end, and others get their places.
        statuses = flood.result()
        assert statuses[b"429"] + statuses[b"202"] == 10_000
        assert statuses[b"429"] > 0
    assert manager.stop() == 0


def test_web_pages_cannot_use_a_browser_here(manager: Manager) -> None:
    origin = head("DELETE", "/v1/leases/x", "origin: https://evil.example", "connection: close")
    assert talk(manager, origin).startswith(b"HTTP/1.1 403")
    rebound = b"GET /v1/leases HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
    assert talk(manager, rebound).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("form", ["text", "json"])
def test_names_do_not_reach_the_log_as_they_are(tmp_path: Path, form: str) -> None:
    options = ("--log", form, "--log-level", "debug")
    manager = Manager(tmp_path / "m", EVERYBODY, None, *options)
    nasty = "%0Alevel=root%1B%5B31m%00%7F%C2%9B%E2%80%AE"
    for path in (
        "/v1/devices/" + nasty + "x" * 300,
        f"/v1/usage?by={nasty}",  # the answer tells it again, without the percent signs
    ):
        answer = talk(manager, head("GET", path, "connection: close"))
        assert answer.startswith(b"HTTP/1.1 422"), path
    assert manager.stop() == 0
    log = (manager.folder / "log").read_bytes().decode()
    assert ("/v1/devices/" + nasty + "x" * 300)[:200] + "..." in log
    assert "'?level=root?[31m????' is no way to sum" in log
    assert [c for c in log if not c.isprintable() and c != "\n"] == []
    assert re.search(r"^level=", log, re.MULTILINE) is None  # no line that a stranger began
    if form == "json":
        texts = [str(text) for line in log.splitlines() for text in json.loads(line).values()]
        assert all(text.isprintable() for text in texts)


def test_rubbish_on_the_socket(manager: Manager, client: PoolClient) -> None:
    for data in (
        b"\x00" * 100,
        b"\x16\x03\x01" + b"x" * 500,
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\n",
    ):
        talk(manager, data, 1)
    client.ask("GET", "/readyz")


def test_many_clients_that_leave_in_the_middle(manager: Manager, client: PoolClient) -> None:
    def leave(number: int) -> None:
        for turn in range(20):
            with socket.create_connection(("127.0.0.1", manager.port), 10) as peer:
                body = b'{"count":1,"wait_s":5}'
                length = f"content-length: {len(body)}"
                data = head("PUT", f"/v1/leases/l{number}-{turn}", length) + body
                peer.sendall(data[: len(data) - turn % 3])

    threads = [threading.Thread(target=leave, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.ask("GET", "/readyz")


def test_another_user_of_the_machine_has_no_rights(tmp_path: Path) -> None:
    """Over loopback TCP nobody is an administrator unless pool.toml says so."""
    manager = Manager(tmp_path / "m")
    try:
        client = manager.client()
        requests: list[tuple[str, str, Any]] = [
            ("PUT", "/v1/bans/x", {}), ("GET", "/v1/backup", None), ("PUT", "/v1/leases/a.b", {}),
            ("PATCH", "/v1/devices/d", {"clear": True}),
        ]  # fmt: skip
        for method, path, body in requests:
            with pytest.raises(PoolError) as refusal:
                client.ask(method, path, body)
            assert refusal.value.status == 403
        manager.local().ask("PUT", "/v1/bans/x", {})  # the Unix socket proves who asks
        assert manager.local().raw("GET", "/v1/backup")[1].startswith(b"SQLite format 3")
    finally:
        assert manager.stop() == 0


@pytest.mark.parametrize("file", ["pool.db", "state"])
def test_files_that_others_may_read_stop_the_start(tmp_path: Path, file: str) -> None:
    manager = Manager(tmp_path / "m")
    manager.stop()
    state = tmp_path / "m" / "state"
    (state if file == "state" else state / file).chmod(0o755)
    with pytest.raises(IndexError):
        manager.start()
    assert manager.process.wait(10) == 1


def test_an_id_of_somebody_else_answers_as_one_of_nobody(tmp_path: Path) -> None:
    made = make_keys(tmp_path / "keys")
    manager = Manager(tmp_path / "m", "", made["m1"])
    ada, bob = (manager.client(made[name]) for name in ("ada", "bob"))
    with running(manager.client(made["n1"]), "n1"):
        ada.ask("PUT", "/v1/leases/aaaa", {})
        ada.ask("PUT", "/v1/leases/over", {"wait_s": 0})
        ada.ask("DELETE", "/v1/leases/over")
        requests: list[tuple[str, str, Any]] = [
            ("GET", "/v1/leases/ID", None), ("GET", "/v1/leases/ID?wait_s=20", None),
            ("GET", "/v1/leases/ID?rank=0&per_rank=1", None), ("DELETE", "/v1/leases/ID", None),
            ("DELETE", "/v1/leases/ID?early=0", None), ("POST", "/v1/renew", {"ids": ["ID"]}),
            ("POST", "/v1/leases/ID/handles", {"part": "p", "wait_s": 20}),
            ("DELETE", "/v1/leases/ID/handles/n1%2F0", None),
        ]  # fmt: skip
        for method, path, body in requests:
            told = [anonymous(bob, method, path, body, lease) for lease in ("aaaa", "over", "nono")]
            assert told[0] == told[1] == told[2], path
            assert told[0][0] == (200 if path == "/v1/renew" else 404)
        assert ada.ask("GET", "/v1/leases/aaaa")["state"] == "held"
    assert manager.stop() == 0


def anonymous(
    client: PoolClient, method: str, path: str, body: Any, lease: str
) -> tuple[int, bytes]:
    """Returns the answer about a lease, without its id and without the time."""
    named = json.loads(json.dumps(body).replace("ID", lease))
    status, raw = client.raw(method, path.replace("ID", lease), named)
    return status, re.sub(rb'"now_ms":\d+', b"", raw).replace(lease.encode(), b"ID")


def test_a_quota_has_no_way_around(tmp_path: Path) -> None:
    """Neither many ids, nor more devices for a lease, a part of a device, a group, a batch job or
    another spelling of the name give more devices than the two of the quota."""
    made = make_keys(tmp_path / "keys")
    toml = (
        '[roles]\nadmin = ["root"]\nbatch = ["root"]\n'
        '[users]\nada_unix = "ada"\n[groups]\nchem = ["ada"]\n'
    )
    manager = Manager(tmp_path / "m", toml, made["m1"])
    ada, bob, root = (manager.client(made[name]) for name in ("ada", "bob", "root"))
    with running(manager.client(made["n1"]), "n1", devices=5):
        root.ask("PUT", "/v1/quotas/user:ada", {"devices": 2})
        for name in ("one", "two"):
            assert ada.ask("PUT", f"/v1/leases/{name}", {})["state"] == "held"
        batch = [{"for_user": user} for user in ("ada", "certificate ada", "ada_unix")]
        wishes = [{}, {"exclusive": False, "share": 1, "memory_bytes": 1}, {"group": "chem"}]
        ids = [f"more-{n}" for n in range(3)] + [f"job.{n}" for n in range(3)]
        for name, wish in zip(ids, wishes + batch, strict=True):
            lease = (root if "." in name else ada).ask("PUT", f"/v1/leases/{name}", wish)
            assert (lease["state"], lease["holder"]) == ("queued", "certificate ada"), wish
        grown = ada.ask("POST", "/v1/leases/one/handles", {"part": "p"})
        assert len(grown["handles"]) == 1
        grow = {"part": "q", "count": 2}
        for method, path, wish, name in (
            ("POST", "/v1/leases/one/handles", grow, "can-never-fit"),
            ("PUT", "/v1/leases/three", {"count": 3}, "can-never-fit"),
            ("PUT", "/v1/leases/other", {"for_user": "bob"}, "not-yours"),
            ("PUT", "/v1/quotas/user:ada", {"devices": 9}, "not-yours"),
        ):
            with pytest.raises(PoolError) as refusal:
                ada.ask(method, path, wish)
            assert refusal.value.name == name
        assert bob.ask("PUT", "/v1/leases/bobs", {})["state"] == "held"  # devices are free
        assert held_by(root, "certificate ada") == 2
        ada.ask("DELETE", "/v1/leases/two")
        until(lambda: held_by(root, "certificate ada") == 2, "the next one has its device")
    assert manager.stop() == 0


def held_by(client: PoolClient, holder: str) -> int:
    rows = client.pages("/v1/devices", "devices")
    return sum(row["holders"].count(holder) for row in rows)
