"""Helps tests that compile small programs."""

from __future__ import annotations

from collections.abc import Callable

from outboard.sial.compiler import Options, Result, compile_text
from outboard.sial.opcodes import Op
from outboard.sial.records import Program

DECLARATIONS = """
  predefined int norb
  aoindex i = 1:norb
  aoindex j = 1:norb
  aoindex k = 1:norb
  index s = 1:4
  index r = 1:4
  subindex ii of i
  temp a[i,j]
  temp b[j,i]
  temp c[i,k]
  temp e[s]
  temp part[ii,j]
  distributed d[i,j]
  static m[i,j]
  static v[s]
  contiguous local region[i,j]
  int n
  scalar x
"""


def compile_body(body: str, *, declarations: str = DECLARATIONS, level: int = 1) -> Result:
    """Compiles statements behind some declarations."""
    text = f"sial test{declarations}{body}\nendsial test\n"
    return compile_text(text, "test.sial", Options(level=level))


def program_of(body: str, *, declarations: str = DECLARATIONS, level: int = 1) -> Program:
    """Returns the byte code of statements that have no mistake."""
    result = compile_body(body, declarations=declarations, level=level)
    assert result.program is not None, result.render()
    return result.program


def names(program: Program) -> list[str]:
    """Returns the names of all operations."""
    return [Op(one["op"]).text for one in program["code"]]


def codes(body: str, *, declarations: str = DECLARATIONS) -> list[str]:
    """Returns the codes of the errors, in their order."""
    found = compile_body(body, declarations=declarations).diagnostics
    return [one.code for one in found if not one.warning]


def evaluate(program: Program) -> dict[str, float]:
    """Runs code without loops and blocks, and returns the variables. It is written apart from the
    compiler's folding of constants, and follows docs/sial/bytecode.md."""
    stack: list[float] = []
    variables: dict[str, float] = {}
    two: dict[Op, Callable[[float, float], float]] = {
        Op.INT_ADD: lambda p, q: p + q,
        Op.INT_SUBTRACT: lambda p, q: p - q,
        Op.INT_MULTIPLY: lambda p, q: p * q,
        Op.INT_DIVIDE: lambda p, q: abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1),
        Op.SCALAR_ADD: lambda p, q: p + q,
        Op.SCALAR_SUBTRACT: lambda p, q: p - q,
        Op.SCALAR_MULTIPLY: lambda p, q: p * q,
        Op.SCALAR_DIVIDE: lambda p, q: p / q,
        Op.SCALAR_POWER: lambda p, q: p**q,
    }
    one_: dict[Op, Callable[[float], float]] = {
        Op.INT_NEGATE: lambda p: -p,
        Op.SCALAR_NEGATE: lambda p: -p,
        Op.SCALAR_SQRT: lambda p: p**0.5,
        Op.INT_TO_SCALAR: float,
        Op.SCALAR_TO_INT: round,  # Python rounds ties to even
    }
    for record in program["code"]:
        op = Op(record["op"])
        if op is Op.HALT:
            break
        if op is Op.PUSH_INT:
            stack.append(program["int_constant"][record["a"]]["value"])
        elif op is Op.PUSH_SCALAR:
            stack.append(program["scalar_constant"][record["a"]]["value"])
        elif op in two:
            right = stack.pop()
            stack.append(two[op](stack.pop(), right))
        elif op in one_:
            stack.append(one_[op](stack.pop()))
        else:
            section = "int" if op is Op.STORE_INT else "scalar"
            assert op in (Op.STORE_INT, Op.STORE_SCALAR) and record["x"] == 0
            variables[program.string(program[section][record["a"]]["name"])] = stack.pop()
    return variables
