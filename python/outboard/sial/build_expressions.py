"""Builds the expressions and selectors of the syntax tree from the rules of grammar.lark.

Each method has the name of a rule or of an alias, and gets the parts of the rule.
"""

from __future__ import annotations

import math
from typing import Any

from lark import Token, Transformer

from outboard.sial import tree
from outboard.sial.diagnostics import Diagnostics
from outboard.sial.source import Place, Source

INT_END = 1 << 63
# Deeper expressions would need more values than byte code has on its stack.
MOST_NESTED = 128


def too_large(diagnostics: Diagnostics, place: Place) -> None:
    """Reports an integer that an int cannot hold."""
    diagnostics.add(
        "S004", place, "the integer is too large (an int has 64 bits, up to 9223372036854775807)"
    )


class TooDeepError(Exception):
    """Ends the parsing of a line, after its diagnostic."""


class ExpressionBuilder(Transformer):  # type: ignore[type-arg]  # the stubs leave them open
    """The callbacks of the parser. `source` is the text that is being parsed."""

    def __init__(self) -> None:
        super().__init__(visit_tokens=False)
        self.source = Source(0, "", None, "")
        self.diagnostics = Diagnostics()

    # --- places and names ----------------------------------------------------------------------

    def place(self, token: Token) -> Place:
        assert token.start_pos is not None
        return self.source.place(token.start_pos, len(token))

    def make_name(self, token: Token) -> tree.Name:
        return tree.Name(str(token), self.place(token))

    def declared(self, token: Token) -> tree.Name:
        """Returns the name of a declaration, which must not be qualified."""
        if "." in token:
            self.diagnostics.add(
                "S003",
                self.place(token),
                f"`{token}` cannot be declared (a point parts the name of a program from a name "
                "in it) use `_`",
            )
        return self.make_name(token)

    def older(self, token: Token, old: str, new: str) -> None:
        self.diagnostics.add(
            "W01", self.place(token), f"{old} is an older spelling (it is accepted) write {new}"
        )

    # --- expressions ---------------------------------------------------------------------------

    def _deep(self, node: Any, *operands: tree.Expression) -> Any:
        node.depth = 1 + max(operand.depth for operand in operands)
        if node.depth > MOST_NESTED:
            self.diagnostics.add(
                "S004",
                node.place,
                f"the expression is too long (more than {MOST_NESTED} operations) part it into "
                "several statements",
            )
            raise TooDeepError
        return node

    def integer(self, parts: list[Token]) -> tree.Expression:
        digits = str(parts[0]).lstrip("0") or "0"
        # 2^63 may stand behind a minus, which is read later. names.py and expressions.py refuse it
        # elsewhere.
        value = int(digits) if len(digits) < 20 else INT_END + 1
        if value > INT_END:
            too_large(self.diagnostics, self.place(parts[0]))
            value = 1
        return tree.IntNumber(self.place(parts[0]), value)

    def real(self, parts: list[Token]) -> tree.Expression:
        text = str(parts[0]).lower().replace("d", "e")
        value = float(text)
        if math.isinf(value):
            self.diagnostics.add(
                "S004",
                self.place(parts[0]),
                f"the number {parts[0]} is too large (a scalar is a double, up to 1.79e308)",
            )
            value = 1.0
        return tree.RealNumber(self.place(parts[0]), value)

    def number(self, parts: list[Token]) -> tree.Expression:
        positive = self.real(parts[-1:]) if parts[-1].type == "REAL" else self.integer(parts[-1:])
        return self.negate([*parts[:-1], positive]) if len(parts) > 1 else positive

    def text(self, parts: list[Token]) -> tree.Text:
        if "\0" in parts[0]:
            self.diagnostics.add(
                "S001",
                self.place(parts[0]),
                "the string holds a NUL character (strings of a program are text) remove it",
            )
        return tree.Text(self.place(parts[0]), str(parts[0])[1:-1])

    def name(self, parts: list[Token]) -> tree.NameUse:
        return tree.NameUse(self.place(parts[0]), self.make_name(parts[0]))

    def bound_name(self, parts: list[Token]) -> tree.Name:
        return self.make_name(parts[0])

    def grouped(self, parts: list[tree.Expression]) -> tree.Expression:
        parts[0].grouped = True
        return self._deep(parts[0], parts[0])  # type: ignore[no-any-return]

    def binary(self, parts: list[Any]) -> tree.Expression:
        left, operator, right = parts
        node = tree.Binary(left.place, str(operator), left, right, self.place(operator))
        return self._deep(node, left, right)  # type: ignore[no-any-return]

    def negate(self, parts: list[Any]) -> tree.Expression:
        minus, operand = parts
        place = self.place(minus)
        if isinstance(operand, tree.IntNumber) and not operand.grouped:
            return tree.IntNumber(place, -operand.value)
        if isinstance(operand, tree.RealNumber) and not operand.grouped:
            return tree.RealNumber(place, -operand.value)
        return self._deep(tree.Negate(place, operand), operand)  # type: ignore[no-any-return]

    def square_root(self, parts: list[Any]) -> tree.Expression:
        node = tree.SquareRoot(self.place(parts[0]), parts[1])
        return self._deep(node, parts[1])  # type: ignore[no-any-return]

    def cast(self, parts: list[Any]) -> tree.Expression:
        node = tree.Cast(self.place(parts[0]), str(parts[0]), parts[1])
        return self._deep(node, parts[1])  # type: ignore[no-any-return]

    def relation(self, parts: list[Any]) -> tree.Relation:
        left, operator, right = parts
        return tree.Relation(left.place, str(operator), left, right)

    def comparison(self, parts: list[Token]) -> Token:
        return parts[0]

    assignment = array_kind = index_kind = comparison

    # --- selectors -----------------------------------------------------------------------------

    def item(self, parts: list[tree.Expression]) -> tree.Item:
        first = parts[0]
        item = tree.Item(first.place, lower=first)
        if len(parts) > 1:
            item.upper = parts[1]
            return item
        cast = isinstance(first, tree.Cast) and first.to == "index" and not first.grouped
        inner = first.operand if isinstance(first, tree.Cast) and cast else first
        if isinstance(inner, tree.NameUse) and not inner.grouped:
            item.index, item.cast = inner.name, cast
        return item

    def star(self, parts: list[Token]) -> tree.Item:
        return tree.Item(self.place(parts[0]), star=True)

    def items(self, parts: list[tree.Item]) -> list[tree.Item]:
        return parts

    def ids(self, parts: list[Token]) -> list[tree.Name]:
        return [self.make_name(one) for one in parts]

    def reference(self, parts: list[Any]) -> tree.Reference:
        token, items = parts
        node = tree.Reference(self.place(token), self.make_name(token), items)
        inside = [one for item in items for one in (item.lower, item.upper) if one is not None]
        return self._deep(node, *inside) if inside else node

    def old_reference(self, parts: list[Any]) -> tree.Expression:
        node = self.reference(parts)
        node.parentheses = True
        return node
