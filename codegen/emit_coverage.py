"""Emits the coverage page: the calls that can leave, their names, their backends, and the calls
that stay local. `outboard coverage` reads the page: a section is a heading, text and tables.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import backends
import coverage_names
import emit
import fftw_table
import table

_INTRODUCTION = """\
What the drop-in library takes over from a program's BLAS, LAPACK and FFTW: the rows of
`routines/*.toml`. All else is not exported, so its calls never pass through Outboard.
"""

_NEVER_LEAVES = """\
Whatever its row says, a call stays with the program's own library

- if there is nothing to compute (the row's condition stands in its last column);
- if an argument is illegal: that library says so, through its `xerbla` or `info`;
- if it asks how much workspace it needs (a length of -1), or brings less than documented;
- if it is one of LAPACKE's high-level calls and an input holds a NaN, which LAPACKE refuses;
- if a row-major call cannot be turned into a column-major one ("row-major" in the last column);
- if it comes from inside another call, as those of a local LAPACK to its BLAS;
- if the name says nothing of the integers' width, and the library behind it does not either;
- in mode `auto`: if it should not be faster elsewhere. Small calls are told by their operation
  count and jump to the original; batches leave if each of their calls would, whole or not at all;
- if `OUTBOARD_ROUTINES` forbids it, or `OUTBOARD_MODE` is `trace` or `off`.

It runs there after all if a daemon refuses, is lost or has no memory, or if its backend lacks the
routine. Where a row says `info > 0` and info is positive, outputs are partly undefined, so the
device's results are dropped and the program's own library runs again.
"""

_VECTOR_NOTE = """\
Not exported by the drop-in library: these routines move as much as they compute, and others call
them millions of times. The rows are for devices, whose data are there already, and for tests
(`liboutboard-preload-testing.so` exports them, too).
"""

_FFTW_NOTE = """\
A plan may leave if it is one of these kinds and its data can be said as strides. Functions without
a row are not exported: their plans are unknown here, and every call on them goes to the native
library. So do plans with overlapping results, and those of the long double library.
"""


def escaped(text: str) -> str:
    return text.replace("|", "\\|")


def grid(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Returns a table of Markdown, with an empty line after it."""
    cells = list(head)
    lines = [cells, ["---"] * len(cells), *(list(row) for row in rows)]
    return ["| " + " | ".join(escaped(c) for c in line) + " |" for line in lines] + [""]


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table as its file shows it, in all its precisions."""

    parts: list[table.Routine]

    @property
    def first(self) -> table.Routine:
        return self.parts[0]

    @property
    def names(self) -> dict[str, str]:
        """Returns precision -> name."""
        return {p: name for part in self.parts for p, name in part.names().items()}

    def stays(self) -> str:
        """Returns the conditions under which a call stays local."""
        first = self.first
        may_be_trivial = any(isinstance(n, ast.Name) for n in ast.walk(ast.parse(first.trivial)))
        reasons = [f"`{first.trivial}`"] if may_be_trivial else []
        if first.row_major.local:
            reasons.append("row-major")
        if first.local:
            reasons.append(first.local)
        if first.rerun:
            reasons.append("`info > 0` (runs again)")
        return "; ".join(reasons)

    def line(self, columns: list[backends.Backend]) -> list[str]:
        bases = " ".join(dict.fromkeys(part.name for part in self.parts))
        names = [self.names.get(p, "") for p in "sdcz"]
        if self.first.is_exported:
            widths = coverage_names.widths(self.first)
            more = ", batches" if self.first.batched else ""
            abis = [widths["fortran"], widths["c"] + more]
        else:
            abis = ["tests", "tests"]
        cells = [column.cell(self.first) for column in columns]
        return [bases, *names, *abis, *cells, self.first.summary, self.stays()]


def rows_of(path: Path, routines: list[table.Routine]) -> list[Row]:
    """Returns the rows of a file. A row whose real and complex precisions differ becomes two
    routines."""
    rows = []
    left = list(routines)
    for data in tomllib.loads(path.read_text(encoding="utf-8"))["routine"]:
        precisions = 0
        parts = []
        while precisions < len(data["precisions"]):
            parts.append(left.pop(0))
            precisions += len(parts[-1].precisions)
        rows.append(Row(parts))
    return rows


def header_of(path: Path) -> tuple[str, list[str]]:
    """Returns title and text of a table file: its first sentence, and the rest of the comment on
    top."""
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line[1:].strip())
    text = "\n".join(lines).replace(" SCHEMA.md explains a row.", "")
    title, _, rest = text.partition(".")
    return title, [*rest.strip().splitlines(), ""] if rest.strip() else []


@dataclasses.dataclass(frozen=True)
class Counts:
    """One line of the summary."""

    title: str
    rows: int
    routines: int
    exported: int

    def cells(self) -> list[str]:
        return [self.title, str(self.rows), str(self.routines), str(self.exported)]


def dense_section(
    path: Path, routines: list[table.Routine], columns: list[backends.Backend]
) -> tuple[Counts, list[str]]:
    """Returns the counts and the section for the rows of one file."""
    rows = rows_of(path, routines)
    title, text = header_of(path)
    interface = "LAPACKE" if routines[0].library == "lapack" else "CBLAS"
    head = ["routine", *"sdcz", "Fortran", interface, *(c.name for c in columns)]
    exported = [r for r in routines if r.is_exported]
    if not exported:
        text += [_VECTOR_NOTE]
    count = Counts(
        title=title, rows=len(rows),
        routines=sum(len(r.precisions) for r in routines),
        exported=coverage_names.count(exported),
    )  # fmt: skip
    body = grid([*head, "computes", "stays local if"], (row.line(columns) for row in rows))
    return count, [f"## {title}", "", *text, *body]


def fftw_section(
    fftw: fftw_table.Table, columns: list[backends.Backend]
) -> tuple[Counts, list[str]]:
    what = {"plan": "makes a plan", "execute": "runs it", "execute_new": "runs it on other arrays",
            "destroy": "frees it", "cleanup": "frees what is left"}  # fmt: skip
    head = ["function", "kind", *(lib.prefix for lib in fftw.libraries)]
    lines = [
        [
            r.name + (" (Fortran)" if r.abi == "fortran" else ""),
            r.kind,
            *(" ".join(f"`{s}`" for s in r.symbols(lib)) for lib in fftw.libraries),
            *(c.transforms for c in columns),
            what[r.action],
        ]
        for r in fftw.routines
    ]
    kinds = {r.kind for r in fftw.routines if r.action == "plan"}
    others = [k for k in fftw_table.KINDS if k not in kinds]
    missing = [f"Kinds without a row: {', '.join(others)}.\n"] if others else []
    precisions = {"z": "double", "c": "single"}
    which = ", ".join(f"`{lib.prefix}` {precisions[lib.precision]}" for lib in fftw.libraries)
    body = grid([*head, *(c.name for c in columns), "does"], lines)
    functions = len(fftw.routines)
    title = "FFTW"
    count = Counts(title, functions, functions * len(fftw.libraries), len(fftw.symbols()))
    return count, [
        f"## {title}",
        "",
        _FFTW_NOTE,
        *missing,
        f"Prefixes: {which} precision.",
        "",
        *body,
    ]


def backend_section(columns: list[backends.Backend]) -> list[str]:
    lines = ["## Backends", ""]
    lines += grid(["backend", "computes with"], ([c.name, c.computes_with] for c in columns))
    for column in columns:
        lines += [column.missing, ""] if column.missing else []
        if column.substitutes:
            pairs = ([name, other] for name, other in column.substitutes.items())
            lines += grid([f"{column.name} lacks", "and uses"], pairs)
    return lines


def emit_coverage(
    routines: list[table.Routine],
    tables: list[Path],
    fftw: fftw_table.Table,
    columns: list[backends.Backend],
) -> str:
    sections: list[str] = []
    counts: list[Counts] = []
    for path in tables:
        of_file = [r for r in routines if r.file == path.stem]
        if of_file:
            count, lines = dense_section(path, of_file, columns)
            counts.append(count)
            sections += lines
    count, lines = fftw_section(fftw, columns)
    counts.append(count)
    sections += lines
    total = Counts(
        "together", sum(c.rows for c in counts), sum(c.routines for c in counts),
        sum(c.exported for c in counts),
    )  # fmt: skip
    summary = grid(
        ["table", "rows", "routines in all precisions", "exported names"],
        (c.cells() for c in [*counts, total]),
    )
    interfaces = grid(coverage_names.HEAD, coverage_names.interfaces(routines))
    lines = [
        "# Coverage", "", _INTRODUCTION, "## Summary", "", *summary,
        "## What stays local", "", _NEVER_LEAVES,
        "## Names", "", *coverage_names.TEXT, *interfaces,
        *backend_section(columns), *sections,
        "Emitted by `codegen/emit_coverage.py`.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = emit.parser(__file__)
    parser.add_argument("--fftw", type=Path, required=True, help="fftw.toml")
    parser.add_argument("--backends", type=Path, required=True, help="src/backend")

    def text(routines: list[table.Routine], options: argparse.Namespace) -> str:
        try:
            fftw = fftw_table.load([options.fftw])
        except fftw_table.TableError as error:
            sys.exit(f"codegen: {error}")
        columns = backends.present(options.backends)
        return emit_coverage(routines, options.tables, fftw, columns)

    emit.run(parser, text)


if __name__ == "__main__":
    main()
