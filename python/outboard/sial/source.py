"""Source texts, and places in them."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from pathlib import Path

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Place:
    """A piece of one line of a source. `line` and `column` begin with 1."""

    source: int
    line: int
    column: int
    length: int = 1


@dataclass(slots=True)
class Source:
    """A file. `name` is its name as the compiler was told."""

    number: int
    name: str
    path: Path | None
    text: str
    data: bytes = b""
    _starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(self.text))]

    def place(self, start: int, length: int = 1) -> Place:
        """Returns the place of the character number `start` (from 0)."""
        row = bisect.bisect_right(self._starts, start) - 1
        return Place(self.number, row + 1, start - self._starts[row] + 1, max(length, 1))

    def line(self, number: int) -> str:
        """Returns the text of a line without its end."""
        start = self._starts[number - 1]
        end = _LINE_END.search(self.text, start)
        return self.text[start : end.start() if end else len(self.text)]

    @property
    def lines(self) -> int:
        """The number of lines."""
        return len(self._starts)
