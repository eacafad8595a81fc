"""Computes the constant parts of expressions, as the runtime would.

A part whose value the runtime would refuse (overflow, division by zero, a result that is not
finite) stays, so that the error appears when and if the statement runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from outboard.sial import tree
from outboard.sial.build_expressions import INT_END
from outboard.sial.tree import IntNumber, RealNumber


def _truncated(left: int, right: int) -> int:
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


_INT: dict[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _truncated,
}
_SCALAR: dict[str, Callable[[float, float], float]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "**": math.pow,
}


def fold(one: tree.Expression) -> tree.Expression:
    """Returns an expression of the same value with constant parts computed."""
    match one:
        case tree.Binary():
            left, right = fold(one.left), fold(one.right)
            value = _binary(one, left, right)
            if value:
                return value
            return tree.Binary(one.place, one.operator, left, right, one.operator_place)
        case tree.Negate():
            operand = fold(one.operand)
            if isinstance(operand, IntNumber | RealNumber):
                return _number(one, -operand.value) or tree.Negate(one.place, operand)
            return tree.Negate(one.place, operand)
        case tree.SquareRoot():
            operand = fold(one.operand)
            if isinstance(operand, RealNumber) and operand.value >= 0:
                return tree.RealNumber(one.place, math.sqrt(operand.value))
            return tree.SquareRoot(one.place, operand)
        case tree.Cast():
            operand = fold(one.operand)
            return _cast(one, operand) or tree.Cast(one.place, one.to, operand)
    return one


def operations(one: tree.Expression) -> int:
    """Returns how many operations an expression has; signs of numbers are none."""
    match one:
        case tree.Binary():
            return 1 + operations(one.left) + operations(one.right)
        case tree.Negate(operand=IntNumber() | RealNumber()):
            return 0
        case tree.Negate() | tree.SquareRoot() | tree.Cast():
            return 1 + operations(one.operand)
    return 0


def _number(one: tree.Expression, value: float | int) -> tree.Expression | None:
    """Returns a literal, or None for a value that an int or a scalar cannot have."""
    if isinstance(value, int):
        return tree.IntNumber(one.place, value) if -INT_END <= value < INT_END else None
    return tree.RealNumber(one.place, value) if math.isfinite(value) else None


def _binary(
    one: tree.Binary, left: tree.Expression, right: tree.Expression
) -> tree.Expression | None:
    try:
        if isinstance(left, IntNumber) and isinstance(right, IntNumber):
            return _number(one, _INT[one.operator](left.value, right.value))
        if isinstance(left, RealNumber) and isinstance(right, RealNumber):
            return _number(one, _SCALAR[one.operator](left.value, right.value))
    except (ArithmeticError, ValueError):
        pass
    return None


def _cast(one: tree.Cast, operand: tree.Expression) -> tree.Expression | None:
    if isinstance(operand, IntNumber):
        return _number(one, float(operand.value) if one.to == "scalar" else operand.value)
    if isinstance(operand, RealNumber):
        return _number(one, operand.value if one.to == "scalar" else round(operand.value))
    return None
