#!/usr/bin/env python3
"""Checks the documents: every link, path and file name in them exists, and prose wraps.

A code span is a path if it begins with a folder of the repository. It is a file name if it has no
folder and ends like a source file. Names in capitals (`tests/fuzz/NAME_fuzz.cpp`) and the letters
of examples (`src/a/b.cpp`) are placeholders.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

COLUMNS = 100
DOCUMENTS = ("*.md", "*/*.md", "docs/**/*.md", "examples/**/README*", "tests/**/README*")
# The top folders whose files are generated or fetched.
IGNORED = {".git", ".venv", "build"}
SUFFIXES = r"cpp|hpp|cu|cl|py|toml|cmake|f90|md"
FILE_NAME = re.compile(rf"[\w*.-]+\.(?:{SUFFIXES})\Z")
PLACEHOLDER = re.compile(r"[A-Z]{3,}|[<>?{}$]|\.\.\.|(?:\A|/)[ab](?:_test)?(?:[./]|\Z)")
REAL_CAPITALS = re.compile(
    r"\b(?:ARCHITECTURE|CHANGELOG|CONTRIBUTING|LICENSE|README|SCHEMA)\b|CMakeLists"
)
CODE_SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
ANCHOR = re.compile(r'<a id="([^"]+)">')


class Tree:
    """The files of the repository, by path and by name."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.paths: set[str] = set()
        self.names: set[str] = set()
        for path in self.root.rglob("*"):
            if not self.ignored(path):
                self.paths.add(path.relative_to(self.root).as_posix())
                self.names.add(path.name)
        self.folders = {path.split("/")[0] for path in self.paths if "/" in path}

    def ignored(self, path: Path) -> bool:
        return path.relative_to(self.root).parts[0] in IGNORED

    def has(self, path: str) -> bool:
        path = path.rstrip("/")
        return path in self.paths or ("*" in path and any(fnmatch(p, path) for p in self.paths))

    def has_name(self, name: str) -> bool:
        return name in self.names or any(fnmatch(known, name) for known in self.names)

    def documents(self) -> list[Path]:
        found = {path for pattern in DOCUMENTS for path in self.root.glob(pattern)}
        return sorted(path for path in found if not self.ignored(path))


def anchors(text: str) -> set[str]:
    """Returns the targets of `#...` in a document: its headings, as GitHub spells them, and `<a
    id>`."""
    spelled = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in HEADING.findall(text)
    }
    return spelled | set(ANCHOR.findall(text))


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Yields number and text of each line outside of code blocks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def bad_link(target: str, document: Path) -> bool:
    if re.match(r"[a-z]+:", target):
        return False
    path, _, anchor = target.partition("#")
    file = (document.parent / path) if path else document
    if not file.exists():
        return True
    return bool(anchor) and anchor not in anchors(file.read_text(encoding="utf-8"))


def bad_span(span: str, tree: Tree) -> bool:
    """Returns true if the code span names a file that does not exist."""
    if PLACEHOLDER.search(REAL_CAPITALS.sub("", span)) or " " in span:
        return False
    path = span.split(":")[0]
    if path.split("/")[0] in tree.folders and "/" in path:
        return not tree.has(path)
    return bool(FILE_NAME.match(path)) and not tree.has_name(path)


def complaints_of(document: Path, tree: Tree) -> Iterator[str]:
    text = document.read_text(encoding="utf-8")
    name = document.relative_to(tree.root).as_posix()
    for number, line in prose(text):
        for target in LINK.findall(line):
            if bad_link(target, document):
                yield f"{name}:{number}: broken link to {target}"
        for span in CODE_SPAN.findall(line):
            if bad_span(span, tree):
                yield f"{name}:{number}: {span} does not exist (was it moved or renamed?)"
        if len(line) > COLUMNS and " " in line.strip() and line[0] not in "|#!":
            yield f"{name}:{number}: {len(line)} columns (the limit is {COLUMNS})"


def check(root: Path) -> list[str]:
    """Returns all complaints about the documents of the repository at `root`."""
    tree = Tree(root)
    return [line for document in tree.documents() for line in complaints_of(document, tree)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parents[1], type=Path)
    complaints = check(parser.parse_args().root)
    print("\n".join(complaints) or "documents: all links and paths exist")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
