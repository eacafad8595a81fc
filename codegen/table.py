"""Loads and checks the table: the rows of BLAS and LAPACK, as routines/SCHEMA.md defines them."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import arguments as argument_rows
import expressions
from arguments import PRECISIONS, Argument
from checked import Table
from checked import TableError as TableError

try:
    import tomllib
except ImportError:  # pragma: no cover
    sys.exit("codegen: Python 3.11 or later is needed (tomllib is not in this one)")

MAX_ARGUMENTS = 24  # kMaxArguments of src/routines/argument.hpp
MAX_OPERANDS = 14  # kMaxOperands of src/routines/descriptor.hpp
MAX_QUERIES = 4  # kMaxLengths of src/interpose/entry.hpp
# Rows of `block` are operations of devices: no library has them, and no program calls them.
LIBRARIES = ("blas", "lapack", "block")


@dataclasses.dataclass(frozen=True)
class RowMajor:
    """The rule by which a row-major call becomes a column-major one. See SCHEMA.md."""

    swap: tuple[tuple[str, str], ...] = ()
    flip: tuple[str, ...] = ()
    transpose: tuple[str, ...] = ()
    local: bool = False


@dataclasses.dataclass(frozen=True)
class Routine:
    """A row, in all precisions in which its arguments are the same."""

    library: str  # blas, lapack or block: the file's name up to the first _
    file: str  # the file's name without .toml
    name: str
    key: str  # the name as an identifier; the parts of one row have different keys
    precisions: str
    full_names: Mapping[str, str]  # precision -> name: {"d": "dgemm", ...}
    summary: str
    arguments: tuple[Argument, ...]
    trivial: str
    flops: str
    row_major: RowMajor
    level: int = 3  # BLAS only
    legal: str = ""
    rerun: bool = False  # True: with a positive info, the device's results are not used
    efficiency: float = 0.9  # part of the rate of a large gemm
    batched: bool = False  # CBLAS has it in batches, too
    explained: Mapping[str, str] = dataclasses.field(default_factory=dict)
    local: str = ""

    def names(self) -> Mapping[str, str]:
        """Returns precision letter -> name: {"d": "dgemm", ...}."""
        return self.full_names

    def argument(self, name: str) -> Argument:
        return next(a for a in self.arguments if a.name == name)

    @property
    def is_exported(self) -> bool:
        """Returns true if the drop-in library has entries for it."""
        return self.level == 3

    @property
    def normal(self) -> list[Argument]:
        """Returns the arguments that devices see, in the order of Descriptor::kinds."""
        return [a for a in self.arguments if a.kind]

    @property
    def flags(self) -> list[Argument]:
        return [a for a in self.arguments if a.is_flag]

    @property
    def texts(self) -> list[Argument]:
        return [a for a in self.arguments if a.is_text]

    @property
    def memory(self) -> list[Argument]:
        return [a for a in self.arguments if a.is_memory]

    @property
    def work(self) -> list[Argument]:
        return [a for a in self.arguments if a.role == "work"]

    @property
    def result(self) -> Argument | None:
        return next((a for a in self.arguments if a.role == "result"), None)

    def scope(self, precision: str = "") -> expressions.Scope:
        """Returns the names that an expression of this row may use."""
        at = precision or self.precisions[0]
        flags = {a.name: a.values_of(at) + ("" if precision else a.values) for a in self.flags}
        dims = {a.name for a in self.arguments if a.kind == "dim"}
        scalars = {a.name for a in self.arguments if a.role in ("scalar", "real_scalar")}
        return expressions.Scope(flags=flags, dims=frozenset(dims), scalars=frozenset(scalars))


def fnv1a(name: str) -> int:
    """Returns FNV-1a, 32 bits: the id of a routine's name."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def _load_row_major(row: Table, library: str, by_name: Mapping[str, Argument]) -> RowMajor:
    data = row.data.get("row_major")
    if library == "block":
        if data is not None:
            raise row.fail("row_major (no interface of C calls the row; leave the key out)")
        return RowMajor(local=True)
    if data == "local":
        return RowMajor(local=True)
    if not isinstance(data, dict):
        raise row.fail(
            "key 'row_major' is missing or no table (write {} if nothing changes,"
            ' "local" if row-major calls stay local)'
        )
    rule = Table(f"{row.where}: row_major", data)
    rule.only({"swap", "flip", "transpose"})
    pairs = []
    for pair in rule.texts("swap"):
        names = pair.split()
        if len(names) != 2 or any(n not in by_name for n in names):
            raise rule.fail(f"swap '{pair}' (write two of this row's arguments: \"m n\")")
        if by_name[names[0]].role != by_name[names[1]].role:
            raise rule.fail(f"swap '{pair}' (the two have different roles)")
        pairs.append((names[0], names[1]))
    for key, role in (("flip", "flag"), ("transpose", "matrix")):
        for name in rule.texts(key):
            if name not in by_name or by_name[name].role != role:
                raise rule.fail(f"{key} '{name}' (no {role} of that name)")
    for name in rule.texts("flip"):
        if by_name[name].of in ("diag", "job"):
            raise rule.fail(f"flip '{name}' ({by_name[name].of} has no opposite)")
    return RowMajor(tuple(pairs), rule.texts("flip"), rule.texts("transpose"))


