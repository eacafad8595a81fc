"""Checks of the environment: settings that nobody reads, or that make no sense."""

from __future__ import annotations

import difflib
import fnmatch
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from outboard import coverage, values
from outboard.doctor.finding import Finding, note, ok, problem, some
from outboard.settings import ACCURACIES, MODES, NATIVE_PLANS, ROUTES, SERVER_VARIABLES

# Read by the library (src/interpose/), the daemon, this command line and ./outboard, in this order.
KNOWN = (
    "OUTBOARD_ACCURACY OUTBOARD_CUDA_PATH OUTBOARD_DEVICES "
    "OUTBOARD_KEY OUTBOARD_LEARN OUTBOARD_MODE OUTBOARD_NATIVE_PLAN OUTBOARD_QUIET OUTBOARD_REPORT "
    "OUTBOARD_PLAIN OUTBOARD_PROFILE OUTBOARD_RESIDENT OUTBOARD_ROUTE OUTBOARD_ROUTINES "
    "OUTBOARD_SERVER "
    "OUTBOARD_SHARE "
    "OUTBOARD_STREAMS OUTBOARD_TRACE OUTBOARD_TRACK_PAGES OUTBOARD_VERIFY "
    "OUTBOARD_BLAS "
    "OUTBOARD_BUILD_DIR OUTBOARD_NATIVE_DIR "
    "OUTBOARD_NO_APT OUTBOARD_PYTHON"
).split()
TRANSFORMS = tuple(f"{p} {kind}" for p in ("fftw", "fftwf") for kind in "c2c r2c c2r r2r".split())
_PREFIX = "OUTBOARD_"
_OFF = ("", "0", "no", "off", "false")
_STDERR = ("1", "yes", "on", "true", "stderr")


def check(environment: Mapping[str, str]) -> list[Finding]:
    """Everything that is set."""
    checks: dict[str, Callable[[str], Finding | None]] = {
        "OUTBOARD_MODE": partial(_one_of, "OUTBOARD_MODE", MODES),
        "OUTBOARD_NATIVE_PLAN": partial(_one_of, "OUTBOARD_NATIVE_PLAN", NATIVE_PLANS),
        "OUTBOARD_RESIDENT": _resident,
        "OUTBOARD_ROUTE": partial(_one_of, "OUTBOARD_ROUTE", ROUTES),
        "OUTBOARD_REPORT": _report,
        "OUTBOARD_TRACE": _trace,
        "OUTBOARD_PROFILE": _profile,
        "OUTBOARD_ROUTINES": _routines,
        "OUTBOARD_SHARE": _share,
        "OUTBOARD_DEVICES": _devices,
        "OUTBOARD_ACCURACY": _accuracy,
        "LD_PRELOAD": _preload,
        **{name: partial(_servers, name) for name in SERVER_VARIABLES},
    }
    found = unknown(environment)
    for name, look in checks.items():
        if value := environment.get(name):
            finding = look(value)
            found += [finding] if finding else []
    if all(environment.get(name) for name in SERVER_VARIABLES):
        first, second = SERVER_VARIABLES
        found.append(note(second, f"is not used, because {first} is set", f"unset {second}"))
    return found or [ok("variables", _summary(environment))]


def _summary(environment: Mapping[str, str]) -> str:
    names = sorted(n for n in environment if n.startswith(_PREFIX) or n in SERVER_VARIABLES)
    return f"set: {', '.join(names)}" if names else "none is set"


def unknown(environment: Mapping[str, str]) -> list[Finding]:
    """Variables with our prefix that nothing reads."""
    found = []
    for name in sorted(environment):
        if name.startswith(_PREFIX) and name not in KNOWN:
            words = [known.removeprefix(_PREFIX) for known in KNOWN]
            near = difflib.get_close_matches(name.removeprefix(_PREFIX), words, 1)
            advice = f"did you mean {_PREFIX}{near[0]}?" if near else f"unset {name}"
            found.append(problem(name, "is no variable of Outboard: nothing reads it", advice))
    return found


def _one_of(name: str, allowed: tuple[str, ...], value: str) -> Finding | None:
    """`allowed` begins with the default."""
    if value in allowed:
        return None
    text = f"'{value}' is unknown ({allowed[0]} is used instead)"
    return problem(name, text, f"write {', '.join(allowed)}")


def _resident(value: str) -> Finding | None:
    if value in ("auto", "off") or value == "0":
        return None
    try:
        values.parse_size(value)
    except ValueError:
        return problem(
            "OUTBOARD_RESIDENT",
            f"'{value}' is no size, off or auto (auto is used instead)",
            "write for example 512M or 4GiB",
        )
    return None


def _share(value: str) -> Finding | None:
    try:
        values.check_share(value)
    except ValueError as error:
        return problem("OUTBOARD_SHARE", f"{error} (auto is used instead)", "write auto or off")
    return None


def _accuracy(value: str) -> Finding | None:
    if value in ACCURACIES:
        return None
    words = ", ".join(ACCURACIES)
    return problem("OUTBOARD_ACCURACY", f"'{value}' is none of {words} (standard is used)", "")


def _devices(value: str) -> Finding | None:
    try:
        values.check_devices(value)
    except ValueError as error:
        return problem("OUTBOARD_DEVICES", f"{error} (1 is used instead)", "write 2 or all")
    return None


def _servers(name: str, value: str) -> Finding | None:
    try:
        values.check_servers(value)
    except ValueError as error:
        return problem(
            name, str(error), "correct it, or unset it: without a server calls are local"
        )
    return None


def _report(value: str) -> Finding | None:
    name = "OUTBOARD_REPORT"
    if value.startswith("dir:"):
        folder = Path(value.removeprefix("dir:"))
        if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
            return None
        why = "may not be written by this user" if folder.exists() else "does not exist"
        return problem(
            name,
            f"{folder} {why}: programs leave no counters",
            f"mkdir -p {folder}, or name another",
        )
    if value in _OFF or value in _STDERR:
        return None
    return note(name, f"'{value}' is taken for stderr", "write stderr, or dir:FOLDER")


def _trace(value: str) -> Finding | None:
    folder = Path(value).absolute().parent
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        return None
    return problem("OUTBOARD_TRACE", f"{folder} cannot be written", "name a file elsewhere")


def _profile(value: str) -> Finding | None:
    if value == "off" or Path(value).is_dir():
        return None
    text = f"{value} does not exist: calls are decided without profiles"
    return note("OUTBOARD_PROFILE", text, "`outboard tune` makes it")


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
    """What OUTBOARD_ROUTINES can name."""
    page = coverage.Page.parse(coverage.text())
    blas = {n for r in page.routines() if "routine" in r.row and r.is_exported for n in r.names}
    return blas | set(TRANSFORMS)


def _routines(value: str) -> Finding | None:
    """Entries of OUTBOARD_ROUTINES that fit no routine."""
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
    return problem("OUTBOARD_ROUTINES", text, f"{advice}`outboard coverage` lists the names")


def _fits(pattern: str, names: set[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)
