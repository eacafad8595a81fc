"""Dimensions of a routine that follow from the shapes of its matrices."""

from __future__ import annotations

import dataclasses
import re

import table

_CHOICE = re.compile(r"(\w+) if (\w+) == '(.)' else (\w+)")


@dataclasses.dataclass(frozen=True)
class Choice:
    """`first` if the flag has the value, else `second`; always `first` without a flag."""

    first: str
    flag: str = ""
    value: str = ""
    second: str = ""


def choice_of(text: str) -> Choice | None:
    """Returns a number, a name, or a choice of two; None for any other expression."""
    if re.fullmatch(r"\w+", text):
        return Choice(text)
    found = _CHOICE.fullmatch(text)
    return Choice(found[1], found[2], found[3], found[4]) if found else None


def extents(routine: table.Routine) -> dict[tuple[str, int], Choice] | None:
    """Returns the rows (0) and columns (1) of all matrices; None if one is an expression of another
    form."""
    result: dict[tuple[str, int], Choice] = {}
    for argument in routine.memory:
        if argument.kind != "matrix":
            continue
        for axis, text in enumerate(argument.shape):
            choice = choice_of(text)
            if choice is None:
                return None
            result[argument.name, axis] = choice
    return result


def _source(dim: str, of: dict[tuple[str, int], Choice]) -> Choice | None:
    """Returns the choice of places ("a.0": rows of a) that have the value of a dimension."""
    names = {place: f"{place[0]}.{place[1]}" for place in of}
    for place, choice in of.items():
        if choice.first == dim and not choice.flag:
            return Choice(names[place])
    for place, choice in of.items():
        if choice.first != dim:
            continue
        for other, second in of.items():
            same = (choice.flag, choice.value) == (second.flag, second.value)
            if same and second.second == dim:
                return Choice(names[place], choice.flag, choice.value, names[other])
    return None


def sources(routine: table.Routine) -> dict[str, Choice] | None:
    """Returns for each dimension the places that have its value; None if one has none."""
    of = extents(routine)
    dims = [a for a in routine.normal if a.kind == "dim"]
    if not of or not dims or any(a.role != "dim" for a in dims):
        return None
    result: dict[str, Choice] = {}
    for dim in dims:
        found = _source(dim.name, of)
        if found is None:
            return None
        result[dim.name] = found
    return result
