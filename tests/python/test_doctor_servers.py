"""Tests `outboard doctor` with a real daemon, and with servers that are unusable in each way."""

import contextlib
import os
import random
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from outboard import counters, keys, paths
from outboard.doctor import product, servers, wire
from outboard.doctor.finding import Finding, Level

Behaviour = Callable[[socket.socket], None]
Answers = Callable[[Behaviour], str]
DENIED = 5


@pytest.fixture
def answers() -> Iterator[Answers]:
    """Starts a server on a loopback port that answers each connection with a behaviour."""
    with contextlib.ExitStack() as stack:

        def start(behaviour: Behaviour) -> str:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            stack.callback(server.shutdown, socket.SHUT_RDWR)

            def serve() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        peer, _ = server.accept()
                        with peer, contextlib.suppress(OSError, ssl.SSLError):
                            behaviour(peer)

            threading.Thread(target=serve, daemon=True).start()
            return f"127.0.0.1:{server.getsockname()[1]}"

        yield start


@pytest.fixture(scope="module")
def daemon(
    native: paths.Native, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """Yields a daemon's TCP address and that of its socket."""
    folder = tmp_path_factory.mktemp("daemon")
    command = [native.daemon, "--listen", "127.0.0.1:0", "--listen", f"unix:{folder}/s"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--exit-with-parent"], stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert process.stdout is not None
    lines = [process.stdout.readline().removeprefix("listening on ").strip() for _ in range(2)]
    yield lines[0], lines[1]
    process.terminate()
    process.wait(30)
    process.stdout.close()


def the_problem(found: list[Finding]) -> Finding:
    """Returns the only finding, which must be a problem with an advice."""
    (one,) = found
    assert one.level is Level.PROBLEM
    assert one.advice
    return one


def send(peer: socket.socket, opcode: int, body: bytes) -> None:
    peer.sendall(struct.pack("<HHIQQQ", opcode, 0, len(body), 0, 0, 0) + body)


def read_hello(peer: socket.socket) -> bytes:
    """Returns the body of a hello; nothing if another message comes."""
    head = peer.recv(32, socket.MSG_WAITALL)
    if head[:2] != b"\1\0":
        return b""
    return peer.recv(struct.unpack_from("<I", head, 4)[0], socket.MSG_WAITALL)


def refusal(code: int, version: int, text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<BBHI", code, 0, version, len(raw)) + raw + bytes(-len(raw) % 8)


# --- a real daemon -------------------------------------------------------------------------------


def test_a_daemon(daemon: tuple[str, str]) -> None:
    greeting, speed = servers.check(daemon[0], None)
    assert (greeting.level, speed.check) == (Level.OK, daemon[0])
    assert greeting.text.startswith(f"version {wire.VERSION}; device 0 of 1: cpu, ")
    assert "GFLOP/s" in greeting.text
    assert "round trip" in speed.text
    assert "GB/s" in speed.text


def test_bytes_come_back_as_they_were(daemon: tuple[str, str]) -> None:
    seed = int(os.environ.get("OUTBOARD_TEST_SEED") or random.randrange(1 << 32))
    print(f"seed: OUTBOARD_TEST_SEED={seed}")
    data = random.Random(seed).randbytes(3_000_001)
    host, port = daemon[0].split(":")
    with socket.create_connection((host, int(port)), 20) as peer:
        session = wire.Session(peer)
        session.make_buffer(len(data))
        assert session.write(data) > 0
        assert session.read(len(data))[0] == data
        assert session.ping() > 0
        with pytest.raises(wire.CommandError, match="buffer"):
            session.write(data + b"more than there is room for")


def test_a_socket(daemon: tuple[str, str]) -> None:
    (found,) = servers.check(daemon[1], None)
    assert found.level is Level.OK
    assert "shared memory" in found.text


@pytest.mark.end_to_end
@pytest.mark.parametrize("which", [0, 1])
def test_a_product(daemon: tuple[str, str], native: paths.Native, which: int) -> None:
    environment = {**os.environ, "OUTBOARD_ROUTINES": "-dgemm", "OUTBOARD_MODE": "off"}
    found = product.check(daemon[which], native, None, environment)
    assert found.level is Level.OK, found.text


@pytest.mark.end_to_end
def test_a_product_that_stays_local(native: paths.Native, tmp_path: Path) -> None:
    found = product.check(f"unix:{tmp_path}/none", native, None, dict(os.environ))
    assert found.level is Level.PROBLEM
    assert f"stayed local: cannot connect to unix:{tmp_path}/none" in found.text


def test_a_product_that_is_wrong() -> None:
    process = counters.Process(1, 1, "p", "a:1", "remote", "why", [counters.Routine("dgemm", 1, 1)])
    assert product.judge("a:1", 0, [process]).level is Level.OK
    assert "wrong result" in product.judge("a:1", 4, [process]).text
    assert "status -11" in product.judge("a:1", -11, [process]).text
    process.routines[0].remote = 0
    assert product.judge("a:1", 0, [process]).text.endswith("stayed local: why")


# --- nobody there --------------------------------------------------------------------------------


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as holder:
        # the port is bound and does not listen, so no other process can take it
        holder.bind(("127.0.0.1", 0))
        found = the_problem(servers.check(f"127.0.0.1:{holder.getsockname()[1]}", None))
    assert "nobody listens" in found.text
    assert "no such socket" in the_problem(servers.check(f"unix:{tmp_path}/none", None)).text
    (tmp_path / "file").touch()
    assert "is no socket" in the_problem(servers.check(f"unix:{tmp_path}/file", None)).text
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left:
        left.bind(str(tmp_path / "left"))
        assert "nobody listens" in the_problem(servers.check(f"unix:{tmp_path}/left", None)).text


def test_an_unknown_name() -> None:
    found = the_problem(servers.check("no-such-host.invalid:7770", None))
    assert "the name no-such-host.invalid is unknown" in found.text


# --- strangers -----------------------------------------------------------------------------------


def test_a_silent_server(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outboard.doctor.link.CONNECT_S", 0.3)
    address = answers(lambda peer: [None for _ in iter(lambda: peer.recv(4096), b"")] and None)
    assert "said nothing" in the_problem(servers.check(address, None)).text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\nX: y\r\n\r\nno\n", "HTTP/1.1 400"),
        (bytes(4096), "no message of Outboard"),
        (b"", "the connection was closed"),
        (struct.pack("<HHIQQQ", 64, 0, 0xFFFFFFF8, 0, 0, 1 << 62), "no message of Outboard"),
        (struct.pack("<HHIQQQ", 64, 0, 96, 0, 0, 0) + b"\1\2", "the connection was closed"),
        (struct.pack("<HHIQQQ", 64, 0, 8, 0, 0, 0) + bytes(8), "without Outboard's mark"),
        (struct.pack("<HHIQQQ", 68, 0, 8, 0, 0, 0) + bytes(8), "message 68"),
    ],
)
def test_other_servers(answers: Answers, answer: bytes, text: str) -> None:
    def behave(peer: socket.socket) -> None:
        read_hello(peer)
        peer.sendall(answer)

    found = the_problem(servers.check(answers(behave), None))
    assert "is no Outboard daemon" in found.text
    assert text in found.text


def test_hello_is_the_one_of_the_specification(answers: Answers) -> None:
    """Compares the hello with docs/wire.md, section 4.1, decoded by hand."""
    bodies = []

    def behave(peer: socket.socket) -> None:
        bodies.append(read_hello(peer))

    servers.check(answers(behave), None)
    body = bodies[0]  # later ones ask whether the daemon wants a key
    magic, version, _, reserved, join, device, length = struct.unpack_from("<IHBB16sII", body)
    assert (magic, version, reserved, join) == (0x0B0A4D01, 7, 0, bytes(16))
    assert device == 0xFFFFFFFF
    assert body[32 : 32 + length].decode() == f"outboard doctor {os.getpid()}"
    assert len(body) % 8 == 0
    assert body[32 + length :] == bytes(len(body) - 32 - length)


def test_another_version(answers: Answers) -> None:
    def refuses(peer: socket.socket) -> None:
        read_hello(peer)
        send(peer, 65, refusal(6, 8, "this daemon speaks version 8"))

    def welcomes(peer: socket.socket) -> None:
        read_hello(peer)
        send(peer, 64, struct.pack("<IHBB", 0x0B0A4D01, 8, 0, 0) + bytes(88))

    for behave in (refuses, welcomes):
        found = the_problem(servers.check(answers(behave), None))
        assert found.text == "speaks version 8 of the protocol, this side version 7"


def test_other_refusals(answers: Answers) -> None:
    def full(peer: socket.socket) -> None:
        read_hello(peer)
        send(peer, 65, refusal(10, 6, "this daemon is full\x1b[2J"))

    found = the_problem(servers.check(answers(full), None))
    assert found.text == "refused: this daemon is full?[2J"


def test_lost_while_measuring(answers: Answers) -> None:
    def dies(peer: socket.socket) -> None:
        read_hello(peer)
        body = struct.pack("<IHBB16sIIQd16x", 0x0B0A4D01, 7, 0, 0, bytes(16), 0, 1, 1 << 30, 0.0)
        send(peer, 64, body + struct.pack("<I4sI4s", 3, b"cpu", 0, b""))

    greeting, lost = servers.check(answers(dies), None)
    assert greeting.level is Level.OK
    assert "rate unknown" in greeting.text
    assert (lost.level, lost.check) == (Level.PROBLEM, greeting.check)
    assert "lost while measuring" in lost.text


# --- keys ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pool_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return key_folder(tmp_path_factory.mktemp("pool"), 825)


def key_folder(folder: Path, days: int) -> Path:
    pool = keys.make_pool("a pool", 3650)
    keys.write(folder, "pool", pool)
    for role in ("daemon", "client"):
        keys.write(folder, role, keys.make_member(pool, role, "test", days))
    return folder


def tls(folder: Path, inside: Behaviour) -> Behaviour:
    """Returns the behaviour of a daemon that demands a key of the pool in `folder`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(folder / "daemon.pem", folder / "daemon.key")
    context.load_verify_locations(folder / "pool.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["outboard"])

    def behave(peer: socket.socket) -> None:
        with context.wrap_socket(peer, server_side=True) as secure:
            assert secure.selected_alpn_protocol() == "outboard"
            inside(secure)

    return behave


def relay(address: str) -> Behaviour:
    """Returns a behaviour that forwards everything to a real daemon."""

    def behave(peer: socket.socket) -> None:
        host, port = address.split(":")
        with socket.create_connection((host, int(port))) as target:

            def back() -> None:
                with contextlib.suppress(OSError):
                    while part := target.recv(65536):
                        peer.sendall(part)

            thread = threading.Thread(target=back, daemon=True)
            thread.start()
            while part := peer.recv(65536):
                target.sendall(part)

    return behave


def test_a_daemon_with_our_key(
    answers: Answers, daemon: tuple[str, str], pool_folder: Path
) -> None:
    address = answers(tls(pool_folder, relay(daemon[0])))
    found = servers.check(address, pool_folder)
    assert len(found) == 2, found
    assert found[0].level == Level.OK, found
    # The rate of the link decides the second level, and this test's relay decides that rate.
    assert found[1].level in (Level.OK, Level.NOTE), found
    assert "TLS" in found[0].text


def test_a_daemon_that_demands_a_key(answers: Answers, pool_folder: Path) -> None:
    """The daemon closes the connection, or refuses it with a message."""

    def says_so(peer: socket.socket) -> None:
        read_hello(peer)
        text = "this daemon takes only clients with its pool's key (set OUTBOARD_KEY)"
        send(peer, 65, refusal(DENIED, 5, text))

    for behave in (tls(pool_folder, lambda peer: None), says_so):
        found = the_problem(servers.check(answers(behave), None))
        assert found.text == "demands a key, and none is set here"
        assert "OUTBOARD_KEY" in found.advice


def test_a_daemon_without_tls(answers: Answers, daemon: tuple[str, str], pool_folder: Path) -> None:
    for address in (daemon[0], answers(lambda peer: peer.sendall(b"HTTP/1.1 400 no\r\n\r\n"))):
        found = the_problem(servers.check(address, pool_folder))
        assert "answers without TLS" in found.text
        assert "--key" in found.advice


def test_keys_of_two_pools(answers: Answers, pool_folder: Path, tmp_path: Path) -> None:
    other = key_folder(tmp_path / "other", 825)
    found = the_problem(servers.check(answers(tls(other, read_all)), pool_folder))
    assert "not one of this key's pool" in found.text
    # Here the client accepts the daemon, and the daemon does not accept the client.
    for kind in ("pem", "key"):
        (pool_folder / f"client.{kind}").replace(tmp_path / f"kept.{kind}")
        (other / f"client.{kind}").replace(pool_folder / f"client.{kind}")
    try:
        found = the_problem(servers.check(answers(tls(pool_folder, read_all)), pool_folder))
    finally:
        for kind in ("pem", "key"):
            (tmp_path / f"kept.{kind}").replace(pool_folder / f"client.{kind}")
    assert "does not take this key" in found.text


def test_a_daemon_whose_certificate_expired(answers: Answers, tmp_path: Path) -> None:
    folder = key_folder(tmp_path / "old", 0)  # valid from an hour ago until now
    found = the_problem(servers.check(answers(tls(folder, read_all)), folder))
    assert "expired" in found.text


def read_all(peer: socket.socket) -> None:
    while peer.recv(4096):
        pass
