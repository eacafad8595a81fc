"""Loads and checks routines/fftw.toml (routines/SCHEMA.md explains a row)."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

try:
    import tomllib
except ImportError:  # pragma: no cover
    sys.exit("codegen: Python 3.11 or later is needed (tomllib is not in this one)")

ACTIONS = ("plan", "execute", "execute_new", "destroy", "cleanup")
KINDS = ("c2c", "r2c", "c2r", "r2r")  # FftKind of src/routines/fft.hpp
ABIS = ("c", "fortran")
# The arguments of a maker, in any order, without arrays, flags, sign (interleaved c2c), kinds (r2r)
# and plan (Fortran).
FORMS: dict[str, tuple[str, ...]] = {
    "1d": ("n0",),
    "2d": ("n0", "n1"),
    "3d": ("n0", "n1", "n2"),
    "basic": ("rank", "n"),
    "many": ("rank", "n", "howmany", "inembed", "istride", "idist", "onembed", "ostride", "odist"),
    "guru": ("rank", "dims", "howmany_rank", "howmany_dims"),
    "guru64": ("rank", "dims64", "howmany_rank", "howmany_dims64"),
    "guru_parts": ("rank", "n", "is", "os", "howmany_rank", "h_n", "h_is", "h_os"),
}
FORM_ABIS = {
    "guru": ("c",), "guru64": ("c",), "guru_parts": ("fortran",),
}  # fmt: skip
# The arrays of a function in the order of its prototype. Split ones are real and imaginary.
ARRAYS = ("in", "out")
SPLIT_ARRAYS = {
    "c2c": ("ri", "ii", "ro", "io"),
    "r2c": ("in", "ro", "io"),
    "c2r": ("ri", "ii", "out"),
}
# the kinds of the dimensions n0, n1, n2; other forms have an array
ONE_KIND_EACH = ("kind0", "kind1", "kind2")
ROLES = (
    frozenset(role for form in FORMS.values() for role in form)
    | frozenset(role for arrays in (ARRAYS, *SPLIT_ARRAYS.values()) for role in arrays)
    | frozenset(("sign", "flags", "plan", "kind", *ONE_KIND_EACH))
)
# The exact arguments of functions that are neither maker nor new-array execution.
FIXED_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "execute": ("plan",),
    "destroy": ("plan",),
    "cleanup": (),
}


class TableError(Exception):
    """A row cannot be used. The message names the file, the row and the correct form."""


@dataclasses.dataclass(frozen=True)
class Library:
    """One precision of FFTW."""

    prefix: str
    fortran_prefix: str
    precision: str  # c: single, z: double


@dataclasses.dataclass(frozen=True)
class Routine:
    """One row: a function in all libraries."""

    name: str
    action: str
    kind: str  # empty if the plan determines it
    abi: str
    arguments: tuple[str, ...]
    form: str  # makers: key of FORMS

    @property
    def split(self) -> bool:
        """Returns true if complex data is in two arrays of real numbers."""
        return not set(self.arguments).isdisjoint(("ri", "ro"))

    @property
    def arrays(self) -> tuple[str, ...]:
        return SPLIT_ARRAYS[self.kind] if self.split else ARRAYS

    def symbols(self, library: Library) -> tuple[str, ...]:
        """Returns the names under which a program may call it."""
        if self.abi == "fortran":
            stem = library.fortran_prefix + self.name
            return (stem + "_", stem + "__")
        return (library.prefix + self.name,)


@dataclasses.dataclass(frozen=True)
class Table:
    """The whole table of fftw.toml."""

    libraries: tuple[Library, ...]
    routines: tuple[Routine, ...]

    def symbols(self) -> list[str]:
        return [s for library in self.libraries for r in self.routines for s in r.symbols(library)]


def _text(where: str, data: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = data.get(key, default)
    if value is None:
        raise TableError(f"{where}: key '{key}' is missing")
    if not isinstance(value, str):
        raise TableError(f"{where}: key '{key}' must be a string, not {value!r}")
    return value


def _choice(
    where: str, data: Mapping[str, Any], key: str, known: Iterable[str], default: str | None = None
) -> str:
    value = _text(where, data, key, default)
    if value not in known:
        raise TableError(f"{where}: {key} '{value}' is unknown (known: {', '.join(known)})")
    return value


def _only(where: str, data: Mapping[str, Any], known: Iterable[str]) -> None:
    unknown = sorted(set(data) - set(known))
    if unknown:
        raise TableError(f"{where}: unknown key '{unknown[0]}' (known: {', '.join(sorted(known))})")


def _name(where: str, value: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", value):
        raise TableError(f"{where}: '{value}' is no C name (lower case letters, digits and _ only)")
    return value


def _library(where: str, data: Mapping[str, Any]) -> Library:
    _only(where, data, ("prefix", "fortran_prefix", "precision"))
    return Library(
        prefix=_name(where, _text(where, data, "prefix")),
        fortran_prefix=_name(where, _text(where, data, "fortran_prefix")),
        precision=_choice(where, data, "precision", ("c", "z")),
    )


def _arrays(kind: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    split = kind in SPLIT_ARRAYS and not {"ri", "ro"}.isdisjoint(arguments)
    return SPLIT_ARRAYS[kind] if split else ARRAYS


def _kind_roles(kind: str, form: str) -> tuple[str, ...]:
    """Returns the arguments that give the kinds of a real-to-real transform."""
    if kind != "r2r":
        return ()
    return ONE_KIND_EACH[: int(form[0])] if form in ("1d", "2d", "3d") else ("kind",)


def _form(where: str, kind: str, abi: str, arguments: tuple[str, ...]) -> str:
    """Returns the form of a maker with these arguments."""
    arrays = _arrays(kind, arguments)
    around = {*arrays, "flags"}
    if kind == "c2c" and arrays == ARRAYS:
        around.add("sign")
    if abi == "fortran":
        around.add("plan")
    missing = sorted(around - set(arguments))
    if missing:
        raise TableError(f"{where}: a {kind} maker needs the argument '{missing[0]}'")
    rest = set(arguments) - around
    known = {f: (*roles, *_kind_roles(kind, f)) for f, roles in FORMS.items()}
    form = next((f for f, roles in known.items() if rest == set(roles)), None)
    if form is None:
        raise TableError(f"{where}: arguments {sorted(rest)} are no known form (known: {known})")
    if abi not in FORM_ABIS.get(form, ABIS):
        raise TableError(f"{where}: form {form} is not used with abi {abi}")
    return form


def _check_arguments(where: str, action: str, kind: str, arguments: tuple[str, ...]) -> None:
    """Checks the arguments of all actions but plan."""
    new = ("plan", *_arrays(kind, arguments)) if action == "execute_new" else ()
    expected = new or FIXED_ARGUMENTS[action]
    if arguments != expected:
        raise TableError(f"{where}: arguments must be '{' '.join(expected)}' for action {action}")


def _routine(where: str, data: Mapping[str, Any]) -> Routine:
    _only(where, data, ("name", "action", "kind", "abi", "arguments"))
    action = _choice(where, data, "action", ACTIONS)
    abi = _choice(where, data, "abi", ABIS, "c")
    arguments = tuple(_text(where, data, "arguments").split())
    unknown = [a for a in arguments if a not in ROLES]
    if unknown:
        raise TableError(
            f"{where}: argument '{unknown[0]}' is unknown (known: {', '.join(sorted(ROLES))})"
        )
    if len(set(arguments)) != len(arguments):
        raise TableError(f"{where}: an argument is named twice")
    needs_kind = action in ("plan", "execute_new")
    if not needs_kind and "kind" in data:
        raise TableError(f"{where}: action {action} takes no kind (the plan says it)")
    kind = _choice(where, data, "kind", KINDS) if needs_kind else ""
    if action != "plan":
        _check_arguments(where, action, kind, arguments)
    form = _form(where, kind, abi, arguments) if action == "plan" else ""
    return Routine(_name(where, _text(where, data, "name")), action, kind, abi, arguments, form)


def parse(text: str, origin: str = "fftw.toml") -> Table:
    """Returns the rows in `text`. Raises TableError if one cannot be used."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{origin}: not TOML ({error})") from error
    _only(origin, data, ("library", "routine"))
    libraries = tuple(
        _library(f"{origin}: library {i + 1}", d) for i, d in enumerate(data.get("library", []))
    )
    routines = tuple(
        _routine(f"{origin}: routine {i + 1} ({d.get('name', 'no name')})", d)
        for i, d in enumerate(data.get("routine", []))
    )
    return Table(libraries, routines)


def join(tables: Iterable[Table]) -> Table:
    """Returns all rows of all tables. Raises TableError if two rows make the same symbol."""
    parts = list(tables)
    table = Table(
        libraries=tuple(library for t in parts for library in t.libraries),
        routines=tuple(routine for t in parts for routine in t.routines),
    )
    symbols = table.symbols()
    twice = sorted({s for s in symbols if symbols.count(s) > 1})
    if twice:
        raise TableError(f"symbol '{twice[0]}' comes from two rows (a function is one row)")
    return table


def load(paths: Iterable[Path]) -> Table:
    """Returns the table in the files `paths`."""
    return join(parse(path.read_text(encoding="utf-8"), path.name) for path in paths)
