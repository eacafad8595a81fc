"""Loads and checks the one table: the rows of BLAS and LAPACK, as routines/SCHEMA.md has them."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import expressions

try:
    import tomllib
except ImportError:  # pragma: no cover
    sys.exit("codegen: Python 3.11 or later is needed (tomllib is not in this one)")

PRECISIONS = "sdcz"
ROLES = ("flag", "dim", "scalar", "real_scalar", "matrix", "index_vector", "info")
USES = ("in", "out", "inout")
# What CBLAS calls an enumeration, with the characters Fortran uses for its values.
FLAG_VALUES = {"trans": "NTC", "uplo": "UL", "diag": "NU", "side": "LR"}
MAX_ARGUMENTS = 24  # kMaxArguments of src/routines/argument.hpp
MAX_OPERANDS = 8  # kMaxOperands of src/routines/descriptor.hpp


class TableError(Exception):
    """A row that cannot be used; the message names the file, the row and what to write instead."""


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument in the normal form; `index` is its position in Descriptor::kinds."""

    index: int
    name: str
    role: str
    of: str = ""  # flags: trans, uplo, diag, side
    values: str = ""  # flags: legal characters in real precisions
    complex_values: str = ""  # flags: legal characters in complex precisions
    shape: tuple[str, ...] = ()
    use: str = "in"
    read_if: str = ""
    triangle: str = ""  # name of the uplo flag
    unit: str = ""  # name of the diag flag

    @property
    def is_memory(self) -> bool:
        return self.role in ("matrix", "index_vector", "info")

    def values_of(self, precision: str) -> str:
        return self.complex_values if precision in "cz" else self.values


@dataclasses.dataclass(frozen=True)
class RowMajor:
    """How a row-major call becomes a column-major one; see SCHEMA.md."""

    swap: tuple[tuple[str, str], ...] = ()
    flip: tuple[str, ...] = ()
    transpose: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Routine:
    """One row: a routine in all its precisions."""

    library: str  # blas or lapack: the file's name
    name: str
    precisions: str
    summary: str
    arguments: tuple[Argument, ...]
    trivial: str
    flops: str
    row_major: RowMajor
    legal: str = ""

    def names(self) -> dict[str, str]:
        """Precision letter -> name: {"d": "dgemm", ...}."""
        return {p: p + self.name for p in self.precisions}

    def argument(self, name: str) -> Argument:
        return next(a for a in self.arguments if a.name == name)

    @property
    def flags(self) -> list[Argument]:
        return [a for a in self.arguments if a.role == "flag"]

    @property
    def memory(self) -> list[Argument]:
        return [a for a in self.arguments if a.is_memory]

    def scope(self, precision: str = "s") -> expressions.Scope:
        """What an expression of this row may name."""
        flags = {a.name: a.values_of(precision) + a.values for a in self.flags}
        dims = {a.name for a in self.arguments if a.role == "dim"}
        scalars = {a.name for a in self.arguments if a.role in ("scalar", "real_scalar")}
        return expressions.Scope(flags=flags, dims=frozenset(dims), scalars=frozenset(scalars))


