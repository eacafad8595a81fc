"""What names stand for."""

from __future__ import annotations

from dataclasses import dataclass, field

from outboard.sial.source import Place

# Segment tables of the kinds of indices.
TABLES = {
    "aoindex": "ao",
    "moindex": "mo",
    "moaindex": "moa",
    "mobindex": "mob",
    "laindex": "la",
}
MOST_DIMENSIONS = 8


@dataclass(slots=True, eq=False)
class Symbol:
    """A declared object. `program` is the name of the program that declares it."""

    name: str
    place: Place
    program: str
    used: bool = field(default=False, kw_only=True)
    imported: bool = field(default=False, kw_only=True)

    sort = "a name"


@dataclass(slots=True, eq=False)
class Poison(Symbol):
    """A name whose declaration has a mistake. Its uses are right."""


@dataclass(slots=True, eq=False)
class Int(Symbol):
    predefined: bool = False
    initial: int = 0

    sort = "an int"


@dataclass(slots=True, eq=False)
class Scalar(Symbol):
    predefined: bool = False
    initial: float = 0.0

    sort = "a scalar"


@dataclass(slots=True, eq=False)
class Index(Symbol):
    """`table` is None for a simple index and for a subindex."""

    table: str | None = None
    lower: int | Int = 1
    upper: int | Int = 1
    parent: Index | None = None

    sort = "an index"

    @property
    def simple(self) -> bool:
        return self.table is None and self.parent is None

    @property
    def kind(self) -> str:
        """What two indices of a matching position have in common; subindices have their
        parent's."""
        return (self.parent.table if self.parent else self.table) or ""

    @property
    def range(self) -> tuple[object, object, object, object]:
        return (self.kind, self.lower, self.upper, self.parent)


@dataclass(slots=True, eq=False)
class Array(Symbol):
    storage: str = "temp"
    indices: list[Index] = field(default_factory=list)
    predefined: bool = False
    contiguous: bool = False
    sparse: bool = False

    @property
    def sort(self) -> str:  # type: ignore[override]
        article = "an" if self.storage[0] in "aeiou" else "a"
        return f"{article} {self.storage} array"

    @property
    def remote(self) -> bool:
        """True if its blocks live on servers."""
        return self.storage in ("distributed", "served")


@dataclass(slots=True, eq=False)
class Special(Symbol):
    """A super-instruction. `intents` is None if its declaration is wrong."""

    intents: str | None = None

    sort = "a super-instruction"
