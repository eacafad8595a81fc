#!/usr/bin/env python3
"""Checks the sizes of files, lines and functions of C++ and Python.

Exceptions are in tools/size_exemptions.txt, one per line: `PATH file|line|function NUMBER`. The
number is their present size. The list only shrinks: an entry that is not needed, or that allows
more than is used, is an error.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIMITS = {"file": 600, "line": 100, "function": 70}  # style: lines, columns, lines
FOLDERS = ("src", "include", "apps", "bench", "examples", "tests", "codegen", "python", "tools")
CPP = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".cl"}
EXEMPTIONS = "tools/size_exemptions.txt"


@dataclass(frozen=True)
class Size:
    """A measured size."""

    path: str
    line: int
    rule: str
    value: int
    what: str


# Raw strings, comments, strings, character literals. A ' after a digit separates digits.
NOISE = re.compile(
    r'R"(?P<tag>[^()\s\\]*)\(.*?\)(?P=tag)"'
    r"|//[^\n]*|/\*.*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
TYPE_OR_NAMESPACE = re.compile(
    r"\b(?:(?:class|struct|union|enum|enum class|enum struct)\b[^();=]*?(?:$|[^:]:[^:])"
    r"|namespace\b)"
)


def without_noise(text: str) -> str:
    """Removes comments, literals and preprocessor lines. Every line end stays."""
    for pattern in (NOISE, DIRECTIVE):
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    return text


def is_function(head: str) -> bool:
    """Returns true if a brace after `head` (the text since the last ; { or }) opens a function's
    body."""
    head = re.sub(r"\b(?:alignas|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)", "", head)
    return ")" in head and not TYPE_OR_NAMESPACE.search(head)


def is_within(head: str) -> bool:
    """Returns true if a brace after `head` opens a part of an expression: `member_{1}`, `f(T t =
    {`."""
    return not head.endswith((" ", "\n")) or head.count("(") != head.count(")")


def cpp_functions(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields first line, number of lines and name of each function outside other functions.

    It is a heuristic over braces, and relies on clang-format's blanks (`f() {` but `member_{1}`).
    """
    text = without_noise(text)
    stack: list[tuple[int, str] | str] = []  # start and name of an open function, or another brace
    head_start = 0
    for match in re.finditer(r"[;{}]", text):
        at, sign = match.start(), match.group()
        head = text[head_start:at]
        in_function = any(isinstance(brace, tuple) for brace in stack)
        if sign == "{" and (in_function or is_within(head)):
            stack.append("plain" if in_function else "within")
        elif sign == "{" and is_function(head):
            start = text.count("\n", 0, at - len(head.lstrip())) + 1
            names = re.findall(r"(operator[^\s(]+|[~\w:]+)\s*\(", head)
            stack.append((start, names[0] if names else "?"))
        elif sign == "{":
            stack.append("plain")
        elif sign == "}" and stack:
            closed = stack.pop()
            if isinstance(closed, tuple):
                yield closed[0], text.count("\n", 0, at) + 1 - closed[0] + 1, closed[1]
            elif closed == "within":
                continue  # the head continues after the brace
        if "within" not in stack:
            head_start = at + 1


def python_functions(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields the same for Python, methods and nested functions included."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1, node.name


def sizes(root: Path, path: Path) -> Iterator[Size]:
    """Yields every size of one file that a limit applies to."""
    name = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    yield Size(name, 1, "file", len(lines), "lines")
    for number, line in enumerate(lines, start=1):
        yield Size(name, number, "line", len(line), "columns")
    functions = python_functions if path.suffix == ".py" else cpp_functions
    for start, count, function in functions(text):
        yield Size(name, start, "function", count, f"lines in {function}")


def sources(root: Path) -> Iterator[Path]:
    """Yields C++ and Python files of the project, without built, installed or hidden ones."""
    for folder in FOLDERS:
        for directory, names, files in os.walk(root / folder):
            names[:] = sorted(n for n in names if not n.startswith(".") and n != "__pycache__")
            for file in sorted(files):
                if Path(file).suffix in CPP | {".py"}:
                    yield Path(directory) / file


def read_exemptions(path: Path) -> dict[tuple[str, str], int]:
    """Returns {(path, rule): allowed size}."""
    exemptions: dict[tuple[str, str], int] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        words = line.split("#")[0].split()
        if words:
            name, rule, number = words
            exemptions[name, rule] = int(number)
    return exemptions


def check(root: Path) -> list[str]:
    """Returns all complaints about the tree at `root`."""
    exemptions = read_exemptions(root / EXEMPTIONS)
    largest: dict[tuple[str, str], int] = {}
    complaints: list[str] = []
    for path in sources(root):
        for size in sizes(root, path):
            key = (size.path, size.rule)
            largest[key] = max(largest.get(key, 0), size.value)
            limit = LIMITS[size.rule]
            if size.value > max(limit, exemptions.get(key, 0)):
                what = f"{size.value} {size.what} (the limit is {limit})"
                complaints.append(f"{size.path}:{size.line}: {what}")
    for (name, rule), allowed in exemptions.items():
        used = largest.get((name, rule), 0)
        entry = f"{EXEMPTIONS}: {name} {rule}"
        if used <= LIMITS[rule]:
            complaints.append(f"{entry} is not needed any more (the list only shrinks) remove it")
        elif used < allowed:
            complaints.append(f"{entry} is down to {used} (the list only shrinks) lower {allowed}")
    return complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("root", nargs="?", type=Path, default=root)
    complaints = check(parser.parse_args().root.resolve())
    for complaint in complaints:
        print(complaint)
    print(f"check_sizes: {len(complaints)} problem(s)" if complaints else "check_sizes: ok")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
