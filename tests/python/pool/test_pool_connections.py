"""The connections of clients to a manager, with a real HTTP server that counts them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from outboard.pool.connections import ConnectionProblem, Connections
from outboard.pool.serve.listening import listen


class Server(ThreadingHTTPServer):
    """`closes`: it ends each connection behind its answer, and does not say so."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.opened = 0
        self.closes = False
        self.closed = threading.Event()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.opened += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.closed.set()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(201)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.server.closes

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"one")
        self.wfile.flush()
        threading.Event().wait(5)  # silent for longer than the reader waits
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def connections(server: Server) -> Connections:
    host, port = server.server_address[:2]
    return Connections(lambda: HTTPConnection(str(host), int(port), timeout=5))


def ask(made: Connections, body: bytes) -> tuple[int, bytes]:
    return made.ask("POST", "/x", body, {"content-type": "text/plain"}, 10)


def test_a_connection_is_kept(server: Server) -> None:
    with contextlib.closing(connections(server)) as made:
        for number in range(5):
            body = b"x" * (number << 16)
            assert ask(made, body) == (201, body)
    assert server.opened == 1


def test_a_connection_that_the_server_has_closed_is_replaced(server: Server) -> None:
    server.closes = True
    with contextlib.closing(connections(server)) as made:
        for _ in range(5):
            server.closed.clear()
            assert ask(made, b"x") == (201, b"x")
            assert server.closed.wait(10)
    assert server.opened == 5


def test_threads_have_connections_of_their_own(server: Server) -> None:
    begin = threading.Barrier(8)
    answers: list[tuple[int, bytes]] = []
    with contextlib.closing(connections(server)) as made:

        def work(number: int) -> None:
            begin.wait()
            for turn in range(20):
                body = f"{number}-{turn}".encode() * 1000
                status, raw = ask(made, body)
                answers.append((status, b"" if raw == body else raw))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [(201, b"")] * 160
        assert len(made._idle) <= 4


def test_a_stream_ends_with_an_error_when_it_is_silent(server: Server) -> None:
    made = connections(server)
    with made.stream("/x", {}, 0.5) as response:
        assert response.read1(100) == b"one"
        with pytest.raises(ConnectionProblem):
            response.read1(100)


def test_nobody_there(server: Server) -> None:
    made = connections(server)
    server.server_close()
    with pytest.raises(ConnectionProblem):
        ask(made, b"x")


@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:0"])
def test_answers_do_not_wait_for_acknowledgements(address: str) -> None:
    with (
        listen(address, 0o600, tls=False) as listening,
        socket.create_connection(listening.getsockname()[:2]),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
