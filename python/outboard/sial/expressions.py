"""Types of expressions of ints and scalars. Blocks of one element are scalars."""

from __future__ import annotations

from dataclasses import dataclass

from outboard.sial import tree
from outboard.sial.build_expressions import INT_END, too_large
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.selectors import check_selector, element, no_slice
from outboard.sial.source import Place
from outboard.sial.symbols import Array, Int, Scalar
from outboard.sial.symbols import Index as IndexSymbol

# None is the type of an expression with a mistake, which was reported.
Type = str | None
_SAME = {"+", "-", "*", "/"}


def is_block(one: tree.Expression) -> bool:
    """True for a block with more than one element, a region, and one that is wrong."""
    return isinstance(one, tree.Reference) and not element(one)


def holds_block(one: tree.Expression) -> bool:
    """True if a block with more than one element occurs in `one`."""
    match one:
        case tree.Binary():
            return holds_block(one.left) or holds_block(one.right)
        case tree.Negate() | tree.SquareRoot() | tree.Cast():
            return holds_block(one.operand)
    return is_block(one)


@dataclass(slots=True)
class Typer:
    """Finds types and reports mistakes, each once."""

    diagnostics: Diagnostics

    def error(self, code: str, place: Place, text: str, *notes: Note) -> None:
        self.diagnostics.add(code, place, text, *notes)

    def scalar(self, one: tree.Expression, what: str) -> bool:
        """Reports `one` unless it is a scalar. `what` names the thing that takes it."""
        return self._wanted(one, "scalar", what)

    def integer(self, one: tree.Expression, what: str) -> bool:
        """Reports `one` unless it is an int."""
        return self._wanted(one, "int", what)

    def _wanted(self, one: tree.Expression, wanted: str, what: str) -> bool:
        found = self.value(one)
        if found is None or found == wanted:
            return found is not None
        if found == "string":
            self.error("S303", one.place, f"a string where {what} takes a number")
        else:
            text = (
                f"{_article(found)} where {what} takes {_article(wanted)} (they are not converted) "
                f"write {_converted(one, wanted)}"
            )
            self.error("S301", one.place, text)
        return False

    def value(self, one: tree.Expression) -> Type:
        """Returns int, scalar or string. Reports mistakes inside of `one`."""
        match one:
            case tree.IntNumber():
                if one.value >= INT_END:
                    too_large(self.diagnostics, one.place)
                return "int"
            case tree.RealNumber():
                return "scalar"
            case tree.Text():
                return "string"
            case tree.NameUse():
                return self._name(one)
            case tree.Reference():
                return self._reference(one)
            case tree.Binary():
                return self._binary(one)
            case tree.Negate():
                return self._negate(one)
            case tree.SquareRoot():
                return self._root(one)
            case tree.Cast():
                return self._cast(one)
        raise AssertionError(one)

    def relation(self, one: tree.Relation) -> None:
        """Checks a comparison."""
        left, right = self.value(one.left), self.value(one.right)
        one.ints = left == "int"
        if left is None or right is None:
            return
        if "string" in (left, right):
            self.error("S302", one.place, "strings are compared (only numbers can be)")
        elif left != right:
            whole = one.left if left == "int" else one.right
            text = (
                "an int is compared with a scalar (they are not converted) write "
                f"{_converted(whole, 'scalar')}"
            )
            self.error("S302", one.place, text)

    def _name(self, one: tree.NameUse) -> Type:
        match one.name.symbol:
            case Int() | IndexSymbol():
                return "int"
            case Scalar():
                return "scalar"
            case Array():
                text = f"the whole array `{one.name.text}` is used as a value (select a block)"
                self.error("S411", one.place, text)
        return None

    def _reference(self, one: tree.Reference) -> Type:
        if not check_selector(one, self.diagnostics):
            return None
        if element(one):
            return "scalar"
        no_slice(one, self.diagnostics)
        if one.wrong:
            return None
        what = "region" if one.region else "block"
        text = (
            f"the {what} of `{one.name.text}` has more than one element (a number is needed here) "
            "use blocks of simple indices, or contract it to a scalar first"
        )
        self.error("S307", one.place, text)
        return None

    def _binary(self, one: tree.Binary) -> Type:
        if is_block(one.left) or is_block(one.right):
            self._nested(one)
            return None
        left, right = self.value(one.left), self.value(one.right)
        if left is None or right is None:
            return None
        operator = one.operator
        if operator == "^":
            text = "`^` stands between numbers (it is the outer product of blocks) write `**`"
            self.error("S303", one.operator_place, text)
            return None
        if "string" in (left, right):
            self.error("S303", one.operator_place, f"strings have no `{operator}`")
            return None
        if left != right:
            whole = one.left if left == "int" else one.right
            text = (
                f"`{operator}` mixes an int and a scalar (they are not converted) write "
                f"{_converted(whole, 'scalar')}"
            )
            self.error("S301", one.operator_place, text)
            return None
        if operator == "**" and left == "int":
            text = "ints have no `**` (powers are for scalars) multiply, or cast to scalar"
            self.error("S303", one.operator_place, text)
            return None
        return left

    def _nested(self, one: tree.Binary) -> None:
        """Reports an operation on blocks where it cannot stand."""
        good = [
            check_selector(operand, self.diagnostics)
            for operand in (one.left, one.right)
            if isinstance(operand, tree.Reference)
        ]
        if all(good):
            text = (
                f"`{one.operator}` on blocks inside of an expression (a statement has one "
                "operation on blocks) store it in a temp, or in a scalar if all labels are shared"
            )
            self.error("S304", one.operator_place, text)

    def _negate(self, one: tree.Negate) -> Type:
        if is_block(one.operand) and self._operand_fits(one.operand):
            text = "a block has no minus (a scaled copy has) write `-1.0 * block`"
            self.error("S304", one.place, text)
            return None
        found = self.value(one.operand)
        if found == "string":
            self.error("S303", one.place, "strings have no `-`")
            return None
        return found

    def _operand_fits(self, one: tree.Expression) -> bool:
        return isinstance(one, tree.Reference) and check_selector(one, self.diagnostics)

    def _root(self, one: tree.SquareRoot) -> Type:
        found = self.value(one.operand)
        if found in (None, "scalar"):
            return found
        if found == "int":
            text = f"sqrt of an int (it is for scalars) write {_converted(one.operand, 'scalar')}"
            self.error("S303", one.place, text)
        else:
            self.error("S303", one.place, "sqrt of a string")
        return None

    def _cast(self, one: tree.Cast) -> Type:
        if is_block(one.operand):
            if self._operand_fits(one.operand):
                text = f"a block cannot be cast to {one.to} (casts are for numbers)"
                self.error("S304", one.place, text)
            return None
        found = self.value(one.operand)
        if found == "string":
            self.error("S303", one.place, "a string cannot be cast")
            return None
        return found and ("scalar" if one.to == "scalar" else "int")


def _article(found: str) -> str:
    return f"an {found}" if found[0] in "aeiou" else f"a {found}"


def _converted(one: tree.Expression, wanted: str) -> str:
    if isinstance(one, tree.IntNumber) and wanted == "scalar":
        return f"`{one.value}.0`"
    if isinstance(one, tree.RealNumber) and wanted == "int":
        return f"`{round(one.value)}`"
    if isinstance(one, tree.NameUse):
        return f"`({wanted}) {one.name.text}`"
    return f"`({wanted}) (..)`"
