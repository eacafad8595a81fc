"""Random programs of ints, scalars, loops and conditions. The oracle executes them in Python."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from test_sial_run import prepare, seed, simulate

from outboard import paths

__all__ = ["seed"]  # a fixture
pytestmark = pytest.mark.end_to_end
PROGRAMS = 60
JOB = "sial_job = 1\nprograms = ['p.sial']\n"
INDICES = {"a": (1, 3), "b": (-2, 2), "c": (1, 1), "d": (2, 6)}
INTS = ("k", "l", "m")
SCALARS = ("x", "y", "z")
LARGEST = 2**63
RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}

T = TypeVar("T")
Values = dict[str, float]
Number = Callable[[Values], float]


class R07Error(Exception):
    """The program must end with R07 in a line."""

    def __init__(self, line: int = 0) -> None:
        super().__init__(line)
        self.line = line


class LeftError(Exception):
    """The statement `word` was executed."""

    word = ""


class ExitError(LeftError):
    word = "exit"


class CycleError(LeftError):
    word = "cycle"


class UnsuitableError(Exception):
    """Numbers become so large that they are no test any more."""


def int_operation(op: str, a: float, b: float) -> float:
    left, right = int(a), int(b)
    if op == "/":
        if right == 0:
            raise R07Error
        result = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    else:
        result = {"+": left + right, "-": left - right, "*": left * right}[op]
    if not -LARGEST <= result < LARGEST:
        raise R07Error
    return result


def scalar_operation(op: str, a: float, b: float) -> float:
    if op == "/":
        if b == 0:
            raise R07Error
        result = a / b
    else:
        result = {"+": a + b, "-": a - b, "*": a * b}[op]
    if not math.isfinite(result) or abs(result) > 1e100:
        raise UnsuitableError
    return result


@dataclass
class Writer:
    """Writes a program and, beside it, functions that do the same to Python's numbers."""

    random: random.Random
    lines: list[str] = field(default_factory=list)
    bound: list[str] = field(default_factory=list)

    def emit(self, text: str) -> int:
        self.lines.append("  " + text)
        return len(self.lines)

    def int_expression(self, depth: int = 2) -> tuple[str, Number]:
        if depth == 0 or self.random.random() < 0.3:
            name = self.random.choice([*INTS, *self.bound, ""])
            if name:
                return name, lambda values: values[name]
            number = self.random.choice([0, 1, 2, 3, 7, 3037000500])
            return str(number), lambda values: number
        (a, left), (b, right) = self.int_expression(depth - 1), self.int_expression(depth - 1)
        op = self.random.choice("+-*/" if b in (*INTS, *self.bound) else "+-*")
        return f"({a} {op} {b})", lambda values: int_operation(op, left(values), right(values))

    def scalar_expression(self, depth: int = 2) -> tuple[str, Number]:
        if depth == 0 or self.random.random() < 0.3:
            name = self.random.choice([*SCALARS, *SCALARS, "", "int"])
            if name == "int":
                text, value = self.int_expression(0)
                return f"((scalar) {text})", lambda values: float(value(values))
            if name:
                return name, lambda values: values[name]
            number = self.random.choice([0.5, 1.0, 3.0, 0.1])
            return str(number), lambda values: number
        (a, left), (b, right) = self.scalar_expression(depth - 1), self.scalar_expression(depth - 1)
        op = self.random.choice("+-*/" if b in SCALARS else "+-*")
        return f"({a} {op} {b})", lambda values: scalar_operation(op, left(values), right(values))

    def relation(self) -> tuple[str, Callable[[Values], bool]]:
        expression = self.random.choice([self.int_expression, self.scalar_expression])
        (a, left), (b, right) = expression(1), expression(1)
        relation = self.random.choice(list(RELATIONS))
        holds = RELATIONS[relation]
        return f"{a} {relation} {b}", lambda values: holds(left(values), right(values))

    def assignment(self) -> Callable[[Values], None]:
        whole = self.random.random() < 0.5
        name = self.random.choice(INTS if whole else SCALARS)
        op = self.random.choice(["", "+", "-", "*"])
        text, value = self.int_expression() if whole else self.scalar_expression()
        line = self.emit(f"{name} {op}= {text}")
        operation = int_operation if whole else scalar_operation

        def run(values: Values) -> None:
            new = at_line(line, lambda: value(values))
            old = values[name]
            values[name] = at_line(line, lambda: operation(op, old, new)) if op else new

        return run

    def condition(self, depth: int) -> Callable[[Values], None]:
        text, holds = self.relation()
        line = self.emit(f"if {text}")
        first = self.statements(depth - 1)
        self.emit("else")
        second = self.statements(depth - 1)
        self.emit("endif")

        def run(values: Values) -> None:
            (first if at_line(line, lambda: holds(values)) else second)(values)

        return run

    def loop(self, depth: int, index: str) -> Callable[[Values], None]:
        self.emit(f"do {index}")
        self.bound.append(index)
        where = None
        if self.random.random() < 0.3:
            text, where = self.relation()
            where_line = self.emit(f"where {text}")
        body = self.statements(depth - 1)
        self.bound.pop()
        self.emit(f"enddo {index}")

        def run(values: Values) -> None:
            for number in range(INDICES[index][0], INDICES[index][1] + 1):
                values[index] = number
                if where is not None and not at_line(where_line, lambda: where(values)):
                    continue
                try:
                    body(values)
                except CycleError:
                    continue
                except ExitError:
                    break

        return run

    def statement(self, depth: int) -> Callable[[Values], None]:
        free = [index for index in INDICES if index not in self.bound]
        choice = self.random.random()
        if depth > 0 and free and choice < 0.3:
            return self.loop(depth, self.random.choice(free))
        if depth > 0 and choice < 0.45:
            return self.condition(depth)
        if self.bound and choice < 0.5:
            text, holds = self.relation()
            line = self.emit(f"if {text}")
            leave = self.random.choice([ExitError, CycleError])
            self.emit(leave.word)
            self.emit("endif")

            def run(values: Values) -> None:
                if at_line(line, lambda: holds(values)):
                    raise leave

            return run
        return self.assignment()

    def statements(self, depth: int, count: int = 0) -> Callable[[Values], None]:
        parts = [self.statement(depth) for _ in range(count or self.random.randint(1, 4))]

        def run(values: Values) -> None:
            for part in parts:
                part(values)

        return run


