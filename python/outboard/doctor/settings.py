"""Checks the environment: finds variables that nothing reads, and invalid values."""

from __future__ import annotations

import difflib
import fnmatch
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from outboard import addresses, coverage, settings_table, values
from outboard.doctor.finding import Finding, note, ok, problem, some
from outboard.settings_table import Row

TRANSFORMS = tuple(f"{p} {kind}" for p in ("fftw", "fftwf") for kind in "c2c r2c c2r r2r".split())
_PREFIX = "OUTBOARD_"
_OFF = ("", "0", "no", "off", "false")
_STDERR = ("1", "yes", "on", "true", "stderr")


def known() -> list[str]:
    """Returns the present names of the variables that Outboard reads."""
    return [row.variable for row in settings_table.rows()]


def check(environment: Mapping[str, str]) -> list[Finding]:
    """Returns findings about the variables that are set."""
    found = unknown(environment)
    for row in filter(lambda row: row.of_library, settings_table.rows()):
        look = _CHECKS.get(row.name) or _CHECKS_OF_TYPE.get(row.type)
        for name in row.variables:
            if look and (value := environment.get(name)):
                finding = look(replace(row, variable=name), value)
                found += [finding] if finding else []
    if value := environment.get("LD_PRELOAD"):
        finding = _preload(value)
        found += [finding] if finding else []
    first, second = settings_table.row("servers").variables
    if environment.get(first) and environment.get(second):
        found.append(note(second, f"is not used, because {first} is set", f"unset {second}"))
    return found or [ok("variables", _summary(environment))]


def _summary(environment: Mapping[str, str]) -> str:
    older = [row.older_variable for row in settings_table.rows()]
    names = sorted(n for n in environment if n.startswith(_PREFIX) or n in older)
    return f"set: {', '.join(names)}" if names else "none is set"


def unknown(environment: Mapping[str, str]) -> list[Finding]:
    """Reports variables with our prefix that nothing reads."""
    found = []
    words = [name.removeprefix(_PREFIX) for name in known()]
    for name in sorted(environment):
        if name.startswith(_PREFIX) and name not in known():
            near = difflib.get_close_matches(name.removeprefix(_PREFIX), words, 1)
            advice = f"did you mean {_PREFIX}{near[0]}?" if near else f"unset {name}"
            found.append(problem(name, "is no variable of Outboard: nothing reads it", advice))
    return found


def _wrong(row: Row, value: str) -> Finding:
    """Returns the finding for a value that the library does not accept."""
    what = row.wrong or "is unknown"
    text = f"'{value}' {what} ({row.used_instead} is used instead)"
    return problem(row.variable, text, f"write {row.write or ', '.join(row.choices)}")


def _choice(row: Row, value: str) -> Finding | None:
    return None if value in row.choices else _wrong(row, value)


def _strict_flag(row: Row, value: str) -> Finding | None:
    return None if value in ("0", "1") else _wrong(row, value)


def _count(row: Row, value: str) -> Finding | None:
    good = value.isascii() and value.isdigit() and (row.min <= int(value) <= (row.max or 1 << 64))
    return None if good else _wrong(row, value)


def _size(row: Row, value: str) -> Finding | None:
    if value == "0":  # the same as off
        return None
    return _parsed(values.ResidentSize().check, row, value)


def _part(row: Row, value: str) -> Finding | None:
    return _parsed(values.check_share, row, value)


def _devices(row: Row, value: str) -> Finding | None:
    return _parsed(values.check_devices, row, value)


def _parsed(parse: Callable[[str], object], row: Row, value: str) -> Finding | None:
    try:
        parse(value)
    except ValueError:
        return _wrong(row, value)
    return None


def _servers(row: Row, value: str) -> Finding | None:
    try:
        addresses.check_servers(value)
    except ValueError as error:
        return problem(
            row.variable, str(error), "correct it, or unset it: without a server calls are local"
        )
    return None


def _report(row: Row, value: str) -> Finding | None:
    if value.startswith("dir:"):
        folder = Path(value.removeprefix("dir:"))
        if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
            return None
        why = "may not be written by this user" if folder.exists() else "does not exist"
        return problem(
            row.variable,
            f"{folder} {why}: programs leave no counters",
            f"mkdir -p {folder}, or name another",
        )
    if value in _OFF or value in _STDERR:
        return None
    return note(row.variable, f"'{value}' is taken for {row.used_instead}", f"write {row.write}")


def _trace(row: Row, value: str) -> Finding | None:
    folder = Path(value).absolute().parent
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        return None
    return problem(row.variable, f"{folder} cannot be written", "name a file elsewhere")


def _profile(row: Row, value: str) -> Finding | None:
    if value == "off" or Path(value).is_dir():
        return None
    text = f"{value} does not exist: calls are decided without profiles"
    return note(row.variable, text, "`outboard tune` makes it")


def _preload(value: str) -> Finding | None:
    paths = [p for p in value.replace(":", " ").split() if "/" in p]
    missing = [p for p in paths if not Path(p).is_file()]
    if not missing:
        return None
    return problem(
        "LD_PRELOAD",
        f"{some(missing)} does not exist: every program says so and runs without it",
        "correct it, or unset it: `outboard run` sets it for its command",
    )


def routine_names() -> set[str]:
    """Returns the names that OUTBOARD_ROUTINES can have."""
    page = coverage.Page.parse(coverage.text())
    blas = {n for r in page.routines() if "routine" in r.row and r.is_exported for n in r.names}
    return blas | set(TRANSFORMS)


def _routines(row: Row, value: str) -> Finding | None:
    """Reports entries of OUTBOARD_ROUTINES that fit no routine."""
    names = routine_names()
    entries = [e.strip() for e in value.split(",") if e.strip()]
    idle = [e for e in entries if not _fits(e.removeprefix("-").lower(), names)]
    if not idle:
        return None
    text = f"{some(idle)} fits no routine"
    if all(e.startswith("-") for e in idle):
        text += ", so it forbids none"
    elif len(idle) == len(entries):
        text += ": none may go out"
    near = difflib.get_close_matches(idle[0].removeprefix("-").lower(), sorted(names), 1)
    advice = f"did you mean {near[0]}? " if near else ""
    return problem(row.variable, text, f"{advice}`outboard coverage` lists the names")


def _fits(pattern: str, names: set[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


_CHECKS_OF_TYPE: dict[str, Callable[[Row, str], Finding | None]] = {
    "addresses": _servers,
    "choice": _choice,
    "count": _count,
    "devices": _devices,
    "part": _part,
    "patterns": _routines,
    "report": _report,
    "size": _size,
    "strict flag": _strict_flag,
}
# Checks of single settings, which replace the checks of their types.
_CHECKS = {"profile": _profile, "trace": _trace}
