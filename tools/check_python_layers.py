#!/usr/bin/env python3
"""Checks the import arrows between and inside the Python packages.

A unit of python/outboard is a module or a package directly below it. A unit imports the units that
its arrows reach. Commands do not import each other. Each package that is not installed is imported
by one command. Modules do not import each other in cycles.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from check_layers import cycles

PACKAGE = "outboard"
# The folders of the packages.
PLACES = {PACKAGE: "python", "outboard_bench": "bench", "outboard_testing": "tools"}
# The packages that are not installed, and the one command that may import each.
NOT_INSTALLED = {
    "outboard_bench": "outboard.commands.bench",
    "outboard_testing": "outboard.commands.test",
}

# From the lowest unit to the highest. A unit imports the units that its arrows reach.
ARROWS: dict[str, tuple[str, ...]] = {
    # Values, errors and places.
    "errors": (),
    "settings_table": (),
    "mpi_eager": (),
    "preload": ("errors",),
    "addresses": (),
    "values": ("addresses",),
    "progress": (),
    "counters": (),
    "trace": (),
    "profile": (),
    "paths": ("preload",),
    "version": ("paths",),
    "settings": ("preload", "settings_table", "values"),
    # Parts of several commands.
    "process": ("errors",),
    "build": ("paths", "progress"),
    "load": (),
    "uncounted": (),
    "report": ("counters", "load", "uncounted"),
    "coverage": ("paths",),
    "device": ("preload",),
    "overlap": ("preload",),
    "keys": ("errors",),
    "members": ("keys",),
    "pool": ("keys", "version"),
    "sial": ("errors", "values"),
    "sial_explain": ("errors", "sial", "sial_saved"),
    "sial_explain_line": ("errors", "report", "sial", "sial_explain", "sial_explain_text"),
    "sial_explain_text": ("report", "sial", "sial_explain", "sial_report"),
    # The work of one command.
    "demo": ("settings",),
    "sial_jobs": ("paths", "sial", "sial_report", "trace", "version"),
    "sial_plugin": (),
    "sial_plugin_host": ("sial_plugin",),
    "sial_report": ("report",),
    "sial_saved": ("errors",),
    "overlap_report": ("report",),
    "launch": ("build", "overlap_report", "process", "report", "settings", "trace"),
    "doctor": ("counters", "coverage", "members", "pool", "settings", "version"),
    "explain": ("report", "errors"),
    "tune": ("build", "doctor", "explain", "profile"),
    # The command line.
    "commands": (
        "demo",
        "doctor",
        "explain",
        "launch",
        "mpi_eager",
        "pool",
        "sial_jobs",
        "sial_saved",
        "tune",
    ),
    "cli": ("commands", "version"),
    "start": ("cli", "preload"),
    "__main__": ("cli",),
}
# Modules of commands whose names begin so are no commands.
SHARED_BY_COMMANDS = "outboard.commands._"


def reach(unit: str) -> set[str]:
    """Returns the units that `unit` may import, itself among them."""
    reached: set[str] = set()
    waiting = [unit]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(ARROWS[name])
    return reached


def modules(root: Path) -> dict[str, Path]:
    """Returns the modules of all packages by their dotted names. A package's name is its
    __init__.py."""
    found = {}
    for package, place in PLACES.items():
        for file in sorted((root / place / package).rglob("*.py")):
            parts = file.relative_to(root / place).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(file: Path, known: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """Yields line and target of each import of a known module, also of imports inside functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            beneath = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in beneath]
        else:
            continue
        for name in dict.fromkeys(names):
            if name in known:
                yield node.lineno, name


def unit(module: str) -> str:
    """Returns the unit of a module of `outboard`; empty for the package itself."""
    return ".".join(module.split(".")[1:2])


def problem(importer: str, target: str) -> str | None:
    """Returns the reason why `importer` must not import `target`; None if it may."""
    package, aimed = importer.split(".")[0], target.split(".")[0]
    if package == aimed != PACKAGE:
        return None
    if aimed != PACKAGE:
        command = NOT_INSTALLED[aimed]
        return None if importer == command else f"only {command} may import {aimed}"
    if package != PACKAGE:
        high = unit(target) in ("commands", "cli", "__main__")
        return f"{package} starts commands as programs" if high else None
    source, aim = unit(importer), unit(target)
    if not source or not aim:  # the package itself holds nothing
        return None
    if aim not in reach(source):
        return f"{source} may not import {aim}"
    if source == aim == "commands" and not target.startswith(SHARED_BY_COMMANDS):
        return "commands do not import each other"
    return None


def check(root: Path) -> list[str]:
    """Returns all complaints about the tree at `root`."""
    complaints: list[str] = []
    known = modules(root)
    graph: dict[str, set[str]] = {}
    for name, file in known.items():
        place = file.relative_to(root).as_posix()
        graph[name] = set()
        if name.startswith(f"{PACKAGE}.") and unit(name) not in ARROWS:
            complaints.append(f"{place}: unknown unit (give it arrows in {Path(__file__).name})")
            continue
        for line, target in imports(file, known):
            if name != target:
                graph[name].add(target)
            if why := problem(name, target):
                complaints.append(f"{place}:{line}: imports {target} ({why})")
    complaints += [f"{path[0]}: cycle {' -> '.join(path)}" for _, path in cycles(graph)]
    return complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("root", nargs="?", type=Path, default=root)
    complaints = check(parser.parse_args().root.resolve())
    for complaint in complaints:
        print(complaint)
    summary = f"{len(complaints)} complaint(s)" if complaints else "ok"
    print(f"check_python_layers: {summary}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
