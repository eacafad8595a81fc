"""Attacks on sessions of leases that must fail: real managers, daemons and programs."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from pool_daemon import DENIED, FENCED, UNAVAILABLE, connect, hello, until
from raw_session import FAILED, RECEIVED, RawSession, join_peer
from test_pool_enforced import Pool, make_pool

from outboard import paths
from outboard.doctor import wire

pytestmark = pytest.mark.end_to_end

INVALID_ARGUMENT, PROTOCOL_ERROR = 1, 7
# Two devices, on which a product of order 400 takes 1.3 s.
SLOW = ("--devices", "2", "--backend", "null", "--device-rate", "0.1GF")
ORDER = 400
BYTES = 2 * 8 * ORDER * ORDER


@pytest.fixture
def pool(tmp_path: Path, native: paths.Native) -> Iterator[Pool]:
    made = make_pool("tcp", tmp_path, native)
    yield made
    made.stop()


@pytest.fixture
def slow_pool(tmp_path: Path, native: paths.Native) -> Iterator[Pool]:
    made = make_pool("tcp", tmp_path, native, *SLOW)
    made.daemon.wait_until_free(made.client, 1)
    yield made
    made.stop()


def token_of(pool: Pool, lease: str) -> str:
    return str(pool.hold(lease)["handles"][0]["token"])


def with_claims(token: str, **claims: int) -> str:
    """Returns the token with other claims, and with its signature as it was."""
    header, body, signature = token.split(".")
    told = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    raw = json.dumps({**told, **claims}, separators=(",", ":")).encode()
    return f"{header}.{base64.urlsafe_b64encode(raw).rstrip(b'=').decode()}.{signature}"


def test_bad_tokens_do_not_disturb_a_session(
    pool: Pool, tmp_path: Path, native: paths.Native
) -> None:
    """Among them are those that would end the session, if they were good."""
    address, lease = pool.daemon.address, pool.hold("x")["handles"][0]
    higher = lease["epoch"] + 1
    token = lease["token"]
    wrong = [
        with_claims(token, epo=higher, flo=higher), with_claims(token, flo=higher),
        token[:-8] + "AAAAAAAA", token[:-1], token + "A", f"{token}.{token}"[:1024], "x" * 1024,
    ]  # fmt: skip
    worker = pool.worker(native, tmp_path / "w", "x")
    worker.expect_remote()
    local = worker.counted("local_calls")
    codes: Counter[int] = Counter()
    lock = threading.Lock()

    def attack() -> None:
        mine = Counter(hello(address, wrong[n % len(wrong)])[0] for n in range(50 * len(wrong)))
        with lock:
            codes.update(mine)

    threads = [threading.Thread(target=attack) for _ in range(4)]
    for thread in threads:
        thread.start()
    worker.expect_remote()
    for thread in threads:
        thread.join()
    worker.expect_remote()
    assert codes == {DENIED: 4 * 50 * len(wrong)}
    assert (worker.counted("local_calls"), worker.counted("fell_back")) == (local, 0)
    assert hello(address, token) == (0, "")
    worker.finish()


def test_tokens_that_are_too_long(pool: Pool) -> None:
    """A message of more than 4 KiB is none, so that the daemon does not even read it."""
    address, token = pool.daemon.address, token_of(pool, "x")
    with RawSession(address, token) as mine:
        for length in (1025, 2000, 4000, 5000, 1 << 20):
            said = b""
            with contextlib.suppress(ConnectionError), connect(address, "x" * length) as peer:
                while part := peer.recv(4096):  # until it closes
                    said += part
            if length < 4096:
                assert (said[0], said[wire.HEADER.size]) == (FAILED, PROTOCOL_ERROR)
                assert b"identity cannot be read" in said
            else:
                assert said == b""
            assert mine.synchronize() == 0
            assert hello(address, token) == (0, "")


def test_a_fenced_session_cannot_be_joined(slow_pool: Pool) -> None:
    """Neither while its last command still runs, nor later. Who had joined it is out."""
    address, token = slow_pool.daemon.address, token_of(slow_pool, "x")
    with (
        RawSession(address, token) as mine,
        RawSession(address, "", join=mine.token, queue=2) as other,
    ):
        assert other.token == mine.token
        assert (mine.synchronize(), other.synchronize()) == (0, 0)
        order = 700  # for 6.9 s
        mine.allocate(1, 2 * 8 * order * order)
        mine.multiply(1, order)
        slow_pool.holder.ask("DELETE", "/v1/leases/x")
        code, why = until(
            lambda: (got := hello(address, "", join=mine.token))[0] and got, "the end"
        )
        assert (code, "lease of this session is over" in why) == (FENCED, True)
        assert hello(address, token, join=mine.token)[0] == FENCED  # the lease's token is no help
        other.wait_until_closed()
        mine.wait_until_closed()
        slow_pool.daemon.wait_until_free(slow_pool.client)
        slow_pool.daemon.wait_until_free(slow_pool.client, 1)
        fresh = token_of(slow_pool, "y")
        for said in ("", token, fresh):
            assert hello(address, said, join=mine.token)[0] == DENIED


def test_another_user_joins_no_session(tmp_path: Path, native: paths.Native) -> None:
    """Not even with a lease and with the session's token, which is secret."""
    pool = make_pool("keys", tmp_path, native, "--devices", "2")
    pool.daemon.wait_until_free(pool.client, 1)
    address, ada, bob = pool.daemon.address, tmp_path / "keys" / "ada", tmp_path / "keys" / "bob"
    of_ada = token_of(pool, "a")
    body = {"ttl_s": 60, "wait_s": 20}
    lease = pool.manager.client(bob).ask("PUT", "/v1/leases/b", body, wait_s=20)
    of_bob = lease["handles"][0]["token"]
    assert hello(address, of_bob, key=bob) == (0, "")
    with RawSession(address, of_ada, key=ada) as session:
        for said in (of_bob, of_ada, ""):
            assert hello(address, said, join=session.token, key=bob)[0] == DENIED
        assert hello(address, "", join=session.token, key=ada) == (0, "")
        assert session.synchronize() == 0
    pool.stop()


