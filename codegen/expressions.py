"""The expression language of the table: a subset of Python, translated to C++ with checked types.

Names are the row's flags (compared with characters), dims (64-bit integers) and scalars (compared
only with 0).
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable

Rename = Callable[[str], str]


class ExpressionError(Exception):
    """The expression is not in the language, uses an unknown name or has the wrong type."""


@dataclasses.dataclass(frozen=True)
class Scope:
    """The names that an expression may use."""

    flags: dict[str, str]  # name -> legal characters
    dims: frozenset[str]
    scalars: frozenset[str]


_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "/"}
_COMPARISONS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
# Function of any number of numbers -> the type of its value.
_LISTS = {"product": "number", "is_permutation": "truth"}


class _Translator:
    """Each method returns (C++ text, type); types: truth, number, flag, character, scalar."""

    def __init__(self, text: str, scope: Scope, rename: Rename, real: bool) -> None:
        self.text = text
        self.scope = scope
        self.rename = rename
        self.real = real  # True: numbers are doubles; False: 64-bit integers

    def fail(self, problem: str) -> ExpressionError:
        return ExpressionError(f"'{self.text}': {problem}")

    def visit(self, node: ast.expr) -> tuple[str, str]:
        method = getattr(self, f"visit_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.fail(f"{type(node).__name__} is not in the expression language")
        result: tuple[str, str] = method(node)
        return result

    def typed(self, node: ast.expr, wanted: str) -> str:
        text, kind = self.visit(node)
        if kind != wanted:
            raise self.fail(f"'{ast.unparse(node)}' is a {kind}, not a {wanted}")
        return text

    def visit_name(self, node: ast.Name) -> tuple[str, str]:
        name = node.id
        for kind, known in (("flag", self.scope.flags), ("number", self.scope.dims)):
            if name in known:
                return self.rename(name), kind
        if name in self.scope.scalars:
            return self.rename(name), "scalar"
        known_names = sorted([*self.scope.flags, *self.scope.dims, *self.scope.scalars])
        raise self.fail(f"'{name}' is unknown (known: {', '.join(known_names)})")

    def visit_constant(self, node: ast.Constant) -> tuple[str, str]:
        value = node.value
        if isinstance(value, str) and len(value) == 1 and value.isupper():
            return f"'{value}'", "character"
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{value}.0" if self.real else f"std::int64_t{{{value}}}", "number"
        raise self.fail(f"{value!r} (constants are integers and upper-case characters)")

    def visit_binop(self, node: ast.BinOp) -> tuple[str, str]:
        operator = _ARITHMETIC.get(type(node.op))
        if operator is None:
            raise self.fail(f"{type(node.op).__name__} (operators: + - * / //)")
        if isinstance(node.op, ast.Div if not self.real else ast.FloorDiv):
            raise self.fail("/ is for flops, // for shapes")
        left, right = self.typed(node.left, "number"), self.typed(node.right, "number")
        return f"({left} {operator} {right})", "number"

    def visit_boolop(self, node: ast.BoolOp) -> tuple[str, str]:
        word = " && " if isinstance(node.op, ast.And) else " || "
        return "(" + word.join(self.typed(v, "truth") for v in node.values) + ")", "truth"

    def visit_unaryop(self, node: ast.UnaryOp) -> tuple[str, str]:
        if isinstance(node.op, ast.USub):
            return f"(-{self.typed(node.operand, 'number')})", "number"
        if not isinstance(node.op, ast.Not):
            raise self.fail(f"{type(node.op).__name__} is not in the expression language")
        return f"!{self.typed(node.operand, 'truth')}", "truth"

    def visit_ifexp(self, node: ast.IfExp) -> tuple[str, str]:
        test = self.typed(node.test, "truth")
        body, orelse = self.typed(node.body, "number"), self.typed(node.orelse, "number")
        return f"({test} ? {body} : {orelse})", "number"

    def visit_call(self, node: ast.Call) -> tuple[str, str]:
        functions = ("min", "max", "log2", *_LISTS)
        if not isinstance(node.func, ast.Name) or node.func.id not in functions:
            raise self.fail(f"only {', '.join(functions)} can be called")
        if node.func.id in _LISTS:
            numbers = ", ".join(self.typed(a, "number") for a in node.args)
            if not numbers or node.keywords:
                raise self.fail(f"{node.func.id} takes one or more numbers")
            return f"{node.func.id}({{{numbers}}})", _LISTS[node.func.id]
        if node.func.id == "log2":
            if len(node.args) != 1 or node.keywords:
                raise self.fail("log2 takes one number")
            return f"log2({self.typed(node.args[0], 'number')})", "number"
        if len(node.args) != 2 or node.keywords:
            raise self.fail(f"{node.func.id} takes two numbers")
        left, right = (self.typed(a, "number") for a in node.args)
        return f"std::{node.func.id}({left}, {right})", "number"

    def visit_compare(self, node: ast.Compare) -> tuple[str, str]:
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARISONS:
            raise self.fail("write one comparison at a time, with == != < <= > >=")
        operator = _COMPARISONS[type(node.ops[0])]
        right_node = node.comparators[0]
        left, kind = self.visit(node.left)
        if kind == "flag":
            return self.compare_flag(left, operator, node.left, right_node), "truth"
        if kind == "scalar":
            if operator not in ("==", "!=") or ast.unparse(right_node) != "0":
                raise self.fail("a scalar can only be compared with 0 (== or !=)")
            return f"{'!' if operator == '!=' else ''}is_zero({left})", "truth"
        if kind != "number":
            raise self.fail(f"'{ast.unparse(node.left)}' cannot be compared")
        return f"({left} {operator} {self.typed(right_node, 'number')})", "truth"

    def compare_flag(self, left: str, operator: str, name: ast.expr, right: ast.expr) -> str:
        character = self.typed(right, "character")
        if operator not in ("==", "!="):
            raise self.fail("a flag can only be compared with == or !=")
        if isinstance(name, ast.Name) and character[1] not in self.scope.flags[name.id]:
            raise self.fail(f"{name.id} is never {character} ({self.scope.flags[name.id]})")
        return f"({left} {operator} {character})"


def translate(text: str, scope: Scope, rename: Rename, wanted: str) -> str:
    """Translates `text` to C++. `rename` gives the C++ of a name. `wanted` is truth, integer or
    real."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ExpressionError(f"'{text}': {error.msg}") from None
    translator = _Translator(text, scope, rename, real=wanted == "real")
    return translator.typed(tree.body, "truth" if wanted == "truth" else "number")
