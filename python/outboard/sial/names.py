"""Finds what the names in statements stand for, and checks their sorts."""

from __future__ import annotations

from dataclasses import dataclass

from outboard.sial import tree
from outboard.sial.declare import Declarer, Globals, wrong_sort
from outboard.sial.diagnostics import Diagnostics
from outboard.sial.scope import Scope
from outboard.sial.selectors import check_form
from outboard.sial.symbols import Array, Index, Int, Poison, Scalar, Special, Symbol
from outboard.sial.tree import Proc

_VALUES = (Int, Scalar, Index, Array)


def resolve(modules: list[tree.Module], diagnostics: Diagnostics) -> dict[int, Scope]:
    """Finds all names. `modules` come after those that they import; the last one is the program.

    Returns the scopes by the numbers of the sources.
    """
    scopes: dict[int, Scope] = {}
    shared = Globals()
    for module in modules:
        program = module.program.text if module.program else ""
        scope = Scope(program, imports=[scopes[one.source] for one in module.direct])
        scope.incomplete = module.incomplete
        scopes[module.source] = scope
        imported = module is not modules[-1]
        Declarer(module, scope, shared, diagnostics, imported).declare()
        resolver = _Resolver(scope, diagnostics)
        for one in module.declarations:
            if isinstance(one, tree.ProcDeclaration):
                resolver.statements(one.body)
        resolver.statements(module.body)
    return scopes


@dataclass(slots=True)
class _Resolver:
    scope: Scope
    diagnostics: Diagnostics

    def statements(self, body: list[tree.Statement]) -> None:
        for statement in tree.walk(body):
            before = self.diagnostics.errors
            good = self._statement(statement)
            if self.diagnostics.errors > before or not good:
                statement.broken = True

    def _find(self, name: tree.Name, wanted: tuple[type[Symbol], ...], what: str) -> bool:
        symbol = self.scope.find(name, self.diagnostics)
        if symbol is None or isinstance(symbol, Poison):
            return False
        if not isinstance(symbol, wanted):
            wrong_sort(self.diagnostics, name, symbol, what)
            return False
        return True

    def _statement(self, one: tree.Statement) -> bool:
        """Returns false if a name of this statement is unknown or wrong."""
        match one:
            case tree.Loop():
                return self._loop(one)
            case tree.If():
                return one.relation is None or self._relation(one.relation)
            case tree.Call():
                return self._find(one.name, (Proc,), "a proc")
            case tree.Assign() | tree.Put():
                target = self._expression(one.target)
                return self._expression(one.value) and target
            case tree.Get():
                return self._expression(one.target)
            case tree.Allocate():
                return self._expression(one.target, all_segments=True)
            case tree.WholeArray():
                return self._find(one.name, (Array,), "an array")
            case tree.Collective():
                value = self._expression(one.value)
                return self._find(one.name, _VALUES, "an int, a scalar or an array") and value
            case tree.AssertSame():
                return self._find(one.name, (Int, Scalar, Array), "an int, a scalar or an array")
            case tree.Broadcast():
                value = self._expression(one.worker)
                return self._find(one.name, (Array,), "an array") and value
            case tree.Print():
                return self._expression(one.value)
            case tree.Execute():
                return self._execute(one)
            case tree.Persist():
                return self._find(one.name, (Scalar, Array, Int, Index), "a scalar or an array")
            case tree.GpuHint():
                return self._expression(one.argument)
        return True

    def _loop(self, one: tree.Loop) -> bool:
        names = [*one.indices, one.parent] if one.parent else one.indices
        good = [self._find(name, (Index,), "an index") for name in names]
        for where in one.where:
            before = self.diagnostics.errors
            if not self._relation(where.relation) or self.diagnostics.errors > before:
                where.broken = True
        return all(good)

    def _execute(self, one: tree.Execute) -> bool:
        symbol = self.scope.find(one.name, self.diagnostics, "S701")
        good = [self._expression(argument) for argument in one.arguments]
        if symbol is None or isinstance(symbol, Poison):
            return False
        if not isinstance(symbol, Special):
            wrong_sort(self.diagnostics, one.name, symbol, "a super-instruction")
            return False
        return all(good)

    def _relation(self, one: tree.Relation) -> bool:
        left = self._expression(one.left)
        return self._expression(one.right) and left

    def _expression(self, one: tree.Expression, *, all_segments: bool = False) -> bool:
        """`all_segments` permits `*` in a selector, here and in nothing inside of it."""
        match one:
            case tree.NameUse():
                return self._find(one.name, _VALUES, "a value")
            case tree.Reference():
                one.wrong |= not self._reference(one, all_segments)
                return not one.wrong
            case tree.Binary():
                left = self._expression(one.left)
                return self._expression(one.right) and left
            case tree.Negate() | tree.SquareRoot() | tree.Cast():
                return self._expression(one.operand)
        return True

    def _reference(self, one: tree.Reference, all_segments: bool) -> bool:
        symbol = self.scope.find(one.name, self.diagnostics, called=one.parentheses)
        if symbol is None:
            # Whether its positions hold indices is open, because it may be no array at all.
            for item in one.items:
                for part in (item.lower, item.upper):
                    if part is not None:
                        self._expression(part)
            return False
        good = not isinstance(symbol, Poison) and self._find(one.name, (Array,), "an array")
        check_form(one, self.diagnostics)
        for item in one.items:
            if item.star:
                good = (all_segments or self._no_star(item)) and good
            elif item.upper is not None or item.index is None:
                for bound in (item.lower, item.upper):
                    good = (bound is None or self._expression(bound)) and good
            else:
                good = self._find(item.index, (Index,), "an index") and good
        return good

    def _no_star(self, item: tree.Item) -> bool:
        text = "`*` selects all segments (only allocate and deallocate do that) write an index"
        self.diagnostics.add("S003", item.place, text)
        return False
