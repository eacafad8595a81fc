"""The formatters, linters and checkers of the project. Each is one check that passes or fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from outboard_testing.tally import Tally, one

_CPP_FOLDERS = ("src", "apps", "bench", "tests", "examples", "include")
_CPP_SUFFIXES = {".cpp", ".hpp", ".c", ".h", ".inc"}
_PYTHON_PLACES = ("python", "codegen", "tools", "tests", "examples", "bench")
# The folders that mypy --strict checks. Tests and examples are scripts.
_TYPED_PLACES = ("python/outboard", "bench/outboard_bench", "codegen", "tools")


@dataclass(frozen=True)
class Check:
    """A command that must end with status 0."""

    name: str
    command: list[str]
    cwd: Path

    def run(self, say: Callable[[str], None]) -> Tally:
        if shutil.which(self.command[0]) is None:
            say(f"check {self.name}: FAILED, {self.command[0]} was not found")
            return one(f"check {self.name} ({self.command[0]} is not installed)", False)
        result = subprocess.run(
            self.command,
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        say(f"check {self.name}: {'ok' if result.returncode == 0 else 'FAILED'}")
        if result.returncode != 0:
            say(result.stdout.rstrip())
        return one(f"check {self.name}", result.returncode == 0)


def cpp_files(root: Path) -> list[Path]:
    """Returns all C and C++ files of the project."""
    return sorted(
        file
        for folder in _CPP_FOLDERS
        for file in (root / folder).rglob("*")
        if file.suffix in _CPP_SUFFIXES and file.is_file()
    )


def checks(root: Path) -> list[Check]:
    """Returns every check that has something to check, the cheap ones first."""
    found = []
    for tool in ("check_layers", "check_python_layers", "check_sizes"):
        if (root / "tools" / f"{tool}.py").is_file():
            found.append(Check(tool, [sys.executable, f"tools/{tool}.py"], root))
    places = [place for place in _PYTHON_PLACES if any((root / place).rglob("*.py"))]
    typed = [place for place in _TYPED_PLACES if any((root / place).rglob("*.py"))]
    ruff = [sys.executable, "-m", "ruff"]
    found += [
        Check("ruff", [*ruff, "check", "--quiet", *places], root),
        Check("ruff format", [*ruff, "format", "--quiet", "--diff", *places], root),
    ]
    found += [_mypy(place, root) for place in typed]
    files = [str(file.relative_to(root)) for file in cpp_files(root)]
    if files and (root / ".clang-format").is_file():
        found.append(Check("clang-format", ["clang-format", "--dry-run", "-Werror", *files], root))
    return found


def _mypy(place: str, root: Path) -> Check:
    # One run per place, because scripts in two folders may have the same module name.
    return Check(f"mypy {place}", [sys.executable, "-m", "mypy", "--strict", place], root)
