"""Values for a row's arguments, over which its expressions and the reference's are compared."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator
from types import CodeType

import table

Values = dict[str, int | str]
_FLAG_COMBINATIONS = 48  # number of a row's combinations, chosen at random if there are more
_SIZES = 4  # number for each combination of flags; it is larger if there are few
_CALLS = 32  # the least number of calls in all
_ATTEMPTS = 200  # tries to find sizes that the row calls legal
_LARGEST = 11  # large enough that all of a routine's sizes can differ


class UnknownError(Exception):
    """The expression uses a name that is no argument, or cannot be computed."""


def log2(n: int) -> int:
    """Returns the logarithm of rows: rounded down, 0 for n < 2."""
    return max(n, 1).bit_length() - 1


def lg(n: int) -> int:
    """Returns the logarithm of the documentation: the smallest k with 2**k >= n."""
    return max(n - 1, 0).bit_length()


_FUNCTIONS = {"min": min, "max": max, "abs": abs, "log2": log2, "lg": lg, "__builtins__": {}}


@functools.cache
def _compiled(expression: str) -> CodeType:
    return compile(expression.strip(), expression, "eval")


def evaluate(expression: str, values: Values) -> int | str:
    """Evaluates an expression. Raises UnknownError."""
    try:
        result: int | str = eval(_compiled(expression), dict(_FUNCTIONS), dict(values))
    except (NameError, TypeError, ArithmeticError, SyntaxError) as error:
        raise UnknownError(f"{error} in '{expression}'") from None
    return result


def names(expression: str) -> list[str]:
    """Returns the arguments that an expression names."""
    return [n for n in _compiled(expression).co_names if n not in _FUNCTIONS]


def _flags(routine: table.Routine, precision: str, source: random.Random) -> list[Values]:
    flags = routine.flags
    choices = [flag.values_of(precision) for flag in flags]
    combinations = list(itertools.product(*choices))
    if len(combinations) > _FLAG_COMBINATIONS:
        combinations = source.sample(combinations, _FLAG_COMBINATIONS)
    return [{f.name: v for f, v in zip(flags, chosen, strict=True)} for chosen in combinations]


def _sizes(routine: table.Routine, flags: Values, source: random.Random) -> Values | None:
    sizes = [a.name for a in routine.arguments if a.role in ("dim", "integer")]
    for _ in range(_ATTEMPTS):
        drawn = source.sample(range(1, _LARGEST + 1), len(sizes))
        values = {**flags, **dict(zip(sizes, drawn, strict=True))}
        if not routine.legal or evaluate(routine.legal, values):
            return values
    return None


def draw(routine: table.Routine, precision: str) -> Iterator[Values]:
    """Yields legal calls: flags, sizes, increments and lengths of workspaces, the same in every
    run."""
    source = random.Random(routine.key)
    combinations = _flags(routine, precision, source)
    for flags in combinations:
        for _ in range(max(_SIZES, _CALLS // len(combinations))):
            values = _sizes(routine, flags, source)
            if values is None:
                continue
            for argument in routine.arguments:
                if argument.role == "strided":
                    signs = (1, 2, 3) if argument.positive else (1, 2, -3)
                    values[f"inc{argument.name}"] = source.choice(signs)
                elif argument.query:
                    values[f"l{argument.name}"] = source.randrange(100, 1000)
            yield values
