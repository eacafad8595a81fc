"""Warnings that need no flow: powers, schedules, unused names, hints, predefined values."""

from __future__ import annotations

from outboard.sial import tree
from outboard.sial.accesses import assigned_in, read_in
from outboard.sial.calls import CallGraph
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.emit import SCHEDULES
from outboard.sial.execute import WHOLE_ARRAYS
from outboard.sial.expressions_of import inside, mentioned
from outboard.sial.scope import Scope
from outboard.sial.symbols import Array, Index, Int, Poison, Scalar, Symbol
from outboard.sial.tree import Proc


def warn(graph: CallGraph, scope: Scope, diagnostics: Diagnostics) -> None:
    """Warns about the bodies that run, and about the names of the main file."""
    for body in graph.order:
        for one in tree.walk(body.statements):
            if not one.broken:
                _statement(one, diagnostics)
    _collectives(graph, diagnostics)
    called = set(graph.procs)
    for symbol in scope.own.values():
        used = symbol in called if isinstance(symbol, Proc) else symbol.used
        if not used and not isinstance(symbol, Poison):
            word = "called" if isinstance(symbol, Proc) else "used"
            text = f"`{symbol.name}` is never {word} (it is not in the byte code) remove it"
            diagnostics.add("W07", symbol.place, text)


def _statement(one: tree.Statement, diagnostics: Diagnostics) -> None:
    for top in mentioned(one):
        for part in inside(top):
            if isinstance(part, tree.Binary) and part.operator == "**":
                _power(part, diagnostics)
    match one:
        case tree.Loop() if one.schedule and one.schedule.value not in SCHEDULES:
            names = ", ".join(SCHEDULES)
            text = f'"{one.schedule.value}" is no schedule (it is ignored) use one of {names}'
            diagnostics.add("W06", one.schedule.place, text)
        case tree.Collective(name=target, value=tree.NameUse() as added) if (
            added.name.symbol is target.symbol
        ):
            name = target.text
            text = (
                f"`collective {name} += {name}` adds the sum of all workers to the `{name}` of "
                "each, so its own part counts twice (workers keep what they had) add to another "
                "variable, which is zero before"
            )
            diagnostics.add("W13", one.place, text)
        case tree.GpuHint():
            text = f"`{one.word}` has no effect (the runtime copies blocks by itself) remove it"
            diagnostics.add("W10", one.place, text)
    if isinstance(one, tree.Loop | tree.If | tree.Section | tree.GpuRegion):
        return
    for symbol in assigned_in([one]):
        if isinstance(symbol, Int | Scalar) and symbol.predefined:
            text = (
                f"the predefined `{symbol.name}` is assigned (bounds of indices do not follow, and "
                "the next program gets the value of the job file) use another variable"
            )
            diagnostics.add("W12", one.place, text, Note("its declaration", symbol.place))


def _power(one: tree.Binary, diagnostics: Diagnostics) -> None:
    left = one.left
    if left.grouped:
        return
    minus = isinstance(left, tree.Negate) or (isinstance(left, tree.RealNumber) and left.value < 0)
    if minus:
        text = "`-x ** y` is `(-x) ** y` (the minus comes first) write the parentheses"
    elif isinstance(left, tree.Binary) and left.operator == "**":
        text = "`x ** y ** z` is `(x ** y) ** z` (from left to right) write the parentheses"
    else:
        return
    diagnostics.add("W03", one.operator_place, text)


def _collectives(graph: CallGraph, diagnostics: Diagnostics) -> None:
    """Warns about collective statements under conditions that may differ between workers."""
    private = _private(graph)

    def visit(body: list[tree.Statement], condition: tree.If | None) -> None:
        for one in body:
            barrier = isinstance(one, tree.Simple) and one.word.endswith("_barrier")
            waits = isinstance(one, tree.Collective | tree.AssertSame | tree.Broadcast)
            if isinstance(one, tree.Execute) and one.special:
                waits = one.special.name in WHOLE_ARRAYS
            if condition and (barrier or waits):
                text = (
                    "this statement waits for all workers (the condition around it may differ "
                    "between them) make the condition the same with `collective`"
                )
                note = Note("the condition", condition.place)
                diagnostics.add("W09", one.place, text, note)
            inner = condition
            if isinstance(one, tree.If) and one.relation and _differs(one.relation, private):
                inner = one
            for part in tree.bodies(one):
                visit(part, inner)

    for body in graph.order:
        visit(body.statements, None)


def _differs(relation: tree.Relation, private: set[Symbol]) -> bool:
    read = [*read_in(relation.left), *read_in(relation.right)]
    return any(one in private for one in read)


def _private(graph: CallGraph) -> set[Symbol]:
    """Returns variables that may differ: set in a pardo, by a super-instruction, or from such."""
    everything = [one for body in graph.order for one in tree.walk(body.statements)]
    private: set[Symbol] = set()
    same: set[Symbol] = set()
    for one in everything:
        match one:
            case tree.Loop(word="pardo"):
                private |= changed_in(one.body)
            case tree.Execute():
                private |= assigned_in([one])
            case tree.AssertSame() | tree.Broadcast() | tree.Collective():
                if one.name.symbol:
                    same.add(one.name.symbol)
    private -= same
    grows = True
    while grows:
        grows = False
        for one in everything:
            if isinstance(one, tree.Assign) and (target := one.target.name.symbol):
                read = set(read_in(one.value))
                if target not in private | same and read & private:
                    private.add(target)
                    grows = True
    return {one for one in private if not isinstance(one, Index)}


def changed_in(body: list[tree.Statement]) -> set[Symbol]:
    """Returns the variables and arrays that `body` may change, through calls too."""
    found: set[Symbol] = set()
    seen: set[Proc] = set()
    waiting = [body]
    while waiting:
        part = waiting.pop()
        found |= assigned_in(part)
        for one in tree.walk(part):
            if isinstance(one, tree.Call) and one.proc and one.proc not in seen:
                seen.add(one.proc)
                waiting.append(one.proc.body)
    return {one for one in found if not (isinstance(one, Array) and one.remote)}