def fnv1a(name: str) -> int:
    """FNV-1a, 32 bits: the id of a routine's name."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


class _Row:
    """One TOML table under check; every complaint carries where it is."""

    def __init__(self, where: str, data: Mapping[str, Any]) -> None:
        self.where = where
        self.data = data

    def fail(self, problem: str) -> TableError:
        return TableError(f"{self.where}: {problem}")

    def only(self, known: Iterable[str]) -> None:
        unknown = sorted(set(self.data) - set(known))
        if unknown:
            raise self.fail(f"unknown key '{unknown[0]}' (known: {', '.join(sorted(known))})")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if value is None:
            raise self.fail(f"key '{key}' is missing")
        if not isinstance(value, str):
            raise self.fail(f"key '{key}' must be a string, not {value!r}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.fail(f"key '{key}' must be a list of strings, not {value!r}")
        return tuple(value)

    def choice(self, key: str, known: Iterable[str], default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in known:
            raise self.fail(f"{key} '{value}' is unknown (known: {', '.join(known)})")
        return value


_ARGUMENT_KEYS = {
    "flag": {"of", "values", "complex_values"},
    "dim": set(),
    "scalar": set(),
    "real_scalar": set(),
    "matrix": {"shape", "use", "read_if", "triangle", "unit"},
    "index_vector": {"shape", "use"},
    "info": set(),
}


def _load_argument(where: str, index: int, data: Mapping[str, Any]) -> Argument:
    row = _Row(f"{where}: argument {index + 1}", data)
    name = row.text("name")
    row.where = f"{where}: argument '{name}'"
    if not (name.isidentifier() and name.islower()):
        raise row.fail(f"'{name}' is not a lower-case identifier")
    role = row.choice("role", ROLES)
    row.only({"name", "role"} | _ARGUMENT_KEYS[role])
    if role == "flag":
        of = row.choice("of", FLAG_VALUES)
        values = row.text("values", FLAG_VALUES[of])
        complex_values = row.text("complex_values", values)
        for character in values + complex_values:
            if character not in FLAG_VALUES[of]:
                raise row.fail(f"value '{character}' is none of {of}'s ({FLAG_VALUES[of]})")
        return Argument(index, name, role, of=of, values=values, complex_values=complex_values)
    if role == "info":
        return Argument(index, name, role, shape=("1",), use="out")
    if role not in ("matrix", "index_vector"):
        return Argument(index, name, role)
    shape = row.texts("shape")
    if len(shape) != (2 if role == "matrix" else 1):
        raise row.fail(f"shape {list(shape)} (a matrix has [rows, cols], an index_vector [count])")
    use = row.choice("use", USES)
    read_if = row.text("read_if", "")
    if read_if and use != "inout":
        raise row.fail(f"read_if with use '{use}' (only inout operands may stay unread)")
    return Argument(
        index, name, role, shape=shape, use=use, read_if=read_if,
        triangle=row.text("triangle", ""), unit=row.text("unit", ""),
    )  # fmt: skip


def _load_row_major(row: _Row, arguments: Mapping[str, Argument]) -> RowMajor:
    data = row.data.get("row_major")
    if not isinstance(data, dict):
        raise row.fail("key 'row_major' is missing or no table (write {} if nothing changes)")
    rule = _Row(f"{row.where}: row_major", data)
    rule.only({"swap", "flip", "transpose"})
    pairs = []
    for pair in rule.texts("swap"):
        names = pair.split()
        if len(names) != 2 or any(n not in arguments for n in names):
            raise rule.fail(f"swap '{pair}' (write two of this row's arguments: \"m n\")")
        if arguments[names[0]].role != arguments[names[1]].role:
            raise rule.fail(f"swap '{pair}' (the two have different roles)")
        pairs.append((names[0], names[1]))
    for key, role in (("flip", "flag"), ("transpose", "matrix")):
        for name in rule.texts(key):
            if name not in arguments or arguments[name].role != role:
                raise rule.fail(f"{key} '{name}' (no {role} of that name)")
    for name in rule.texts("flip"):
        if arguments[name].of == "diag":
            raise rule.fail(f"flip '{name}' (diag has no opposite)")
    return RowMajor(tuple(pairs), rule.texts("flip"), rule.texts("transpose"))


def _check_references(where: str, routine: Routine) -> None:
    """Names inside expressions and operands exist and have the right type."""
    by_name = {a.name: a for a in routine.arguments}
    for argument in routine.arguments:
        at = f"{where}: argument '{argument.name}'"
        for key, of in (("triangle", "uplo"), ("unit", "diag")):
            target = getattr(argument, key)
            if target and (target not in by_name or by_name[target].of != of):
                raise TableError(f"{at}: {key} '{target}' (no {of} flag of that name)")
        if argument.unit and not argument.triangle:
            raise TableError(f"{at}: unit without triangle (a unit diagonal needs a triangle)")
        for expression in argument.shape:
            _check_expression(at, expression, routine, "integer")
        if argument.read_if:
            _check_expression(at, argument.read_if, routine, "truth")
    _check_expression(f"{where}: trivial", routine.trivial, routine, "truth")
    # An entry point counts before it has read anything but flags and dimensions.
    counting = dataclasses.replace(routine.scope(), scalars=frozenset())
    _check_expression(f"{where}: flops", routine.flops, routine, "real", counting)
    if routine.legal:
        _check_expression(f"{where}: legal", routine.legal, routine, "truth")


def _check_expression(
    where: str,
    text: str,
    routine: Routine,
    wanted: str,
    scope: expressions.Scope | None = None,
) -> None:
    try:
        expressions.translate(text, scope or routine.scope(), lambda name: name, wanted)
    except expressions.ExpressionError as error:
        raise TableError(f"{where}: {error}") from None


_ROW_KEYS = {
    "name", "precisions", "summary", "arguments", "trivial", "flops", "row_major", "legal",
}  # fmt: skip


def _load_routine(file: str, library: str, index: int, data: Mapping[str, Any]) -> Routine:
    row = _Row(f"{file}: row {index + 1}", data)
    name = row.text("name")
    row.where = f"{file}: {name}"
    row.only(_ROW_KEYS)
    precisions = row.text("precisions")
    if not precisions or [p for p in PRECISIONS if p in precisions] != list(precisions):
        raise row.fail(f"precisions '{precisions}' (letters of '{PRECISIONS}' in that order)")
    items = data.get("arguments")
    if not isinstance(items, list) or not items:
        raise row.fail("key 'arguments' is missing or no list")
    arguments = tuple(_load_argument(row.where, i, a) for i, a in enumerate(items))
    by_name = {a.name: a for a in arguments}
    if len(by_name) != len(arguments):
        raise row.fail("two arguments have the same name")
    if len(arguments) > MAX_ARGUMENTS:
        raise row.fail(f"{len(arguments)} arguments (at most {MAX_ARGUMENTS}: kMaxArguments)")
    routine = Routine(
        library=library, name=name, precisions=precisions, summary=row.text("summary"),
        arguments=arguments, trivial=row.text("trivial"), flops=row.text("flops"),
        row_major=_load_row_major(row, by_name), legal=row.text("legal", ""),
    )  # fmt: skip
    if len(routine.memory) > MAX_OPERANDS:
        raise row.fail(f"{len(routine.memory)} memory operands (at most {MAX_OPERANDS})")
    _check_references(row.where, routine)
    return routine


def check_ids(routines: Iterable[Routine]) -> None:
    """Names and ids are unique over the whole table."""
    seen: dict[int, str] = {}
    for routine in routines:
        for name in routine.names().values():
            other = seen.setdefault(fnv1a(name), name)
            if other != name:
                raise TableError(f"{name} and {other} have the same id (rename one of them)")
    names = [n for r in routines for n in r.names().values()]
    doubled = sorted({n for n in names if names.count(n) > 1})
    if doubled:
        raise TableError(f"{doubled[0]} has two rows (a routine is one row)")


def load(paths: Iterable[Path]) -> list[Routine]:
    """Reads the rows of all files, in order. Raises TableError for the first row that is wrong."""
    routines: list[Routine] = []
    for path in paths:
        file = f"{path.parent.name}/{path.name}"
        if path.stem not in ("blas", "lapack"):
            raise TableError(f"{file}: unknown library (files: blas.toml, lapack.toml)")
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise TableError(f"{file}: {error}") from None
        _Row(file, data).only({"routine"})
        for index, row in enumerate(data.get("routine", [])):
            routines.append(_load_routine(file, path.stem, index, row))
    check_ids(routines)
    return routines
