"""Compares one routine of the table with the documentation of the reference."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import table
from reference_docs import dimensions
from reference_docs.rows import Difference, Place, places
from reference_docs.source_file import Documented, Reference

_ELEMENTS = {"s": "REAL", "d": "DOUBLE PRECISION", "c": "COMPLEX", "z": "COMPLEX*16"}
_REALS = {"s": "REAL", "d": "DOUBLE PRECISION", "c": "REAL", "z": "DOUBLE PRECISION"}
_OTHER_TYPES = {"double": "DOUBLE PRECISION", "integer": "INTEGER", "logical": "LOGICAL"}
_ROLE_TYPES = {
    "flag": "CHARACTER", "character": "CHARACTER", "dim": "INTEGER", "integer": "INTEGER",
    "info": "INTEGER", "index_vector": "INTEGER", "callback": "LOGICAL FUNCTION",
}  # fmt: skip
_DESTROYED = re.compile(r"destroyed|overwritten(?! (?:by|with)\b)|used as workspace")
_DIRECTIONS = {"in": "in", "out": "out", "inout": "in,out"}


def _without_letter(name: str, known: set[str]) -> str:
    """Removes the type's letter, which level 1 of the reference writes before most names: SX, DX,
    CX."""
    return name[1:] if name not in known and name[:1] in "sdcz" and name[1:] in known else name


def _names(routine: table.Routine, reference: Reference) -> dict[str, str]:
    """Returns the reference's names of arguments in its order, and the row's names for them."""
    known = {p.name for p in places(routine)}
    is_vector_level = routine.library == "blas" and routine.level == 1
    return {n: _without_letter(n, known) if is_vector_level else n for n in reference.arguments}


def expected_type(place: Place, precision: str) -> str:
    if place.part:
        return "INTEGER"
    argument = place.argument
    if argument.role in _ROLE_TYPES:
        return _ROLE_TYPES[argument.role]
    if argument.role == "real_scalar" or argument.type == "real":
        return _REALS[precision]
    return _OTHER_TYPES.get(argument.type, _ELEMENTS[precision])


def _order(routine: table.Routine, reference: Reference) -> Iterator[Difference]:
    ours = [p.name for p in places(routine)]
    theirs = list(_names(routine, reference).values())
    pairs = itertools.zip_longest(theirs, ours)
    for position, (their, our) in enumerate(pairs, start=1):
        if their != our:
            where = f"at position {position}"
            yield Difference(
                our or their or "", f"{their or 'nothing'} {where}", f"{our or 'nothing'} {where}"
            )
            return


def _type(place: Place, documented: Documented, precision: str) -> Iterator[Difference]:
    wanted, found = expected_type(place, precision), documented.type
    if place.argument.role == "callback" and found in ("EXTERNAL", "LOGICAL PROCEDURE"):
        return
    if found != wanted:
        yield Difference(place.argument.name, f"type {found or 'not named'}", f"type {wanted}")


def _direction(place: Place, documented: Documented) -> Iterator[Difference]:
    argument = place.argument
    found = documented.direction
    if place.part or (not argument.is_memory and argument.role != "work"):
        wanted = ["in"]
    elif argument.role == "work":
        wanted = ["out", "in,out"]
    elif argument.use == "consumed":
        wanted = ["in,out"]
    else:
        wanted = [_DIRECTIONS[argument.use]]
    if argument.role == "callback":
        return
    if found not in wanted:
        name = argument.name if not place.part else f"{place.name} of {argument.name}"
        use = f"use = '{argument.use}'" if argument.is_memory and not place.part else name
        yield Difference(argument.name, f"{place.name} [{found}]", f"{use} [{wanted[0]}]")


def _destroyed(place: Place, documented: Documented) -> Iterator[Difference]:
    """Checks a consumed argument. It does not come back, so the documentation must say that it is
    destroyed."""
    argument = place.argument
    if place.part or argument.use != "consumed" or _DESTROYED.search(documented.text):
        return
    if not (argument.written_if and "not modified" in documented.text):
        yield Difference(place.name, "nothing about its being destroyed", "use = 'consumed'")


def _flag_values(place: Place, documented: Documented, precision: str) -> Iterator[Difference]:
    if place.argument.role != "flag":
        return
    values = place.argument.values_of(precision)
    text = documented.text.upper()
    unknown = [v for v in values if f"'{v}'" not in text and f'"{v}"' not in text]
    if unknown:
        said = "".join(unknown)
        yield Difference(place.name, f"no value '{said}'", f"values '{values}'")


def _result(routine: table.Routine, reference: Reference, precision: str) -> Iterator[Difference]:
    ours = ""
    if routine.result:
        ours = expected_type(Place("", routine.result), precision)
    if ours != reference.result:
        name = routine.result.name if routine.result else "result"
        yield Difference(
            name, f"function value {reference.result or 'none'}", f"function value {ours or 'none'}"
        )


def differences(routine: table.Routine, reference: Reference, precision: str) -> list[Difference]:
    """Returns all differences between the row and the reference, in one precision."""
    found = [*_order(routine, reference), *_result(routine, reference, precision)]
    by_name = {p.name: p for p in places(routine)}
    documented: list[tuple[Place, Documented]] = []
    for theirs, ours in _names(routine, reference).items():
        if ours not in by_name:
            continue
        place, text = by_name[ours], reference.documented.get(theirs)
        if text is None:
            found.append(Difference(place.argument.name, f"nothing about {theirs}", "present"))
            continue
        documented.append((place, text))
        found += _type(place, text, precision)
        found += _direction(place, text)
        found += _destroyed(place, text)
        found += _flag_values(place, text, precision)
    return found + dimensions.differences(routine, precision, documented)
