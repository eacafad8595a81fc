"""Servers that behave in unexpected ways, and a relay that cuts a connection at a chosen byte."""

from __future__ import annotations

import collections.abc
import contextlib
import socket
import struct
import threading

MAGIC = 0x0B0A4D01
HEADER = struct.Struct("<HHIQQQ")  # docs/wire.md, section 1
HELLO, WELCOME, REFUSED = 1, 64, 65
VERSION_MISMATCH = 6
VERSION, OTHER_VERSION = 8, 4


def listener() -> socket.socket:
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.bind(("127.0.0.1", 0))
    server.listen(16)
    return server


def address(server: socket.socket) -> str:
    host, port = server.getsockname()
    return f"{host}:{port}"


@contextlib.contextmanager
def dead_address() -> collections.abc.Iterator[str]:
    """Yields a port that refuses connections and that no other process can take: it is bound, but
    does not listen.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as holder:
        holder.bind(("127.0.0.1", 0))
        yield address(holder)


def text(value: str) -> bytes:
    """Returns text(n) of docs/wire.md, for a field that starts at an offset of 4 modulo 8."""
    raw = value.encode()
    return struct.pack("<I", len(raw)) + raw + b"\0" * (-(4 + 4 + len(raw)) % 8)


def message(opcode: int, body: bytes) -> bytes:
    assert len(body) % 8 == 0
    return HEADER.pack(opcode, 0, len(body), 0, 0, 0) + body


def receive_exactly(peer: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = peer.recv(count - len(data))
        if not chunk:
            return data
        data += chunk
    return data


def until_closed(peer: socket.socket) -> None:
    while peer.recv(65536):
        pass


def read_hello(peer: socket.socket) -> None:
    head = receive_exactly(peer, HEADER.size)
    if len(head) == HEADER.size:
        receive_exactly(peer, HEADER.unpack(head)[2])


def silent(peer: socket.socket) -> None:
    """Receives everything and answers nothing."""
    until_closed(peer)


def closes(peer: socket.socket) -> None:
    """Closes the connection at once."""


def garbage(peer: socket.socket) -> None:
    peer.sendall(bytes((i * 37 + 11) % 256 for i in range(4096)))
    until_closed(peer)


def zeros(peer: socket.socket) -> None:
    read_hello(peer)
    peer.sendall(bytes(4096))
    until_closed(peer)


def http(peer: socket.socket) -> None:
    peer.recv(64)
    body = b"<html>bad request</html>"
    peer.sendall(
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
        + body
    )


def refuses_version(peer: socket.socket) -> None:
    """Behaves like a daemon of another version, as docs/wire.md requires."""
    read_hello(peer)
    body = struct.pack("<BBH", VERSION_MISMATCH, 0, OTHER_VERSION) + text(
        f"this daemon speaks version {OTHER_VERSION}, the client version {VERSION}"
    )
    peer.sendall(message(REFUSED, body))


def welcomes_in_another_version(peer: socket.socket) -> None:
    """Behaves like a careless daemon: it continues although the versions differ. The client must
    notice."""
    read_hello(peer)
    body = (
        struct.pack("<IHBB", MAGIC, OTHER_VERSION, 0, 0)
        + b"\x11" * 16
        + struct.pack("<IIQd", 0, 1, 1 << 30, 0.0)
    )
    # Two texts start where the message's table defines: at 48, then directly after the first.
    for value in ("cpu ", "another device      "):
        raw = value.encode()
        body += struct.pack("<I", len(raw)) + raw
        body += b"\0" * (-len(body) % 8)
    peer.sendall(message(WELCOME, body))
    until_closed(peer)


def huge_answer(peer: socket.socket) -> None:
    """Announces a body and a payload that no client should allocate memory for."""
    read_hello(peer)
    peer.sendall(HEADER.pack(WELCOME, 0, 0xFFFFFFF8, 0, 0, 1 << 62))
    until_closed(peer)


def half_welcome(peer: socket.socket) -> None:
    """Ends in the middle of its answer."""
    read_hello(peer)
    peer.sendall(HEADER.pack(WELCOME, 0, 96, 0, 0, 0) + struct.pack("<I", MAGIC))


Behaviour = collections.abc.Callable[[socket.socket], None]
STRANGERS: dict[str, Behaviour] = {
    behaviour.__name__: behaviour
    for behaviour in (
        closes,
        garbage,
        zeros,
        http,
        refuses_version,
        welcomes_in_another_version,
        huge_answer,
        half_welcome,
    )
}


class Stranger:
    """Answers every connection on a loopback port with one behaviour."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._server = listener()
        self.address = address(self._server)
        self.connections = 0
        self._peers: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._server.accept()
                self.connections += 1
                self._peers.append(peer)
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError), peer:
            self._behaviour(peer)

    def __enter__(self) -> Stranger:
        return self

    def __exit__(self, *_: object) -> None:
        for sock in (self._server, *self._peers):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


class Relay:
    """Forwards bytes between clients and one server. At a chosen byte of one direction it runs
    `cut`.

    After that it refuses all connections: for the client, the server disappears in the middle of
    its work.
    """

    def __init__(
        self, target: str, to_server: bool, cut: collections.abc.Callable[[], object]
    ) -> None:
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._counted_direction = to_server
        self._left: int | None = None
        self._cut = cut
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._server = listener()
        self.address = address(self._server)
        self.did_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, limit: int) -> None:
        """Lets exactly `limit` more bytes pass."""
        with self._lock:
            self._left = limit

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                server = socket.create_connection(self._target)
                with self._lock:
                    self._sockets += [client, server]
                for pair in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _admit(self, data: bytes, to_server: bool) -> tuple[bytes, bool]:
        """Returns the part of `data` that may pass, and whether it reaches the limit."""
        with self._lock:
            if self._left is None or to_server != self._counted_direction:
                return data, False
            part = data[: self._left]
            self._left -= len(part)
            return part, self._left == 0

    def _pump(self, source: socket.socket, sink: socket.socket, to_server: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                part, over = self._admit(data, to_server)
                sink.sendall(part)
                if over:
                    self._end()
                    return
            sink.shutdown(socket.SHUT_WR)

    def _end(self) -> None:
        with self._lock:
            if self.did_cut:
                return
            self.did_cut = True
        self._cut()
        self.close()

    def close(self) -> None:
        with self._lock:
            sockets = [self._server, *self._sockets]
        for sock in sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Valve(Relay):
    """Forwards bytes between clients and one server until partition() or reset()."""

    def __init__(self, target: str) -> None:
        super().__init__(target, True, lambda: None)
        self._open = threading.Event()
        self._open.set()

    def _pump(self, source: socket.socket, sink: socket.socket, _to_server: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._open.wait()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def partition(self) -> None:
        """Stops all bytes from now on, without closing connections."""
        self._open.clear()

    def heal(self) -> None:
        self._open.set()

    def reset(self) -> None:
        """Resets all connections. New ones are accepted."""
        with self._lock:
            sockets, self._sockets = self._sockets, []
        for sock in sockets:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def __enter__(self) -> Valve:
        return self

    def __exit__(self, *_: object) -> None:
        self.heal()
        self.close()
