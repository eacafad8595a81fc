"""One argument of a row: its role, extents and directions, as routines/SCHEMA.md defines them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from checked import Table

PRECISIONS = "sdcz"
USES = ("in", "out", "inout", "consumed")
# CBLAS's names for enumerations, with the characters that Fortran uses for their values. The
# letters of LAPACK's jobs (jobz, range, fact, vect ...) are different in each routine.
FLAG_VALUES = {"trans": "NTC", "uplo": "UL", "diag": "NU", "side": "LR", "job": ""}
TYPES = ("element", "real", "double", "integer", "logical")

# Role -> the keys that it has besides name, role and precisions.
ROLES: dict[str, set[str]] = {
    "flag": {"of", "values", "complex_values"},
    "dim": set(),
    "integer": set(),
    "scalar": set(),
    "real_scalar": set(),
    "matrix": {"shape", "use", "read_if", "written_if", "written", "triangle", "unit", "finite"},
    "vector": {"shape", "use", "read_if", "written_if", "type"},
    "strided": {"shape", "use", "read_if", "increment"},
    "index_vector": {"shape", "use", "read_if", "written_if", "indices"},
    "character": {"use"},
    "info": set(),
    "result": {"type"},
    "work": {"size", "type", "query", "returns", "lapacke"},
    "callback": set(),
}
# Role -> ob::Kind, for the roles that devices see.
KINDS = {
    **{r: r for r in ROLES if r not in ("integer", "work", "callback")},
    "integer": "dim",
}
EXTENTS = {"matrix": 2, "vector": 1, "strided": 1, "index_vector": 1}


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument. `index` is its position in Descriptor::kinds, or -1 if devices do not see
    it."""

    name: str
    role: str
    index: int = -1
    precisions: str = PRECISIONS
    of: str = ""  # flags: trans, uplo, diag, side, job
    values: str = ""  # flags: legal characters in real precisions
    complex_values: str = ""  # flags: legal characters in complex precisions
    shape: tuple[str, ...] = ()
    use: str = "in"
    read_if: str = ""
    written_if: str = ""
    written_full: bool = False  # a triangle is read, and everything is written
    triangle: str = ""  # name of the uplo flag
    unit: str = ""  # name of the diag flag
    type: str = "element"
    positive: bool = False  # increments: > 0, not only different from 0
    finite: bool = False  # devices refuse NaN and infinities in it
    indices: str = ""  # index vectors that are read: pivots, signed, any
    size: str = ""  # work: least number of elements
    query: bool = False  # work: its length is the next argument
    lapacke: bool = False  # work: LAPACKE's high-level form has it, too

    @property
    def kind(self) -> str:
        """Returns its ob::Kind; empty if devices do not see it."""
        if self.role == "work":
            return "vector" if self.shape else ""
        return KINDS.get(self.role, "")

    @property
    def is_memory(self) -> bool:
        """Returns true for an operand on devices."""
        return self.kind in (*EXTENTS, "character", "info", "result")

    @property
    def is_flag(self) -> bool:
        return self.role == "flag"

    @property
    def is_text(self) -> bool:
        """Returns true for a CHARACTER in Fortran, which comes with a hidden length."""
        return self.role in ("flag", "character")

    @property
    def has_ld(self) -> bool:
        """Returns true if the next argument is its leading dimension or increment."""
        return self.role in ("matrix", "strided")

    def values_of(self, precision: str) -> str:
        return self.complex_values if precision in "cz" else self.values


def _load_flag(row: Table) -> dict[str, Any]:
    of = row.choice("of", FLAG_VALUES)
    values = row.text("values", FLAG_VALUES[of] or None)
    complex_values = row.text("complex_values", values)
    for character in values + complex_values:
        if FLAG_VALUES[of] and character not in FLAG_VALUES[of]:
            raise row.fail(f"value '{character}' is none of {of}'s ({FLAG_VALUES[of]})")
        if not (character.isascii() and character.isupper()):
            raise row.fail(f"value '{character}' (legal values are upper-case letters)")
    return {"of": of, "values": values, "complex_values": complex_values}


