"""The blocks that one statement reads and writes, for the phases that optimise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from outboard.sial import tree
from outboard.sial.expressions_of import inside, mentioned, read_by
from outboard.sial.selectors import Label, labels
from outboard.sial.symbols import Array

Block = tuple[Array, tuple[Label, ...]]


@dataclass(slots=True)
class Uses:
    """References of one statement, without the statements inside of it. A block that is updated is
    in both lists; `overwritten` ones lose their old contents."""

    read: list[tree.Reference] = field(default_factory=list)
    overwritten: list[tree.Reference] = field(default_factory=list)


def uses(one: tree.Statement) -> Uses:
    """Returns the blocks that `one` reads and overwrites."""
    found = Uses()
    if isinstance(one, tree.Execute):
        _arguments(one, found)
        return found
    if isinstance(one, tree.GpuHint):
        return found
    for top in read_by(one):
        found.read += _references(top)
    if isinstance(one, tree.Assign) and isinstance(one.target, tree.Reference):
        found.read += [part for part in _references(one.target) if part is not one.target]
        if one.operator == "=" and not one.target.slice and not one.target.region:
            found.overwritten.append(one.target)
        else:
            found.read.append(one.target)
    elif isinstance(one, tree.Release):
        found.overwritten.append(one.target)
    return found


def _arguments(one: tree.Execute, found: Uses) -> None:
    intents = one.special.intents if one.special and one.special.intents else ""
    for intent, argument in zip(intents, one.arguments, strict=False):
        parts = _references(argument)
        if intent == "w" and isinstance(argument, tree.Reference) and not argument.region:
            found.overwritten.append(argument)
            parts = [part for part in parts if part is not argument]
        found.read += parts


def _references(one: tree.Expression) -> list[tree.Reference]:
    return [part for part in inside(one) if isinstance(part, tree.Reference)]


def blocks_of(one: tree.Statement) -> Iterator[tree.Reference]:
    """Yields all blocks that a statement mentions, read or not."""
    for top in mentioned(one):
        yield from _references(top)


def block_of(one: tree.Reference) -> Block:
    """Returns the array and the labels of a block."""
    return one.array, tuple(labels(one))


def always_inside(one: tree.Reference) -> bool:
    """True if no value of its indices selects a segment outside of the declared range (R05)."""
    for item, declared in zip(one.items, one.array.indices, strict=True):
        if item.star or item.index is None:
            return False
        used = item.selected
        equal = (used.lower, used.upper) == (declared.lower, declared.upper)
        if equal and used.parent is declared.parent:
            continue
        if used.parent or declared.parent:
            return False
        bounds = (declared.lower, used.lower, used.upper, declared.upper)
        numbers = [bound for bound in bounds if isinstance(bound, int)]
        if len(numbers) < len(bounds) or numbers != sorted(numbers):
            return False
    return True


def shown_block(one: tree.Reference) -> str:
    """Returns a block as the source writes it."""
    words = [f"(index) {item.selected.name}" if item.cast else item.selected.name
             for item in one.items]  # fmt: skip
    return f"{one.array.name}[{','.join(words)}]"
