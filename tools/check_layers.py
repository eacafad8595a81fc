#!/usr/bin/env python3
"""Checks the #include arrows between and inside the folders of src/.

A folder includes the folders that its arrows reach, and base. Backends do not include each other,
nor do transports. Client and daemon do not include each other. A detail/ folder belongs to the
folder that contains it. Modules do not include each other in cycles: x.hpp and x.cpp are one
module.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

# ARCHITECTURE.md draws this table. A folder includes the folders that its arrows reach, and base.
ARROWS: dict[str, tuple[str, ...]] = {
    "base": (),
    "wire": ("base",),
    "routines": ("wire",),
    "transport": ("wire",),
    "session": ("transport",),
    "pool": ("transport",),
    "device": ("routines",),
    "executor": ("base",),
    "backend": ("device", "executor"),
    "daemon": ("session", "device", "pool"),
    "client": ("session", "device", "pool"),
    "algorithms": ("device",),
    "verify": ("routines",),
    "policy": ("base",),
    "offload": ("client", "algorithms", "verify", "policy"),
    "interpose": ("offload",),
    "api": ("client", "algorithms", "backend"),
    "sial": ("device",),
    "overlap": ("base",),
}
# The folders whose subfolders are alternatives that do not include each other.
ALTERNATIVES = ("backend", "transport")
SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".cl", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def reach(folder: str) -> set[str]:
    """Returns the folders that `folder` may include, itself among them."""
    reached: set[str] = set()
    waiting = [folder, "base"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(ARROWS[name])
    return reached


def includes(path: Path, src: Path) -> Iterator[tuple[int, str]]:
    """Yields line number and target, relative to src, of each include that leads into src."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1) or match.group(2)
        beside = (path.parent / target).resolve()
        if match.group(1) and beside.is_file() and src in beside.parents:
            yield number, beside.relative_to(src).as_posix()
        elif PurePosixPath(target).parts[0] in ARROWS:
            yield number, target


def problem(includer: str, target: str) -> str | None:
    """Returns the reason why `includer` must not include `target` (both relative to src); None if
    it may."""
    source, aim = PurePosixPath(includer).parts, PurePosixPath(target).parts
    if aim[0] not in reach(source[0]):
        return f"{source[0]}/ may not include {aim[0]}/"
    alternatives = source[0] == aim[0] and source[0] in ALTERNATIVES
    between_folders = len(source) > 2 and len(aim) > 2 and source[1] != aim[1]
    if alternatives and between_folders and "detail" not in (source[1], aim[1]):
        return f"{source[0]}/{source[1]}/ may not include {aim[0]}/{aim[1]}/"
    if "detail" in aim[:-1]:
        owner = aim[: aim.index("detail")]
        if source[: len(owner)] != owner:
            return f"{'/'.join(owner)}/detail/ is private to {'/'.join(owner)}/"
    return None


def module(name: str) -> str:
    """Returns the module of a file: its path without the suffix, which header and source share."""
    return PurePosixPath(name).with_suffix("").as_posix()


def reached(graph: dict[str, set[str]], start: str) -> dict[str, str]:
    """Returns each module that `start` includes, directly or not, with the module that includes
    it."""
    includer: dict[str, str] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop(0)  # breadth first, so that the paths are the shortest
        for target in sorted(graph.get(name, ())):
            if target not in includer:
                includer[target] = name
                waiting.append(target)
    return includer


def cycles(graph: dict[str, set[str]]) -> Iterator[tuple[list[str], list[str]]]:
    """Yields each group of modules that all include each other, with a shortest cycle in it."""
    below = {name: reached(graph, name) for name in graph}
    done: set[str] = set()
    for start in sorted(graph):
        if start in done or start not in below[start]:
            continue
        group = [name for name in sorted(below[start]) if start in below.get(name, {})]
        done.update(group)
        path = [start]
        while len(path) == 1 or path[0] != start:
            path.insert(0, below[start][path[0]])
        yield group, path


def check(src: Path) -> list[str]:
    """Returns all complaints about the tree under `src`."""
    src = src.resolve()
    complaints: list[str] = []
    graph: dict[str, set[str]] = {}
    for folder in sorted(p.name for p in src.iterdir() if p.is_dir()):
        if folder not in ARROWS:
            advice = f"give it arrows in ARCHITECTURE.md and {Path(__file__).name}"
            complaints.append(f"src/{folder}: unknown folder ({advice})")
            continue
        for path in sorted(p for p in (src / folder).rglob("*") if p.suffix in SUFFIXES):
            name = path.relative_to(src).as_posix()
            targets = graph.setdefault(module(name), set())
            for line, target in includes(path, src):
                if module(target) != module(name):
                    targets.add(module(target))
                if why := problem(name, target):
                    complaints.append(f"src/{name}:{line}: includes {target} ({why})")
    for group, cycle in cycles(graph):
        complaints.append(
            f"src/{cycle[0]}: cycle {' -> '.join(cycle)} (of {len(group)}: {', '.join(group)})"
        )
    return complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("root", nargs="?", type=Path, default=root)
    complaints = check(parser.parse_args().root / "src")
    for complaint in complaints:
        print(complaint)
    print(f"check_layers: {len(complaints)} complaint(s)" if complaints else "check_layers: ok")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
