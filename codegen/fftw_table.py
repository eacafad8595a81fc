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
KINDS = ("c2c", "r2c", "c2r")  # FftKind of src/routines/fft.hpp
ABIS = ("c", "fortran")
# Which arguments a maker has, in any order, beside in, out, flags, sign (c2c) and plan (Fortran).
FORMS: dict[str, tuple[str, ...]] = {
    "1d": ("n0",),
    "2d": ("n0", "n1"),
    "3d": ("n0", "n1", "n2"),
    "basic": ("rank", "n"),
    "many": ("rank", "n", "howmany", "inembed", "istride", "idist", "onembed", "ostride", "odist"),
    "guru": ("rank", "dims", "howmany_rank", "howmany_dims"),
    "guru64": ("rank", "dims64", "howmany_rank", "howmany_dims64"),
}
FORTRAN_FORMS = ("1d", "2d", "3d", "basic", "many")
ROLES = frozenset(role for form in FORMS.values() for role in form) | {
    "in",
    "out",
    "sign",
    "flags",
    "plan",
}
# Exact arguments of what is no maker.
FIXED_ARGUMENTS = {
    "execute": ("plan",),
    "execute_new": ("plan", "in", "out"),
    "destroy": ("plan",),
    "cleanup": (),
}


class TableError(Exception):
    """A row that cannot be used; the message names the file, the row and what to write instead."""


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
    kind: str  # empty where the plan says it
    abi: str
    arguments: tuple[str, ...]
    form: str  # makers: key of FORMS

    def symbols(self, library: Library) -> tuple[str, ...]:
        """The names under which a program may call it."""
        if self.abi == "fortran":
            stem = library.fortran_prefix + self.name
            return (stem + "_", stem + "__")
        return (library.prefix + self.name,)


@dataclasses.dataclass(frozen=True)
class Table:
    """All of fftw.toml."""

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


def _form(where: str, kind: str, abi: str, arguments: tuple[str, ...]) -> str:
    """The form of a maker with these arguments."""
    around = (
        {"in", "out", "flags"}
        | ({"sign"} if kind == "c2c" else set())
        | ({"plan"} if abi == "fortran" else set())
    )
    missing = sorted(around - set(arguments))
    if missing:
        raise TableError(f"{where}: a {kind} maker needs the argument '{missing[0]}'")
    rest = set(arguments) - around
    form = next((f for f, roles in FORMS.items() if rest == set(roles)), None)
    if form is None:
        raise TableError(
            f"{where}: arguments {sorted(rest)} are no known form (known: {dict(FORMS)})"
        )
    if abi == "fortran" and form not in FORTRAN_FORMS:
        raise TableError(
            f"{where}: form {form} has no Fortran rule yet (known: {', '.join(FORTRAN_FORMS)})"
        )
    return form


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
    if action != "plan" and arguments != FIXED_ARGUMENTS[action]:
        raise TableError(
            f"{where}: arguments must be '{' '.join(FIXED_ARGUMENTS[action])}' for action {action}"
        )
    form = _form(where, kind, abi, arguments) if action == "plan" else ""
    return Routine(_name(where, _text(where, data, "name")), action, kind, abi, arguments, form)


def parse(text: str, origin: str = "fftw.toml") -> Table:
    """The rows in `text`; TableError if one cannot be used."""
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
    """All rows of all tables; TableError if two rows make the same symbol."""
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
    """The table in the files `paths`."""
    return join(parse(path.read_text(encoding="utf-8"), path.name) for path in paths)
