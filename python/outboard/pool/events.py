"""Reads the events of a manager: server-sent events of the WHATWG's HTML standard, section 9.2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from outboard.pool.client import PoolClient, PoolError, UnreachableError

_SILENCE_S = 25.0  # a manager without news writes a comment each 10 s
_LONGEST = 1 << 16  # of a line, or of all data of an event: those of a manager have less than 100
_TYPE = "text/event-stream"


class Event(NamedTuple):
    """`id`: the revision of the commit."""

    id: str
    type: str
    data: str


class Decoder:
    """Makes events of bytes, however these were cut into pieces."""

    def __init__(self) -> None:
        self._rest = b""
        self._after_cr = False
        self._id, self._type, self._data = "", "", list[str]()
        self._size = 0  # of the data, with an end of line each

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Raises ValueError if a line or an event is longer than any of a manager."""
        if self._after_cr and piece[:1] == b"\n":  # the rest of a line end that was cut in two
            piece, self._after_cr = piece[1:], False
        if piece:
            self._after_cr = piece.endswith(b"\r")
        lines = (self._rest + piece).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            if event := self._take(line.decode("utf-8", "replace")):
                yield event
        if max(len(self._rest), self._size) > _LONGEST:
            raise ValueError(f"a line or an event of more than {_LONGEST} bytes")

    def _take(self, line: str) -> Event | None:
        if not line:
            found = Event(self._id, self._type or "message", "\n".join(self._data))
            had_data = bool(self._data)
            self._type, self._data, self._size = "", [], 0
            return found if had_data else None
        name, _, value = line.partition(":")  # a comment has an empty name
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._size += len(value) + 1  # empty lines take memory, too
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None


def follow(client: PoolClient, heard: Callable[[], bool]) -> Iterator[Event]:
    """Yields events until the connection ends, then raises UnreachableError. The first one has the
    revision of now. `heard`: is called for each piece that arrives; False ends the stream. Raises
    PoolError if there is no such stream."""
    headers = {"accept": _TYPE, "cache-control": "no-cache"}
    decoder = Decoder()
    with client.stream("/v1/events", headers, _SILENCE_S) as answer:
        if not answer.headers.get("content-type", "").startswith(_TYPE):
            raise PoolError(answer.status, "", "the manager sends no events")
        while piece := answer.read1(1 << 14):
            if not heard():
                return
            try:
                yield from decoder.feed(piece)
            except ValueError as error:
                raise PoolError(answer.status, "", f"its events cannot be read ({error})") from None
    raise UnreachableError("the manager has ended its events")