def test_a_token_of_another_lease_joins_no_session(slow_pool: Pool) -> None:
    address = slow_pool.daemon.address
    mine, other = (token_of(slow_pool, lease) for lease in ("a", "b"))
    with RawSession(address, mine) as session:
        code, why = hello(address, other, join=session.token)
        assert (code, "not of the lease in the token" in why) == (DENIED, True)
        assert hello(address, mine, join=session.token) == (0, "")
        assert session.synchronize() == 0


def test_a_fenced_session_gets_no_message_while_its_command_runs(slow_pool: Pool) -> None:
    address, token = slow_pool.daemon.address, token_of(slow_pool, "b")
    order = 700  # for 6.9 s
    with RawSession(address, token) as session:
        key = session.open_mailbox()
        assert join_peer(address, key) == 0
        session.allocate(1, 2 * 8 * order * order)
        session.multiply(1, order)
        slow_pool.holder.ask("DELETE", "/v1/leases/b")
        until(lambda: join_peer(address, key) != 0, "its mailbox is closed")
        rows = slow_pool.client.pages("/v1/devices", "devices")
        assert any(row["allocation"] == "fencing" for row in rows)  # it still runs
        session.wait_until_closed()


def test_no_message_comes_to_a_fenced_session(slow_pool: Pool) -> None:
    address = slow_pool.daemon.address
    sender, receiver = (token_of(slow_pool, lease) for lease in ("a", "b"))
    with RawSession(address, sender) as here, RawSession(address, receiver) as there:
        key = there.open_mailbox()
        for one in (here, there):
            one.allocate(1, 64)
        assert here.connect_peer(1, key, address) == 0
        assert join_peer(address, key) == 0
        there.receive(1, 1)
        here.send(1, 1, 1)
        assert there.answer(RECEIVED)[0] == 0
        there.receive(2, 1)  # it waits for a message when the lease ends
        assert there.synchronize() == 0
        slow_pool.holder.ask("DELETE", "/v1/leases/b")
        there.wait_until_closed()
        slow_pool.daemon.wait_until_free(slow_pool.client, int(device_of(slow_pool, "a") == "n1/0"))
        assert join_peer(address, key) == INVALID_ARGUMENT
        assert here.connect_peer(2, key, address) == INVALID_ARGUMENT
        numbers = count(2)

        def refusal() -> int:
            here.send(1, next(numbers), 1)
            return here.synchronize()

        # A link that is lost is known from the next message on.
        assert until(refusal, "the sender learns that nobody is there") == UNAVAILABLE
        assert hello(address, sender)[0] == 0  # the sender's lease is as it was


def device_of(pool: Pool, lease: str) -> str:
    return str(pool.holder.ask("GET", f"/v1/leases/{lease}")["handles"][0]["device"])
