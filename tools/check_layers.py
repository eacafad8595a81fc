#!/usr/bin/env python3
"""Checks the #include arrows between and inside the folders of src/.

A folder includes what its arrows reach, and base; backends do not know each other, nor do
transports; client and daemon never meet; a detail/ folder belongs to the folder it lies in; files
do not include each other in circles.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

# ARCHITECTURE.md draws this table. A folder reaches what its arrows reach, and base.
ARROWS: dict[str, tuple[str, ...]] = {
    "base": (),
    "wire": ("base",),
    "routines": ("wire",),
    "transport": ("wire",),
    "session": ("transport",),
    "device": ("routines",),
    "backend": ("device",),
    "daemon": ("session", "device"),
    "client": ("session", "device"),
    "algorithms": ("device",),
    "policy": ("base",),
    "interpose": ("client", "algorithms", "policy"),
    "sial": ("device",),
    "overlap": ("base",),
}
# Folders whose subfolders are alternatives that do not know each other.
ALTERNATIVES = ("backend", "transport")
SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".cl", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def reach(folder: str) -> set[str]:
    """Folders that `folder` may include, itself among them."""
    reached: set[str] = set()
    waiting = [folder, "base"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(ARROWS[name])
    return reached


def includes(path: Path, src: Path) -> Iterator[tuple[int, str]]:
    """Line number and target, relative to src, of each include that leads into src."""
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
    """Why `includer` must not include `target` (both relative to src), or None if it may."""
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


def circles(graph: dict[str, list[str]]) -> Iterator[list[str]]:
    """One include path for each circle that a depth-first walk meets."""
    state: dict[str, str] = {}
    for start in sorted(graph):
        path: list[str] = []
        stack: list[tuple[str, bool]] = [(start, False)]
        while stack:
            name, leaving = stack.pop()
            if leaving:
                state[name] = "done"
                path.pop()
            elif name not in state:
                state[name] = "open"
                path.append(name)
                stack.append((name, True))
                for target in graph.get(name, []):
                    if state.get(target) == "open":
                        yield [*path[path.index(target) :], target]
                    elif target not in state:
                        stack.append((target, False))


def check(src: Path) -> list[str]:
    """All complaints about the tree under `src`."""
    src = src.resolve()
    complaints: list[str] = []
    graph: dict[str, list[str]] = {}
    for folder in sorted(p.name for p in src.iterdir() if p.is_dir()):
        if folder not in ARROWS:
            advice = f"give it arrows in ARCHITECTURE.md and {Path(__file__).name}"
            complaints.append(f"src/{folder}: unknown folder ({advice})")
            continue
        for path in sorted(p for p in (src / folder).rglob("*") if p.suffix in SUFFIXES):
            name = path.relative_to(src).as_posix()
            graph[name] = []
            for line, target in includes(path, src):
                graph[name].append(target)
                if why := problem(name, target):
                    complaints.append(f"src/{name}:{line}: includes {target} ({why})")
    complaints.extend(f"src/{path[0]}: circle {' -> '.join(path)}" for path in circles(graph))
    return complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("root", nargs="?", type=Path, default=root)
    complaints = check(parser.parse_args().root / "src")
    for complaint in complaints:
        print(complaint)
    print(
        f"check_layers: {len(complaints)} forbidden arrow(s)" if complaints else "check_layers: ok"
    )
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
