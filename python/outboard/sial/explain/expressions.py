"""The expressions of the byte code, for many lanes at once. An unknown operand gives an unknown
result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from outboard.sial.explain.lanes import Array, Lanes, Value
from outboard.sial.opcodes import Op
from outboard.sial.records import Program

_COMPARE: tuple[Callable[[Any, Any], Any], ...] = (
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal,
)  # fmt: skip


def _divide(left: Any, right: Any) -> Any:
    """Divides ints, and cuts off towards zero."""
    right = np.where(np.asarray(right) == 0, 1, right)  # R07 when the program runs
    return np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))


_TWO: dict[Op, Callable[[Any, Any], Any]] = {
    Op.INT_ADD: np.add,
    Op.INT_SUBTRACT: np.subtract,
    Op.INT_MULTIPLY: np.multiply,
    Op.INT_DIVIDE: _divide,
    Op.SCALAR_ADD: np.add,
    Op.SCALAR_SUBTRACT: np.subtract,
    Op.SCALAR_MULTIPLY: np.multiply,
    Op.SCALAR_DIVIDE: np.divide,
    Op.SCALAR_POWER: np.power,
}
_ONE: dict[Op, Callable[[Any], Any]] = {
    Op.INT_NEGATE: np.negative,
    Op.SCALAR_NEGATE: np.negative,
    Op.SCALAR_SQRT: np.sqrt,
    Op.INT_TO_SCALAR: lambda value: np.asarray(value, np.float64),
    Op.SCALAR_TO_INT: lambda value: np.rint(value).astype(np.int64),
}


class Stack:
    """The stack of one sequence of instructions."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._values: list[Value] = []

    def pop(self) -> Value:
        return self._values.pop()

    def pop_many(self, count: int) -> list[Value]:
        """Returns values in the order in which they were pushed."""
        values = self._values[len(self._values) - count :]
        del self._values[len(self._values) - count :]
        return values

    def clear(self) -> None:
        self._values.clear()

    def execute(self, one: dict[str, Any], lanes: Lanes) -> None:
        """Executes an instruction from push_int to store_scalar."""
        op = Op(one["op"])
        if op in _TWO or op in (Op.COMPARE_INTS, Op.COMPARE_SCALARS):
            compare = _COMPARE[one["x"]] if op in (Op.COMPARE_INTS, Op.COMPARE_SCALARS) else None
            right, left = self.pop(), self.pop()
            self._values.append(_apply(compare or _TWO[op], left, right))
        elif op in _ONE:
            self._values.append(_apply(_ONE[op], self.pop()))
        elif op in (Op.STORE_INT, Op.STORE_SCALAR):
            self._store(one, lanes.ints if op is Op.STORE_INT else lanes.scalars)
        else:
            self._values.append(self._operand(op, one["a"], lanes))

    def _operand(self, op: Op, number: int, lanes: Lanes) -> Value:
        if op is Op.PUSH_INT:
            return int(self._program["int_constant"][number]["value"])
        if op is Op.PUSH_SCALAR:
            return float(self._program["scalar_constant"][number]["value"])
        if op is Op.PUSH_INT_VARIABLE:
            return lanes.ints[number]
        if op is Op.PUSH_SCALAR_VARIABLE:
            return lanes.scalars[number]
        if op is Op.PUSH_INDEX:
            return lanes.indices[number]
        return None  # an element of a block

    def _store(self, one: dict[str, Any], variables: dict[int, Value]) -> None:
        value = self.pop()
        how = (None, np.add, np.subtract, np.multiply)[one["x"]]
        variables[one["a"]] = value if how is None else _apply(how, variables[one["a"]], value)


def _apply(operation: Callable[..., Any], *operands: Value) -> Value:
    if any(one is None for one in operands):
        return None
    with np.errstate(all="ignore"):
        result: Array = operation(*operands)
    return result if np.ndim(result) else np.asarray(result)[()]
