#!/usr/bin/env python3
"""Compares the rows of the table with the documentation of the reference BLAS and LAPACK.

It compares, for every routine and precision: names and order of the arguments, their direction,
type and dimensions, leading dimensions, lengths of workspaces, and the values of flags. Dimensions
are compared by value, over small calls. A difference is an error unless the row explains it
(`explained`, routines/SCHEMA.md). An explanation without a difference is an error, too. The key of
an explanation is the argument. A row that the reference does not have is explained under its own
name.

The sources are those of the distribution's package `lapack`. They are fetched through apt unless
they exist already.

examples:
  tools/check_table.py                                   all rows
  tools/check_table.py --verbose routines/blas.toml      one file: every row, every explanation
  tools/check_table.py --reference ~/src/lapack-3.11.0   other sources than the package's
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "codegen"))

import source_package
import table
from reference_docs import compare, source_file
from reference_docs.rows import Difference

ROOT = Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Row:
    """One row of a file, with the parts that it is read as."""

    where: str  # file and row
    name: str
    explained: dict[str, str]
    parts: list[table.Routine]
    found: dict[str, dict[Difference, list[str]]] = dataclasses.field(default_factory=dict)

    @property
    def routines(self) -> list[str]:
        return [name for part in self.parts for name in part.names().values()]

    def add(self, difference: Difference, routine: str) -> None:
        self.found.setdefault(difference.argument, {}).setdefault(difference, []).append(routine)

    def errors(self) -> list[str]:
        """Returns differences without an explanation, and explanations without a difference."""
        result = []
        for argument, differences in self.found.items():
            if argument not in self.explained:
                result += [f"{self.where}: {text}" for text in described(argument, differences)]
        for argument in self.explained:
            if argument not in self.found:
                result.append(
                    f"{self.where}: '{argument}' is explained (it differs in no precision)"
                    " take the explanation out"
                )
        return result

    def explanations(self) -> list[str]:
        return [argument for argument in self.explained if argument in self.found]


def described(argument: str, differences: dict[Difference, list[str]]) -> list[str]:
    return [
        f"'{argument}' of {', '.join(routines)}: the reference says {d.reference},"
        f" the row says {d.row}"
        for d, routines in differences.items()
    ]


def load_rows(path: Path) -> list[Row]:
    """Returns the rows of a file. Raises TableError."""
    routines = table.load([path])
    rows = []
    for data in tomllib.loads(path.read_text(encoding="utf-8"))["routine"]:
        names = (data["name"], data.get("complex_name", data["name"]))
        parts = [
            r for r in routines if r.name in names and set(r.precisions) <= set(data["precisions"])
        ]
        where = f"{path.parent.name}/{path.name}: {data['name']}"
        rows.append(Row(where, data["name"], data.get("explained", {}), parts))
    return rows


def check_row(row: Row, root: Path) -> None:
    """Collects the differences of a row in all its precisions."""
    for part in row.parts:
        for precision, name in part.names().items():
            path = source_file.find(root, name)
            if path is None:
                row.add(Difference(row.name, "nothing about it", "a routine"), name)
                continue
            try:
                reference = source_file.parse(path)
            except source_file.SourceError as error:
                row.add(Difference(row.name, str(error), "a routine"), name)
                continue
            for difference in compare.differences(part, reference, precision):
                row.add(difference, name)


def print_table(rows: Iterable[Row]) -> None:
    for row in rows:
        state = f"{len(row.explanations())} explained" if row.explanations() else "as documented"
        print(f"{row.where:44} {' '.join(row.routines):36} {state}")
        for argument in row.explanations():
            for text in described(argument, row.found[argument]):
                print(f"    {text}")
            print(f"      because: {row.explained[argument]}")


def reference_folder(options: argparse.Namespace) -> Path:
    """Returns the folder of the sources. Raises MissingError."""
    root: Path | None = options.reference
    if root is None:
        root = source_package.source("lapack", options.work, options.work / "fetch.log")
    for folder in source_file.FOLDERS:
        if not (root / folder).is_dir():
            raise source_package.MissingError(f"{root} has no folder {folder} (no LAPACK sources)")
    return root


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, help="files of rows (all of routines/)")
    parser.add_argument("--reference", type=Path, help="unpacked sources (SRC and BLAS/SRC in it)")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build/reference_lapack", help="where to fetch them to"
    )
    parser.add_argument("--verbose", action="store_true", help="a line for every row")
    options = parser.parse_args(arguments)
    options.work = options.work.resolve()  # apt reads relative paths below /etc/apt
    if not options.files:
        folder = ROOT / "routines"
        options.files = sorted([*folder.glob("blas*.toml"), *folder.glob("lapack*.toml")])
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    try:
        rows = [row for path in options.files for row in load_rows(path)]
        root = reference_folder(options)
    except (table.TableError, source_package.MissingError) as error:
        print(f"check_table: {error}")
        return 1
    for row in rows:
        check_row(row, root)
    if options.verbose:
        print_table(rows)
    errors = [error for row in rows for error in row.errors()]
    print("\n".join(errors), end="\n" if errors else "")
    compared = sum(len(row.routines) for row in rows)
    explained = sum(len(row.explanations()) for row in rows)
    print(
        f"check_table: {compared} routines compared, {explained} differences explained,"
        f" {len(errors)} errors"
    )
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