def _check_argument(where: str, argument: Argument, routine: Routine) -> None:
    at = f"{where}: argument '{argument.name}'"
    by_name = {a.name: a for a in routine.arguments}
    for key, of in (("triangle", "uplo"), ("unit", "diag")):
        target = getattr(argument, key)
        if target and (target not in by_name or by_name[target].of != of):
            raise TableError(f"{at}: {key} '{target}' (no {of} flag of that name)")
    if argument.unit and not argument.triangle:
        raise TableError(f"{at}: unit without triangle (a unit diagonal needs a triangle)")
    if argument.written_full and not argument.triangle:
        raise TableError(f"{at}: written = 'full' without triangle (it is written in full anyway)")
    if argument.index >= 0:
        for expression in argument.shape:
            _check_expression(at, expression, routine, "integer")
    if argument.size:
        _check_expression(at, argument.size, routine, "integer")
    for condition in (argument.read_if, argument.written_if):
        if condition:
            _check_expression(at, condition, routine, "truth")


def _check_references(where: str, routine: Routine) -> None:
    """Checks that names inside expressions and operands exist and have the right type."""
    for argument in routine.arguments:
        _check_argument(where, argument, routine)
    _check_expression(f"{where}: trivial", routine.trivial, routine, "truth")
    # An entry point computes the count when it has read only flags and dimensions.
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
    "name", "complex_name", "names", "precisions", "summary", "level", "arguments", "trivial",
    "flops", "row_major", "legal", "rerun", "batched", "efficiency", "explained", "local",
}  # fmt: skip


def _load_arguments(row: Table) -> list[Argument]:
    items = row.data.get("arguments")
    if not isinstance(items, list) or not items:
        raise row.fail("key 'arguments' is missing or no list")
    return [argument_rows.load(row.where, i, a) for i, a in enumerate(items)]


def _numbered(row: Table, chosen: list[Argument]) -> tuple[Argument, ...]:
    """Returns the arguments of one part of a row, with their positions on devices."""
    result = []
    index = 0
    for argument in chosen:
        on_devices = bool(argument.kind)
        result.append(dataclasses.replace(argument, index=index) if on_devices else argument)
        index += on_devices
    names = [a.name for a in result]
    names += [f"l{a.name}" for a in result if a.query]
    if len(set(names)) != len(names):
        raise row.fail("two arguments have the same name")
    limits = (
        (index, MAX_ARGUMENTS, "arguments", "kMaxArguments"),
        (sum(a.is_memory for a in result), MAX_OPERANDS, "memory operands", "kMaxOperands"),
        (sum(a.query for a in result), MAX_QUERIES, "workspace lengths", "kMaxLengths"),
    )
    for count, limit, what, constant in limits:
        if count > limit:
            raise row.fail(f"{count} {what} (at most {limit}: {constant})")
    if any(a.role == "result" for a in result[:-1]):
        raise row.fail("a result must be the last argument")
    return tuple(result)


