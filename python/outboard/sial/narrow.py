"""Finds the where clauses that the runtime turns into bounds of loops.

The runtime finds them by itself in the byte code, by the same rule (src/sial/worker/narrowing.hpp).
The names here are for people who read it."""

from __future__ import annotations

from outboard.sial import tree
from outboard.sial.calls import CallGraph
from outboard.sial.fold import fold
from outboard.sial.notes import Notes
from outboard.sial.symbols import Index, Int


def note_narrowing(graph: CallGraph, notes: Notes) -> None:
    """Notes the clauses of all loops."""
    for body in graph.order:
        for one in tree.walk(body.statements):
            if isinstance(one, tree.Loop):
                for where in _bounds(one):
                    names = ", ".join(index.name for index in one.symbols)
                    text = f"narrowed range: {one.word} {names} visits no tuple that this excludes"
                    notes.add(where.place, text)


def _bounds(loop: tree.Loop) -> list[tree.Where]:
    found = []
    for where in loop.where:
        relation = where.relation
        sides = [_linear(fold(side), set(loop.symbols)) for side in (relation.left, relation.right)]
        linear = relation.ints and None not in sides
        if linear and any(sides) and relation.operator != "!=":
            found.append(where)
        if not linear and not (_cannot_fail(relation.left) and _cannot_fail(relation.right)):
            break
    return found


def _linear(one: tree.Expression, own: set[Index]) -> bool | None:
    """Returns whether an index of the loop occurs, None if the expression is not linear."""
    match one:
        case tree.IntNumber():
            return False
        case tree.NameUse():
            symbol = one.name.symbol
            if isinstance(symbol, Index):
                return symbol in own
            return False if isinstance(symbol, Int) else None
        case tree.Negate():
            return _arithmetic([one.operand], own)
        case tree.Cast() if one.to != "scalar":
            return _linear(one.operand, own)
        case tree.Binary():
            sides = [one.left, one.right]
            numbers = [isinstance(side, tree.IntNumber) for side in sides]
            if one.operator in ("+", "-") or (one.operator == "*" and any(numbers)):
                return _arithmetic(sides, own)
    return None


def _arithmetic(parts: list[tree.Expression], own: set[Index]) -> bool | None:
    """As _linear(), of a sum. It has no ints in it, because their sums may overflow."""
    found = [None if _is_int(part) else _linear(part, own) for part in parts]
    return None if None in found else any(found)


def _is_int(one: tree.Expression) -> bool:
    return isinstance(one, tree.NameUse) and isinstance(one.name.symbol, Int)


def _cannot_fail(one: tree.Expression) -> bool:
    return isinstance(one, tree.IntNumber | tree.RealNumber | tree.NameUse)
