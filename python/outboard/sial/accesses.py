"""Describes the loops around each get, as the look-ahead of the runtime needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from outboard.sial import tree
from outboard.sial.records import MAX_LOOP_INDICES
from outboard.sial.symbols import Array, Symbol

GUARDED, PREDICTABLE, OPEN = 1, 2, 4


@dataclass(slots=True)
class Surroundings:
    """What stands around a get inside its proc, innermost first."""

    loops: list[tuple[int, tree.Loop]]
    conditions: list[tree.Relation]

    def flags(self) -> int:
        """Returns the flags of the access."""
        assigned = {one for _, loop in self.loops for one in assigned_in(loop.body)}
        read = {one for relation in self.conditions for one in _read(relation)}
        flags = GUARDED if self.conditions else 0
        if not read & assigned:
            flags |= PREDICTABLE
        if any(_leaves(loop) for _, loop in self.loops):
            flags |= OPEN
        return flags

    def listed(self) -> list[int]:
        """Returns the numbers of the loops that the look-ahead may cross."""
        numbers: list[int] = []
        read: set[Symbol] = set()
        for number, loop in self.loops[:MAX_LOOP_INDICES]:
            read |= {one for where in loop.where for one in _read(where.relation)}
            inside = list(tree.walk(loop.body))
            if any(_interrupts(one) for one in inside) or read & assigned_in(loop.body):
                break
            numbers.append(number)
        return numbers


def _interrupts(one: tree.Statement) -> bool:
    if isinstance(one, tree.Simple):
        return one.word in ("sip_barrier", "server_barrier")
    return isinstance(one, tree.Call | tree.Section)


def _leaves(loop: tree.Loop) -> bool:
    """True if an exit, a cycle or a return of this loop stands in its body."""
    return any(
        isinstance(one, tree.Simple)
        and (one.word in ("return", "stop") or (one.word in ("exit", "cycle") and not nested))
        for one, nested in _with_loops(loop.body, False)
    )


def _with_loops(body: list[tree.Statement], nested: bool) -> Iterator[tuple[tree.Statement, bool]]:
    for one in body:
        yield one, nested
        for inner in tree.bodies(one):
            yield from _with_loops(inner, nested or isinstance(one, tree.Loop))


def assigned_in(body: list[tree.Statement]) -> set[Symbol]:
    """Returns the variables and arrays that statements of `body` may change, calls left out."""
    found: set[Symbol] = set()
    for one in tree.walk(body):
        names: Iterable[tree.Name] = ()
        match one:
            case tree.Assign():
                names = [one.target.name]
            case tree.Collective() | tree.AssertSame() | tree.Broadcast() | tree.Persist():
                names = [one.name]
            case tree.Execute() if one.special:
                names = [
                    argument.name
                    for intent, argument in zip(
                        one.special.intents or "", one.arguments, strict=False
                    )
                    if intent != "r" and isinstance(argument, tree.NameUse | tree.Reference)
                ]
        found.update(name.symbol for name in names if name.symbol)
    return found


def _read(relation: tree.Relation) -> set[Symbol]:
    return {one for side in (relation.left, relation.right) for one in read_in(side)}


def read_in(one: tree.Expression) -> Iterator[Symbol]:
    """Yields the variables and arrays that an expression reads; no indices."""
    match one:
        case tree.NameUse() | tree.Reference():
            if one.name.symbol:
                yield one.name.symbol
            if isinstance(one, tree.Reference):
                for item in one.items:
                    for bound in (item.lower, item.upper) if item.upper else ():
                        if bound:
                            yield from read_in(bound)
        case tree.Binary():
            yield from read_in(one.left)
            yield from read_in(one.right)
        case tree.Negate() | tree.SquareRoot() | tree.Cast():
            yield from read_in(one.operand)


def reads_blocks(relation: tree.Relation) -> bool:
    """True if a comparison reads elements of arrays."""
    return any(isinstance(one, Array) for one in _read(relation))