def _level(row: Table, library: str) -> int:
    level = row.data.get("level", 1 if library == "block" else 3)
    if level not in (1, 2, 3) or (library != "blas" and "level" in row.data):
        raise row.fail(f"level {level!r} (BLAS rows: 1, 2 or 3)")
    return int(level)


def _efficiency(row: Table, library: str) -> float:
    value = row.data.get("efficiency", 0.9 if library == "blas" else 0.5)
    if not isinstance(value, int | float) or not 0 < value <= 1:
        raise row.fail(f"efficiency {value!r} (a number above 0 and up to 1)")
    return float(value)


def _full_names(row: Table, name: str, precisions: str) -> dict[str, str]:
    special = row.mapping("names")
    if set(special) - set(PRECISIONS):
        raise row.fail(f"names {sorted(special)} (keys are precisions)")
    return {p: special.get(p, p + name) for p in precisions}


def _load_routine(path: Path, where: str, index: int, data: Mapping[str, Any]) -> list[Routine]:
    row = Table(f"{where}: row {index + 1}", data)
    name = row.text("name")
    row.where = f"{where}: {name}"
    row.only(_ROW_KEYS)
    precisions = row.text("precisions")
    if not precisions or [p for p in PRECISIONS if p in precisions] != list(precisions):
        raise row.fail(f"precisions '{precisions}' (letters of '{PRECISIONS}' in that order)")
    if row.text("rerun", "") not in ("", "info > 0"):
        raise row.fail('rerun can only be "info > 0"')
    items = _load_arguments(row)
    library = path.stem.split("_")[0]
    complex_name = row.text("complex_name", name)
    differs = any(set(a.precisions) & set(precisions) != set(precisions) for a in items)
    parts = ["sd", "cz"] if differs or complex_name != name else [PRECISIONS]
    routines = []
    for part in parts:
        chosen = "".join(p for p in precisions if p in part)
        if not chosen:
            continue
        part_name = complex_name if chosen[0] in "cz" else name
        part_items = _numbered(row, [a for a in items if chosen[0] in a.precisions])
        routine = Routine(
            library=library, file=path.stem, name=part_name,
            key=f"{part_name}_{part}" if differs and complex_name == name else part_name,
            precisions=chosen, full_names=_full_names(row, part_name, chosen),
            summary=row.text("summary"), arguments=part_items, trivial=row.text("trivial"),
            flops=row.text("flops"),
            row_major=_load_row_major(row, library, {a.name: a for a in part_items}),
            level=_level(row, library), legal=row.text("legal", ""),
            rerun=bool(row.text("rerun", "")), batched=row.truth("batched"),
            efficiency=_efficiency(row, library),
            explained=row.mapping("explained"),
            local=row.text("local", ""),
        )  # fmt: skip
        _check_references(row.where, routine)
        routines.append(routine)
    return routines


def check_ids(routines: Iterable[Routine]) -> None:
    """Checks that names and ids are unique over the whole table."""
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
        where = f"{path.parent.name}/{path.name}"
        if path.stem.split("_")[0] not in LIBRARIES:
            raise TableError(
                f"{where}: unknown library (files: blas*.toml, lapack*.toml, block*.toml)"
            )
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise TableError(f"{where}: {error}") from None
        Table(where, data).only({"routine"})
        for index, row in enumerate(data.get("routine", [])):
            routines += _load_routine(path, where, index, row)
    check_ids(routines)
    return routines
