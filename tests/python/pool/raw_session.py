"""A session at a daemon by hand, for tests that do what the library never does."""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
from pathlib import Path
from typing import Any

from pool_daemon import LEASE_VERSION, NO_SESSION, PATIENCE_S, connect

from outboard.doctor import wire

CREATE_QUEUE, ALLOCATE, CALL, SYNCHRONIZE, PING, GOODBYE, MARK = 2, 4, 10, 16, 17, 18, 31
OPEN_MAILBOX, CONNECT_PEER, SEND, RECEIVE, JOIN_PEER, HOLD, RELEASE = 22, 24, 26, 27, 28, 36, 37
WELCOME, REFUSED, DONE, PONG, FAILED = 64, 65, 68, 70, 71
JOINED, MAILBOX, PEER, RECEIVED, REACHED = 73, 74, 75, 76, 78
EIGHT_BYTES = struct.pack("<QIBB2xQQQ", 0, 1, 0, 1, 8, 1, 8)  # the region at a buffer's beginning


class RawSession:
    """A connection that opens a session or joins one. It has one queue."""

    def __init__(
        self,
        address: str,
        token: str,
        join: bytes = NO_SESSION,
        queue: int = 1,
        key: Path | None = None,
    ) -> None:
        self.peer = connect(address, token, join=join, key=key)
        self.stream = self.peer.makefile("rb")
        self.queue, self.sequence = queue, 0
        self.token = self.answer(WELCOME)[8:24]  # of the session
        self.command(CREATE_QUEUE)

    def __enter__(self) -> RawSession:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stream.close()
        self.peer.close()

    def command(self, opcode: int, body: bytes = b"", in_queue: bool = True) -> None:
        self.sequence += 1
        queue = self.queue if in_queue else 0
        self.peer.sendall(wire.HEADER.pack(opcode, 0, len(body), queue, self.sequence, 0) + body)

    def answer(self, wanted: int) -> bytes:
        """Returns the body of the next message of this kind."""
        while True:
            head = self.stream.read(wire.HEADER.size)
            assert head, "the daemon closed the connection"
            opcode, _, body_bytes, *_ = wire.HEADER.unpack(head)
            body = self.stream.read(body_bytes)
            if opcode == wanted:
                return body
            assert opcode not in (REFUSED, FAILED), body

    def allocate(self, buffer: int, size: int) -> None:
        self.command(ALLOCATE, struct.pack("<QQ", buffer, size), in_queue=False)

    def multiply(self, buffer: int, n: int) -> None:
        """Squares the n x n matrix at the buffer's beginning; the product lies behind it. Returns
        when this has begun."""
        self.command(MARK)
        body = struct.pack("<II2Q3q", _fnv1a(b"dgemm"), 10, ord("N"), ord("N"), n, n, n)
        body += struct.pack("<2d", 1, 0) + struct.pack("<QQq", buffer, 0, n) * 2
        body += struct.pack("<2d", 0, 0) + struct.pack("<QQq", buffer, 8 * n * n, n)
        self.command(CALL, body)
        self.command(PING, in_queue=False)
        self.answer(REACHED)
        self.answer(PONG)

    def synchronize(self) -> int:
        """Waits for all commands. Returns the code of the first that failed, or 0."""
        self.command(SYNCHRONIZE)
        return self.answer(DONE)[0]

    def hold(self, gate: int) -> None:
        """Lets the queue wait for release()."""
        self.command(HOLD, struct.pack("<Q", gate))

    def release(self, gate: int, code: int) -> None:
        """Lets the command that holds the queue end with this code."""
        self.command(RELEASE, struct.pack("<QB7x", gate, code), in_queue=False)

    def open_mailbox(self) -> bytes:
        """Returns its access key."""
        self.command(OPEN_MAILBOX, in_queue=False)
        return self.answer(MAILBOX)[8:24]

    def connect_peer(self, peer: int, key: bytes, address: str) -> int:
        """Returns the code of the answer."""
        body = struct.pack("<Q16sI", peer, key, len(address)) + address.encode()
        self.command(CONNECT_PEER, body + bytes(-len(body) % 8), in_queue=False)
        return self.answer(PEER)[0]

    def send(self, peer: int, message: int, buffer: int) -> None:
        self.command(SEND, struct.pack("<QQQ", peer, message, buffer) + EIGHT_BYTES)

    def receive(self, message: int, buffer: int) -> None:
        self.command(RECEIVE, struct.pack("<QQ", message, buffer) + EIGHT_BYTES + bytes(8))

    def wait_until_closed(self) -> None:
        """Reads until the daemon closes the connection."""
        with contextlib.suppress(ConnectionResetError):
            while self.stream.read1(4096) != b"":
                pass


def join_peer(address: str, key: bytes) -> int:
    """Does as a daemon that brings no message to a mailbox. Returns 0, or the code of the
    refusal."""
    host, _, port = address.rpartition(":")
    big_endian = sys.byteorder == "big"
    body = struct.pack("<IHBB16sI4x", wire.MAGIC, LEASE_VERSION, big_endian, 0, key, 0)
    with (
        socket.create_connection((host, int(port)), PATIENCE_S) as peer,
        peer.makefile("rb") as stream,
    ):
        peer.sendall(wire.HEADER.pack(JOIN_PEER, 0, len(body), 0, 0, 0) + body)
        head = stream.read(wire.HEADER.size)
        assert head, "the daemon closed the connection"
        opcode, _, body_bytes, *_ = wire.HEADER.unpack(head)
        said = stream.read(body_bytes)
        if opcode == JOINED:
            peer.sendall(wire.HEADER.pack(GOODBYE, 0, 0, 0, 0, 0))
    assert opcode in (JOINED, REFUSED)
    return 0 if opcode == JOINED else said[0]


def _fnv1a(name: bytes) -> int:
    value = 2166136261
    for byte in name:
        value = (value ^ byte) * 16777619 % (1 << 32)
    return value
