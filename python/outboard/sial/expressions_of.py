"""The expressions of a statement, and what occurs in them."""

from __future__ import annotations

from collections.abc import Iterator

from outboard.sial import tree


def relations(one: tree.Statement) -> list[tree.Relation]:
    """Returns the comparisons of a statement: those of its where clauses, or its condition."""
    match one:
        case tree.Loop():
            return [where.relation for where in one.where if not where.broken]
        case tree.If():
            return [one.relation] if one.relation else []
    return []


def read_by(one: tree.Statement) -> Iterator[tree.Expression]:
    """Yields the expressions that a statement reads, without the statements inside of it."""
    for relation in relations(one):
        yield relation.left
        yield relation.right
    match one:
        case tree.Assign() | tree.Put():
            yield one.value
        case tree.Collective() | tree.Print():
            yield one.value
        case tree.Broadcast():
            yield one.worker
        case tree.Execute():
            yield from one.arguments
        case tree.GpuHint():
            yield one.argument


def mentioned(one: tree.Statement) -> Iterator[tree.Expression]:
    """Yields all expressions of a statement, the targets too."""
    match one:
        case tree.Assign() | tree.Put() | tree.Get() | tree.Allocate() | tree.Release():
            yield one.target
    yield from read_by(one)


def inside(one: tree.Expression) -> Iterator[tree.Expression]:
    """Yields an expression and all expressions in it; of selectors, the bounds of regions."""
    yield one
    match one:
        case tree.Binary():
            yield from inside(one.left)
            yield from inside(one.right)
        case tree.Negate() | tree.SquareRoot() | tree.Cast():
            yield from inside(one.operand)
        case tree.Reference():
            for item in one.items:
                if item.upper is not None and item.lower is not None:
                    yield from inside(item.lower)
                    yield from inside(item.upper)
