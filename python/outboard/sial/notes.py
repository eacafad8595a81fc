"""The optimisations that were applied, as the disassembler shows them.

A note is a string of the byte code that no record refers to. It begins with a line end, which no
string of a source contains, so the runtime needs to know nothing of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from outboard.sial.records import Program
from outboard.sial.source import Place

_NOTE = re.compile(r"\n(\d+):(\d+) (.*)\Z", re.DOTALL)


@dataclass(slots=True)
class Notes:
    """What was done, in the order in which it was."""

    _texts: dict[tuple[int, int, str], None] = field(default_factory=dict)

    def add(self, place: Place, text: str) -> None:
        """Notes `name: detail` for a line."""
        self._texts[(place.source, place.line, text)] = None

    def strings(self) -> list[str]:
        """Returns the strings for the byte code, by line."""
        return [f"\n{source}:{line} {text}" for source, line, text in sorted(self._texts)]


def notes_of(program: Program) -> list[tuple[int, int, str]]:
    """Returns source, line and text of the notes in byte code."""
    found = [_NOTE.match(str(record["text"])) for record in program["string"]]
    return [(int(one[1]), int(one[2]), one[3]) for one in found if one]
