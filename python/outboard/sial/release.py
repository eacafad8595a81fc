"""Frees the blocks of temps behind their last use, where more memory is needed afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from outboard.sial import tree
from outboard.sial.block_uses import Block, always_inside, block_of, blocks_of, shown_block, uses
from outboard.sial.calls import CallGraph
from outboard.sial.lifetimes import Liveness, Temps, liveness
from outboard.sial.notes import Notes
from outboard.sial.symbols import Index


def release(graph: CallGraph, notes: Notes) -> None:
    """Adds the releases to all bodies."""
    temps = Temps(graph)
    work = _Releases(temps, liveness(graph, temps), notes)
    for body in graph.order:
        work.body(body.statements, [body.statements], body.proc is not None)


@dataclass(slots=True)
class _Releases:
    temps: Temps
    liveness: Liveness
    notes: Notes

    def body(
        self, statements: list[tree.Statement], around: list[list[tree.Statement]], inside: bool
    ) -> None:
        """Changes `statements`. `around` are the bodies of the loops around them, the proc's or the
        program's first; `inside`: there is a loop, or perhaps one around a call."""
        last: dict[Block, tuple[int, tree.Reference]] = {}
        for number, one in enumerate(statements):
            for inner in tree.bodies(one):
                is_loop = isinstance(one, tree.Loop)
                self.body(inner, [*around, inner] if is_loop else around, inside or is_loop)
            if inside:
                last.update({block_of(part): (number, part) for part in _temps_in(one)})
        ends: dict[int, list[tree.Reference]] = {}
        for number, part in last.values():
            ends.setdefault(number, []).append(part)
        later: set[object] = set()
        for number in range(len(statements) - 1, -1, -1):
            one = statements[number]
            for part in ends.get(number, ()):
                others = len(later) - (part.array in later)
                if others > 0 and self._ends(one, part, around):
                    statements.insert(number + 1, tree.Release(one.place, part))
                    text = f"last use: {shown_block(part)} is freed behind this line"
                    self.notes.add(one.place, text)
            later |= _made_by(one)

    # A block that is made again lives as long as the iteration in which that happens. So nothing
    # may read it in a later iteration.
    def _ends(
        self, one: tree.Statement, part: tree.Reference, around: list[list[tree.Statement]]
    ) -> bool:
        return (
            not isinstance(one, tree.Release)
            and self.temps.follows(part, around[-1])
            and always_inside(part)
            and not self.liveness.reads_behind(one, part.array)
            and not any(self.liveness.reads_at_start(body, part.array) for body in around)
        )


def _temps_in(one: tree.Statement) -> Iterator[tree.Reference]:
    """Yields the blocks of temps in a statement whose indices no loop in it sets."""
    set_inside: set[Index] = set()
    for part in tree.walk([one]):
        if isinstance(part, tree.Loop):
            set_inside.update(part.symbols)
    for part in tree.walk([one]):
        for block in blocks_of(part):
            if block.array.storage == "temp" and not any(
                item.selected in set_inside for item in block.items
            ):
                yield block


def _made_by(one: tree.Statement) -> set[object]:
    """Returns the temps and locals that a statement may make blocks of, and all calls in it."""
    found: set[object] = set()
    for part in tree.walk([one]):
        if isinstance(part, tree.Call | tree.Execute | tree.Allocate):
            found.add(part)
        for block in uses(part).overwritten:
            if block.array.storage in ("temp", "local") and not isinstance(part, tree.Release):
                found.add(block.array)
    return found
