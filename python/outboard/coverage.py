"""The coverage page: the routines that can go out, their names, and the calls that stay local.

A checkout makes the page from its present tables; an installed package contains it. In both cases
the page is Markdown of codegen/emit_coverage.py. This module reads it into sections with tables.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError

PRECISIONS = "sdcz"
Row = dict[str, str]  # heading of a column -> cell


@dataclass
class Section:
    """The text and the tables below one heading."""

    title: str
    tables: list[list[Row]] = field(default_factory=list)


@dataclass(frozen=True)
class Routine:
    """One line of a section of routines. The functions of FFTW have other columns."""

    section: str
    row: Row

    @property
    def names(self) -> list[str]:
        """Returns the names of the routine in all precisions, or with all prefixes."""
        if "routine" in self.row:
            return [self.row[p] for p in PRECISIONS if self.row[p]]
        return [n for key, cell in self.row.items() if key.startswith("fftw") for n in cell.split()]

    @property
    def base(self) -> str:
        return self.row.get("routine") or self.row["function"]

    @property
    def is_exported(self) -> bool:
        return self.row.get("Fortran") != "tests"

    def backends(self) -> Row:
        """Returns the backends by name, with the way they run the routine; empty if none runs
        it."""
        columns = list(self.row)
        last = columns.index("computes" if "routine" in self.row else "does")
        start = columns.index("Fortran") + 2 if "routine" in self.row else 2
        return {c: self.row[c] for c in columns[start:last] if not c.startswith("fftw")}


@dataclass(frozen=True)
class Pattern:
    """The names that an interface gives to routines, such as `cblas_<name>64_`."""

    interface: str
    integers: str
    names: list[str]
    routines: str  # "all", "all but cdotu zdotu", "dgemm sgemm"

    def has(self, routine: str) -> bool:
        listed = self.routines.removeprefix("all but ").split()
        return (routine in listed) != self.routines.startswith("all")

    def of(self, routine: str) -> list[str]:
        fill = {"<name>": routine, "<NAME>": routine.upper()}
        return [re.sub("<name>|<NAME>", lambda m: fill[m[0]], n) for n in self.names]


@dataclass(frozen=True)
class Page:
    """The parsed page."""

    sections: list[Section]

    @classmethod
    def parse(cls, text: str) -> Page:
        sections: list[Section] = []
        head: list[str] = []
        for line in text.splitlines():
            cells = _cells(line)
            if line.startswith("## "):
                sections.append(Section(line[3:]))
            elif not cells:
                head = []
            elif not head:
                head = cells
                sections[-1].tables.append([])
            elif set(cells) != {"---"}:
                sections[-1].tables[-1].append(dict(zip(head, cells, strict=True)))
        return cls(sections)

    def summary(self) -> list[Row]:
        return next(s.tables[0] for s in self.sections if s.title == "Summary")

    def patterns(self) -> list[Pattern]:
        rows = next(s.tables[0] for s in self.sections if s.title == "Names")
        return [
            Pattern(r["interface"], r["integers"], r["names"].split(), r["routines"]) for r in rows
        ]

    def routines(self) -> Iterator[Routine]:
        for section in self.sections:
            for row in (r for table in section.tables for r in table):
                if "routine" in row or "function" in row:
                    yield Routine(section.title, row)

    def names_of(self, routine: Routine, name: str) -> list[tuple[str, list[str]]]:
        """Returns pairs of (interface and integers) and symbols for one name of a routine."""
        if "function" in routine.row:
            return [("C", [name])]
        c = "LAPACKE" if "LAPACKE" in routine.row else "CBLAS"
        return [
            (f"{p.interface}, {p.integers} integers", p.of(name))
            for p in self.patterns()
            if p.interface in ("Fortran", c) and p.has(name)
        ]

    def find(self, wanted: str) -> tuple[Routine, list[str]]:
        """Finds a routine by its name, its name without precision, or any name that programs call.
        Returns the routine and those of its names that `wanted` means. Raises OutboardError if
        there is none."""
        for routine in self.routines():
            if wanted in routine.names:
                return routine, [wanted]
            if wanted in routine.base.split():
                return routine, routine.names
        for routine in self.routines():
            for name in routine.names:
                if any(wanted in symbols for _, symbols in self.names_of(routine, name)):
                    return routine, [name]
        raise OutboardError(
            f"there is no row for '{wanted}' (calls of it go to the program's own library); "
            "`outboard coverage` lists what there is"
        )


def _cells(line: str) -> list[str]:
    """Returns the cells of a line of a table, without marks; an empty list for other lines."""
    if not line.startswith("| "):
        return []
    cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [c.strip().replace("`", "").replace("\\|", "|") for c in cells]


def text() -> str:
    """Returns the text of the page. Raises OutboardError."""
    root = paths.repository()
    if root is not None:
        return _emitted(root)
    native = paths.require_native()
    try:
        return native.coverage_page.read_text(encoding="utf-8")
    except OSError as error:
        raise OutboardError(
            f"cannot read {native.coverage_page} ({error.strerror}); install Outboard again"
        ) from error


def _emitted(root: Path) -> str:
    """Makes the page from the tables of a checkout and returns it."""
    routines = root / "routines"
    with tempfile.TemporaryDirectory(prefix="outboard-coverage-") as folder:
        page = Path(folder) / "coverage.md"
        command: list[str | Path] = [sys.executable, "-B", root / "codegen" / "emit_coverage.py"]
        command += ["--output", page, "--fftw", routines / "fftw.toml"]
        command += ["--backends", root / "src" / "backend"]
        command += [*sorted(routines.glob("blas*.toml")), *sorted(routines.glob("lapack*.toml"))]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise OutboardError(f"the tables cannot be read ({result.stderr.strip()})")
        return page.read_text(encoding="utf-8")
