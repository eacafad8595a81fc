"""Writes the instructions of expressions."""

from __future__ import annotations

from dataclasses import dataclass, field

from outboard.sial import tree
from outboard.sial.diagnostics import Diagnostics
from outboard.sial.fold import fold, operations
from outboard.sial.notes import Notes
from outboard.sial.opcodes import COMPARISONS, Op
from outboard.sial.pools import Pools
from outboard.sial.records import MAX_STACK, Record
from outboard.sial.source import Place
from outboard.sial.symbols import Index, Int, Scalar

_INT = {"+": Op.INT_ADD, "-": Op.INT_SUBTRACT, "*": Op.INT_MULTIPLY, "/": Op.INT_DIVIDE}
_SCALAR = {
    "+": Op.SCALAR_ADD,
    "-": Op.SCALAR_SUBTRACT,
    "*": Op.SCALAR_MULTIPLY,
    "/": Op.SCALAR_DIVIDE,
    "**": Op.SCALAR_POWER,
}


@dataclass(slots=True)
class ExpressionWriter:
    """Appends instructions to the sections of code and lines."""

    pools: Pools
    diagnostics: Diagnostics
    notes: Notes | None = None  # None: constant parts are not computed here
    _depth: int = field(default=0, init=False)

    def add(self, op: Op, place: Place, *, x: int = 0, a: int = 0, b: int = 0, c: int = 0) -> int:
        """Appends an instruction and returns its number."""
        program = self.pools.program
        record: Record = {"op": int(op), "x": x, "a": a, "b": b, "c": c}
        program["code"].append(record)
        line: Record = {"source": place.source, "line": place.line, "column": place.column}
        program["line"].append(line)
        return len(program["code"]) - 1

    def value(self, one: tree.Expression) -> str:
        """Writes the code that pushes a value, and returns its type."""
        if self.notes is None:
            return self._write(one)
        folded = fold(one)
        if operations(folded) < operations(one):
            self.notes.add(one.place, "constants: a part of an expression is computed here")
        return self._write(folded)

    def _write(self, one: tree.Expression) -> str:
        match one:
            case tree.IntNumber():
                return self._push(Op.PUSH_INT, one, self.pools.int_constant(one.value), "int")
            case tree.RealNumber():
                number = self.pools.scalar_constant(one.value)
                return self._push(Op.PUSH_SCALAR, one, number, "scalar")
            case tree.NameUse():
                return self._name(one)
            case tree.Reference():
                return self._push(Op.PUSH_ELEMENT, one, self.pools.selector(one), "scalar")
            case tree.Binary():
                return self._binary(one)
            case tree.Negate():
                kind = self._write(one.operand)
                self.add(Op.INT_NEGATE if kind == "int" else Op.SCALAR_NEGATE, one.place)
                return kind
            case tree.SquareRoot():
                self._write(one.operand)
                self.add(Op.SCALAR_SQRT, one.place)
                return "scalar"
            case tree.Cast():
                return self._cast(one)
        raise AssertionError(one)

    def _push(self, op: Op, one: tree.Expression, number: int, kind: str) -> str:
        self._depth += 1
        if self._depth > MAX_STACK:
            text = (
                f"the expression is nested too deeply (it needs more than {MAX_STACK} values at "
                "once) part it into several statements"
            )
            self.diagnostics.add("S004", one.place, text)
        self.add(op, one.place, a=number)
        return kind

    def drop(self, count: int) -> None:
        """Notes that the next instruction takes `count` values from the stack."""
        self._depth -= count

    def _name(self, one: tree.NameUse) -> str:
        match one.name.symbol:
            case Int() as symbol:
                return self._push(Op.PUSH_INT_VARIABLE, one, self.pools.variable(symbol), "int")
            case Scalar() as symbol:
                number = self.pools.variable(symbol)
                return self._push(Op.PUSH_SCALAR_VARIABLE, one, number, "scalar")
            case Index() as symbol:
                return self._push(Op.PUSH_INDEX, one, self.pools.index(symbol), "int")
        raise AssertionError(one.name)

    def _binary(self, one: tree.Binary) -> str:
        kind = self._write(one.left)
        self._write(one.right)
        operations = _INT if kind == "int" else _SCALAR
        self.add(operations[one.operator], one.operator_place)
        self.drop(1)
        return kind

    def _cast(self, one: tree.Cast) -> str:
        kind = self._write(one.operand)
        wanted = "scalar" if one.to == "scalar" else "int"
        if kind != wanted:
            self.add(Op.INT_TO_SCALAR if wanted == "scalar" else Op.SCALAR_TO_INT, one.place)
        return wanted

    def relation(self, one: tree.Relation) -> None:
        """Writes the code that pushes 1 or 0."""
        kind = self.value(one.left)
        self.value(one.right)
        op = Op.COMPARE_INTS if kind == "int" else Op.COMPARE_SCALARS
        self.add(op, one.place, x=COMPARISONS[one.operator])
        self.drop(1)

    def bounds(self, region: tree.Reference) -> None:
        """Writes the code that pushes the bounds of a region."""
        for item in region.items:
            for bound in (item.lower, item.upper):
                assert bound is not None
                self.value(bound)
