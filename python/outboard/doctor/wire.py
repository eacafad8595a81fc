"""The part of the data-plane protocol that a question to a daemon needs; docs/wire.md.

This is a second implementation on purpose: it works where nothing is built, and it can show the
answer of a daemon of another version.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import time
from dataclasses import dataclass

MAGIC = 0x0B0A4D01
VERSION = 7
HEADER = struct.Struct("<HHIQQQ")
_ANY_DEVICE = 0xFFFFFFFF
_MAX_BODY = 4096
_HELLO, _CREATE_QUEUE, _ALLOCATE, _WRITE, _READ, _SYNCHRONIZE, _PING, _GOODBYE = (
    *(1, 2, 4, 7, 8, 16, 17, 18),
)
_WELCOME, _REFUSED, _DATA, _DONE, _CREDIT, _PONG, _FAILED = 64, 65, 67, 68, 69, 70, 71
DENIED, VERSION_MISMATCH = 5, 6


class NotOutboardError(Exception):
    """The other side is no daemon. `first` holds the first bytes that it sent."""

    def __init__(self, text: str, first: bytes = b"") -> None:
        super().__init__(text)
        self.first = first


class RefusedError(Exception):
    """The daemon refused the connection."""

    def __init__(self, code: int, version: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.version = version
        self.message = message


class CommandError(Exception):
    """A command failed."""


@dataclass(frozen=True)
class Welcome:
    """The description that a daemon gives of itself and of the session's device."""

    version: int
    big_endian: bool
    device: int
    devices: int
    memory_bytes: int
    gflops_double: float
    backend: str
    description: str


def hello() -> bytes:
    """Returns the first message, which asks for a new session on any device."""
    who = f"outboard doctor {os.getpid()}".encode()
    body = struct.pack(
        "<IHBB16sI", MAGIC, VERSION, sys.byteorder == "big", 0, bytes(16), _ANY_DEVICE
    )
    body += _text(who, len(body))
    body += _text(b"", len(body))
    body += struct.pack("<I4x", 0)  # flags
    return HEADER.pack(_HELLO, 0, len(body), 0, 0, 0) + body


def _text(raw: bytes, offset: int) -> bytes:
    """Returns the bytes of the text(n) in a body at `offset`."""
    return struct.pack("<I", len(raw)) + raw + bytes(-(offset + 4 + len(raw)) % 8)


def _untext(body: bytes, offset: int) -> tuple[str, int]:
    """Returns the text at `offset`, and the offset of the next field."""
    (length,) = struct.unpack_from("<I", body, offset)
    end = offset + 4 + length
    if end > len(body):
        raise NotOutboardError("a text that is longer than its message", body)
    text = body[offset + 4 : end].decode(errors="replace")
    printable = "".join(c if c.isprintable() else "?" for c in text)
    return printable, end + -end % 8


def parse_welcome(body: bytes) -> Welcome:
    """Decodes a welcome of our version. Of another version, decodes the fields that all versions
    have."""
    if len(body) < 8:
        raise NotOutboardError("a welcome cut short", body)
    magic, version, big_endian, _ = struct.unpack_from("<IHBB", body)
    if magic != MAGIC:
        raise NotOutboardError("a welcome without Outboard's mark", body)
    if version != VERSION:
        return Welcome(version, bool(big_endian), 0, 0, 0, 0.0, "", "")
    if len(body) < 72:
        raise NotOutboardError("a welcome cut short", body)
    device, devices, memory, rate = struct.unpack_from("<IIQd", body, 24)
    backend, at = _untext(body, 64)
    description, _ = _untext(body, at)
    return Welcome(version, bool(big_endian), device, devices, memory, rate, backend, description)


class Session:
    """A connection after the handshake. Every call may raise OSError (TimeoutError)."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        self._sequence = 0
        self.welcome = self._shake_hands()

    def ping(self) -> float:
        """Returns the seconds of one round trip."""
        begin = time.perf_counter()
        self._send(_PING, b"", 0, sequence=int(begin * 1e6))  # any number is allowed
        while self._receive()[0] != _PONG:
            pass
        return time.perf_counter() - begin

    def make_buffer(self, size: int) -> None:
        """Makes queue 1 and buffer 1. A session makes these once."""
        self._command(_CREATE_QUEUE, b"")
        self._command(_ALLOCATE, struct.pack("<QQ", 1, size))
        self._command(_SYNCHRONIZE, b"")
        self._answer(_DONE)

    def write(self, data: bytes) -> float:
        """Writes `data` into the buffer and returns the seconds that this takes."""
        begin = time.perf_counter()
        self._command(_WRITE, _bytes_region(len(data)), data)
        self._command(_SYNCHRONIZE, b"")
        self._answer(_DONE)
        return time.perf_counter() - begin

    def read(self, size: int) -> tuple[bytes, float]:
        """Returns the first bytes of the buffer, and the seconds that this takes."""
        begin = time.perf_counter()
        self._command(_READ, _bytes_region(size))
        data = self._answer(_DATA)
        return data, time.perf_counter() - begin

    def close(self) -> None:
        """Ends the session cleanly, if the daemon still answers."""
        with contextlib.suppress(OSError):
            self._send(_GOODBYE, b"", 0, sequence=self._next())
        self._peer.close()

    def _shake_hands(self) -> Welcome:
        self._peer.sendall(hello())
        opcode, body, _ = self._receive()
        if opcode == _REFUSED and len(body) >= 8:
            code, _, version = struct.unpack_from("<BBH", body)
            raise RefusedError(code, version, _untext(body, 4)[0])
        if opcode != _WELCOME:
            raise NotOutboardError(f"message {opcode} where a welcome belongs", body)
        return parse_welcome(body)

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    def _command(self, opcode: int, body: bytes, payload: bytes = b"") -> None:
        self._send(opcode, body, 1, self._next(), payload)

    def _send(
        self, opcode: int, body: bytes, queue: int, sequence: int, payload: bytes = b""
    ) -> None:
        head = HEADER.pack(opcode, 0, len(body), queue, sequence, len(payload))
        self._peer.sendall(head + body)
        if payload:
            self._peer.sendall(payload)

    def _answer(self, wanted: int) -> bytes:
        """Returns the payload of the next answer of this kind."""
        while True:
            opcode, body, payload = self._receive()
            if opcode in (_DATA, _DONE, _FAILED) and (opcode != wanted or body[0] != 0):
                raise CommandError(_untext(body, 48)[0] or f"code {body[0]}")
            if opcode == wanted:
                return payload

    def _receive(self) -> tuple[int, bytes, bytes]:
        head = self._exactly(HEADER.size)
        opcode, flags, body_bytes, _, _, payload_bytes = HEADER.unpack(head)
        if flags or body_bytes > _MAX_BODY or body_bytes % 8 or opcode not in range(_WELCOME, 79):
            raise NotOutboardError("no message of Outboard", head)
        return opcode, self._exactly(body_bytes), self._exactly(payload_bytes)

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self._peer.recv(min(count - len(data), 1 << 20))
            if not part:
                raise NotOutboardError("the connection was closed", bytes(data))
            data += part
        return bytes(data)


def _bytes_region(size: int) -> bytes:
    """Returns buffer 1 from its beginning, as plain bytes (docs/wire.md, section 5)."""
    return struct.pack("<Q", 1) + struct.pack("<QIBB2xQQQ", 0, 1, 0, 1, size, 1, size)