def at_line(line: int, compute: Callable[[], T]) -> T:
    try:
        return compute()
    except R07Error as failed:
        raise R07Error(line) from failed


def random_numbers(seed: int) -> tuple[str, Values, int]:
    """Returns a program, the values that it ends with, and the line of its error, or 0."""
    drawn = random.Random(seed)
    while True:
        writer = Writer(drawn)
        writer.lines.append("sial p")
        for index, (lower, upper) in INDICES.items():
            writer.emit(f"index {index} = {lower}:{upper}")
        values: Values = {}
        for name in INTS:
            values[name] = drawn.randint(-3, 3)
            writer.emit(f"int {name} = {int(values[name])}")
        for name in SCALARS:
            values[name] = drawn.randint(-6, 6) / 4
            writer.emit(f"scalar {name} = {values[name]}")
        run = writer.statements(4, drawn.randint(3, 8))
        writer.lines.append("endsial p")
        line = 0
        try:
            run(values)
        except UnsuitableError:
            continue
        except R07Error as failed:
            line = failed.line
        return "\n".join(writer.lines) + "\n", values, line


def test_numbers_and_loops_are_those_of_python(
    native: paths.Native, tmp_path: Path, seed: int
) -> None:
    dump = tmp_path / "state.json"
    failures = 0
    for number in range(seed, seed + PROGRAMS):
        source, values, line = random_numbers(number)
        failures += line != 0
        job = prepare(tmp_path, source, JOB, level=number % 3)
        for order in (0, 1 + number):
            done = simulate(
                native, job, "--workers", 2, "--servers", 1, "--seed", order, "--dump-state", dump
            )
            about = f"program {number}, order {order}, -O{number % 3}:\n{source}{done.stderr}"
            if line != 0:
                assert done.returncode == 3, about
                assert re.search(rf"\bp:{line}: error R07", done.stderr), f"line {line} of {about}"
                continue
            assert done.returncode == 0, about
            for state in json.loads(dump.read_text()):
                got = state.get("ints", {}) | state.get("scalars", {})
                assert number % 3 != 0 or got.keys() == set(INTS + SCALARS)  # -O0 drops none
                for name, value in got.items():
                    assert value == values[name], f"{name} of {about}"
    print(f"{failures} of {PROGRAMS} programs fail as they must")
