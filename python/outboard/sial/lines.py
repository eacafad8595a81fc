"""Lines that are no statements by themselves: beginnings and ends, and lines with mistakes."""

from __future__ import annotations

from dataclasses import dataclass, field

from outboard.sial.source import Place
from outboard.sial.tree import Declaration, Name, Relation, Statement, Text


@dataclass(slots=True, eq=False)
class Line:
    """`do i`, `endif`, `import "x"` and so on. `word` is its first word."""

    word: str
    place: Place
    names: list[Name] = field(default_factory=list)
    parent: Name | None = None
    text: Text | None = None
    relation: Relation | None = None


@dataclass(slots=True, eq=False)
class Unreadable:
    """A line with a mistake, which was reported. `word` is its first word if that is reserved."""

    word: str
    place: Place
    name: Name | None = None


Parsed = Line | Unreadable | Declaration | Statement