def _load_indices(row: Table, role: str, use: str) -> str:
    """Returns the check of an index vector that the routine reads; empty for other operands."""
    if role != "index_vector" or use == "out":
        if "indices" in row.data:
            raise row.fail("indices, but the routine does not read them (leave the key out)")
        return ""
    indices = row.choice("indices", ("pivots", "signed", "any"))
    if indices != "any" and use != "in":
        raise row.fail(f"indices '{indices}' with use '{use}' (checked indices are only read)")
    return indices


def _load_operand(row: Table, role: str) -> dict[str, Any]:
    shape = row.texts("shape")
    if len(shape) != EXTENTS[role]:
        wanted = "[rows, cols]" if EXTENTS[role] == 2 else "[count]"
        raise row.fail(f"shape {list(shape)} (a {role} has {wanted})")
    use = row.choice("use", USES)
    read_if, written_if = row.text("read_if", ""), row.text("written_if", "")
    if read_if and use != "inout":
        raise row.fail(f"read_if with use '{use}' (only inout operands may stay unread)")
    if written_if and use != "consumed":
        raise row.fail(f"written_if with use '{use}' (for consumed operands that may be results)")
    finite = row.truth("finite")
    if finite and use == "out":
        raise row.fail("finite with use 'out' (only operands that are read are checked)")
    types = TYPES if role == "vector" else ("element",)
    indices = _load_indices(row, role, use)
    return {
        "shape": shape,
        "use": use,
        "read_if": read_if,
        "written_if": written_if,
        "written_full": row.choice("written", ("triangle", "full"), "triangle") == "full",
        "triangle": row.text("triangle", ""),
        "unit": row.text("unit", ""),
        "type": "integer" if role == "index_vector" else row.choice("type", types[:2], "element"),
        "positive": row.choice("increment", ("positive", "any"), "any") == "positive",
        "indices": indices,
        "finite": finite,
    }


def _load_work(row: Table) -> dict[str, Any]:
    returns = row.text("returns", "")
    if returns not in ("", "1"):
        raise row.fail(f"returns '{returns}' (only \"1\": the first element)")
    if returns and not row.truth("lapacke"):
        raise row.fail("returns without lapacke (the high-level form must have a place for it)")
    return {
        "size": row.text("size"),
        "type": row.choice("type", [t for t in TYPES if t != "double"], "element"),
        "query": row.truth("query"),
        "lapacke": row.truth("lapacke"),
        "shape": ("1",) if returns else (),
        "use": "out" if returns else "in",
    }


def load(where: str, position: int, data: Mapping[str, Any]) -> Argument:
    """Loads an argument. Raises TableError if it breaks the rules of SCHEMA.md."""
    row = Table(f"{where}: argument {position + 1}", data)
    name = row.text("name")
    row.where = f"{where}: argument '{name}'"
    if not (name.isidentifier() and name.islower()):
        raise row.fail(f"'{name}' is not a lower-case identifier")
    role = row.choice("role", ROLES)
    row.only({"name", "role", "precisions"} | ROLES[role])
    keys: dict[str, Any] = {"precisions": row.text("precisions", PRECISIONS)}
    if keys["precisions"] not in ("sd", "cz", PRECISIONS):
        raise row.fail(f"precisions '{keys['precisions']}' (sd, cz, or leave it out)")
    if role == "flag":
        keys |= _load_flag(row)
    elif role in EXTENTS:
        keys |= _load_operand(row, role)
    elif role == "work":
        keys |= _load_work(row)
    elif role == "character":
        keys |= {"use": row.choice("use", ("out",)), "shape": ("1",)}
    elif role == "info":
        keys |= {"use": "out", "shape": ("1",), "type": "integer"}
    elif role == "result":
        types = [t for t in TYPES if t != "logical"]
        keys |= {"use": "out", "shape": ("1",), "type": row.choice("type", types, "element")}
    return Argument(name, role, **keys)
