"""The call graph: which procs are called, from where, and whether one reaches itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from outboard.sial import tree
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.tree import Proc


@dataclass(slots=True, eq=False)
class Body:
    """The program (`proc` is None) or a proc."""

    proc: Proc | None
    statements: list[tree.Statement]

    @property
    def calls(self) -> list[tree.Call]:
        return [one for one in tree.walk(self.statements) if isinstance(one, tree.Call)]


@dataclass(slots=True)
class CallGraph:
    """All bodies that run, callers before the procs that they call."""

    order: list[Body] = field(default_factory=list)
    _bodies: dict[Proc, Body] = field(default_factory=dict)

    def body_of(self, proc: Proc) -> Body:
        if proc not in self._bodies:
            self._bodies[proc] = Body(proc, proc.body)
        return self._bodies[proc]

    @property
    def procs(self) -> list[Proc]:
        """The procs that are called, directly or not."""
        return [one.proc for one in self.order if one.proc]


def call_graph(
    main: list[tree.Statement], procs: list[Proc], diagnostics: Diagnostics
) -> CallGraph:
    """Returns the graph of the program `main`. Reports recursion, also in procs that nobody
    calls."""
    graph = CallGraph()
    state: dict[Body, int] = {}
    finished: list[Body] = []

    def visit(body: Body) -> None:
        stack: list[tuple[Body, Iterator[tree.Call], tree.Call | None]] = [
            (body, iter(body.calls), None)
        ]
        state[body] = 1
        while stack:
            current, calls, _ = stack[-1]
            for call in calls:
                if call.proc is None:
                    continue
                target = graph.body_of(call.proc)
                if state.get(target) == 1:
                    path = [one for one, _, _ in stack]
                    chain = [made for _, _, made in stack[path.index(target) + 1 :] if made]
                    _recursion(call, chain, diagnostics)
                elif target not in state:
                    state[target] = 1
                    stack.append((target, iter(target.calls), call))
                    break
            else:
                state[current] = 2
                finished.append(current)
                stack.pop()

    visit(Body(None, main))
    graph.order = finished[::-1]
    for proc in procs:
        if graph.body_of(proc) not in state:
            visit(graph.body_of(proc))
    return graph


def _recursion(call: tree.Call, chain: list[tree.Call], diagnostics: Diagnostics) -> None:
    text = (
        f"`{call.name.text}` calls itself (procs have no memory of their own, so recursion is "
        "impossible) use a loop"
    )
    notes = [Note(f"through this call of `{one.name.text}`", one.place) for one in chain]
    diagnostics.add("S108", call.name.place, text, *notes)
    call.broken = True
