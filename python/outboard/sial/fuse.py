"""Makes one statement of `t = B1 * B2` and `D += t` where nobody needs t.

The new statement has the place of the first one, so errors of the operands name the same line. The
second one fails if D does not exist or lies outside of its array; so both must be impossible."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from outboard.sial import tree
from outboard.sial.block_uses import Block, always_inside, block_of, shown_block, uses
from outboard.sial.calls import CallGraph
from outboard.sial.lifetimes import Liveness, Temps, liveness
from outboard.sial.notes import Notes
from outboard.sial.selectors import labels
from outboard.sial.symbols import Symbol

_NAMES = {
    "block_contract": "accumulating contraction",
    "block_outer": "accumulating outer product",
    "block_scale": "axpy",
}


def fuse(graph: CallGraph, notes: Notes) -> None:
    """Changes all bodies."""
    temps = Temps(graph)
    freed = {
        one.target.name.symbol
        for body in graph.order
        for one in tree.walk(body.statements)
        if isinstance(one, tree.Allocate) and one.word == "deallocate"
    }
    work = _Fusion(temps, liveness(graph, temps), freed, notes)
    for body in graph.order:
        work.body(body.statements, body.statements, set())


@dataclass(slots=True)
class _Fusion:
    temps: Temps
    liveness: Liveness
    freed: set[Symbol | None]  # locals that some statement deallocates
    notes: Notes

    def body(
        self, statements: list[tree.Statement], loop: list[tree.Statement], there: set[Block]
    ) -> None:
        """Changes `statements`. `loop` is the body of the loop around them, `there` the blocks that
        exist."""
        there = set(there)
        number = 0
        while number < len(statements):
            one = statements[number]
            made = None
            if number + 1 < len(statements):
                made = self._fused(one, statements[number + 1], loop, there)
            if made:
                statements[number : number + 2] = [made]
                one = made
            for inner in tree.bodies(one):
                self.body(inner, inner if isinstance(one, tree.Loop) else loop, there)
            there |= self._proven(one)
            number += 1

    def _proven(self, one: tree.Statement) -> set[Block]:
        """Returns the blocks that exist once `one` has been executed."""
        if tree.bodies(one):
            return set()
        found = uses(one)
        return {
            block_of(part)
            for part in (*found.read, *found.overwritten)
            if not part.region and not part.slice and not part.array.remote
        }

    def _fused(
        self,
        first: tree.Statement,
        second: tree.Statement,
        loop: list[tree.Statement],
        there: set[Block],
    ) -> tree.Assign | None:
        if not isinstance(first, tree.Assign) or not isinstance(second, tree.Assign):
            return None
        made, into = first.target, second.target
        if not isinstance(made, tree.Reference) or not isinstance(into, tree.Reference):
            return None
        if not first.form or not second.form or first.form.kind not in _NAMES:
            return None
        added = second.form.blocks
        if (
            first.operator != "="
            or second.operator not in ("+=", "-=")
            or second.form.kind != "block_copy"
            or block_of(added[0]) != block_of(made)
            or not self._fits(first.form, made, into)
            or not self._exists(into, there)
            or not always_inside(made)
            or not self.temps.follows(made, loop)
            or self.liveness.reads_behind(second, made.array)
        ):
            return None
        name = _NAMES[first.form.kind]
        text = f"{name}: {shown_block(into)} {second.operator} .. takes the place of "
        self.notes.add(first.place, f"{text}{shown_block(made)}")
        return tree.Assign(first.place, into, second.operator, first.value, first.form)

    def _fits(self, form: tree.Form, made: tree.Reference, into: tree.Reference) -> bool:
        """True if the product can be added to `into` as it stands."""
        mine, others = labels(made), labels(into)
        if len(set(mine)) != len(mine) or Counter(mine) != Counter(others):
            return False
        if form.kind == "block_scale" and mine != others:
            return False
        return all(part.array is not into.array for part in form.blocks) and made.array.storage == (
            "temp"
        )

    def _exists(self, into: tree.Reference, there: set[Block]) -> bool:
        if into.region or into.slice or into.array.contiguous or not always_inside(into):
            return False
        if into.array.storage == "static":
            return True
        return block_of(into) in there and into.array not in self.freed
