"""Checks that every index is bound once where it is used, through calls too.

A proc uses the indices that are bound at all of its calls. It must not bind one that is bound at
any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from outboard.sial import tree
from outboard.sial.calls import Body, CallGraph
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.expressions_of import inside, mentioned
from outboard.sial.source import Place
from outboard.sial.symbols import Index


@dataclass(slots=True)
class _Entry:
    """What is bound when a proc begins."""

    calls: list[tuple[tree.Call, Body, frozenset[Index]]] = field(default_factory=list)
    may: dict[Index, tuple[Note, ...]] = field(default_factory=dict)

    @property
    def must(self) -> frozenset[Index]:
        sets = [bound for _, _, bound in self.calls]
        return frozenset.intersection(*sets) if sets else frozenset()


def check_binding(graph: CallGraph, diagnostics: Diagnostics) -> None:
    """Reports indices that are bound twice or not at all."""
    entries = {body: _Entry() for body in graph.order}
    for body in graph.order:
        _Checker(graph, entries, body, diagnostics).check()


@dataclass(slots=True)
class _Checker:
    graph: CallGraph
    entries: dict[Body, _Entry]
    body: Body
    diagnostics: Diagnostics
    _bound: dict[Index, Place] = field(default_factory=dict)  # by loops of this body
    _reported: set[tuple[Index, int]] = field(default_factory=set)
    _must: frozenset[Index] = frozenset()

    def check(self) -> None:
        self._must = self.entries[self.body].must
        self._statements(self.body.statements)

    def _statements(self, body: list[tree.Statement]) -> None:
        for one in body:
            if isinstance(one, tree.Loop):
                self._loop(one, body)
                continue
            if not one.broken:
                self._uses(one, body)
            if isinstance(one, tree.Call) and one.proc and not one.broken:
                self._call(one)
            for inner in tree.bodies(one):
                self._statements(inner)

    def _call(self, one: tree.Call) -> None:
        assert one.proc
        entry = self.entries.get(self.graph.body_of(one.proc))
        if entry is None:
            return
        entry.calls.append((one, self.body, frozenset({*self._must, *self._bound})))
        here = Note(f"`{one.name.text}` is called here", one.place)
        for index, notes in self.entries[self.body].may.items():
            entry.may.setdefault(index, (here, *notes))
        for index, place in self._bound.items():
            entry.may.setdefault(index, (here, Note(f"`{index.name}` is bound here", place)))

    def _loop(self, one: tree.Loop, body: list[tree.Statement]) -> None:
        if not one.indices:  # a header that could not be read: it may bind anything
            return
        if one.parent and isinstance(one.parent.symbol, Index) and not one.broken:
            parent = one.parent.symbol
            if parent not in self._must and parent not in self._bound:
                text = (
                    f"the loop over `{one.indices[0].text}` is outside of a loop over "
                    f"`{parent.name}` (its parent must be bound) move it into one"
                )
                self.diagnostics.add("S207", one.parent.place, text, *self._chain(parent))
        added = []
        for name in one.indices:
            index = name.symbol
            if not isinstance(index, Index):
                continue
            notes: tuple[Note, ...] = ()
            if index in self._bound:
                notes = (Note("it is bound here", self._bound[index]),)
            elif index in self.entries[self.body].may:
                notes = self.entries[self.body].may[index]
            else:
                self._bound[index] = name.place
                added.append(index)
                continue
            text = f"`{name.text}` is bound already (an index has one loop at a time) use another"
            self.diagnostics.add("S205", name.place, text, *notes)
        self._uses(one, one.body)
        self._statements(one.body)
        for index in added:
            del self._bound[index]

    def _uses(self, one: tree.Statement, body: list[tree.Statement]) -> None:
        for top in mentioned(one):
            for part in inside(top):
                if isinstance(part, tree.NameUse) and isinstance(part.name.symbol, Index):
                    self._use(part.name.symbol, part.place, body)
                elif isinstance(part, tree.Reference) and not part.wrong:
                    for item in part.items:
                        if item.index is not None and item.upper is None:
                            self._use(item.selected, item.place, body)

    def _use(self, index: Index, place: Place, body: list[tree.Statement]) -> None:
        if index in self._must or index in self._bound:
            return
        if self.body.proc and not self.entries[self.body].calls:
            return  # nobody calls it
        # One forgotten loop makes one message, however many statements stand in it.
        if (index, id(body)) in self._reported:
            return
        self._reported.add((index, id(body)))
        text = (
            f"`{index.name}` is not bound here (no do or pardo around it has this index) add a loop"
        )
        self.diagnostics.add("S206", place, text, *self._chain(index))

    def _chain(self, index: Index) -> list[Note]:
        """Returns the calls through which a proc is reached with `index` unbound."""
        notes = []
        body = self.body
        while body.proc:
            calls = self.entries[body].calls
            found = next((one for one in calls if index not in one[2]), None)
            if found is None:
                break
            call, body, _ = found
            notes.append(Note(f"`{call.name.text}` is called here", call.place))
        return notes
