"""Compares the tables of variables in docs/cli.md with settings/settings.toml, or writes them.

Run it with --update after a change of settings/settings.toml.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from settings_source import ROOT, TABLE, Row, rows_or_exit

PAGE = "docs/cli.md"
_FLAGS = ("flag", "strict flag")


def _library_table(rows: tuple[Row, ...]) -> list[str]:
    lines = ["| variable | option | default | meaning |", "|---|---|---|---|"]
    for row in rows:
        if row.of_library:
            option = f"`{row.option}`" if row.option else ""
            lines.append(f"| `{row.variable}` | {option} | {_default(row)} | {_meaning(row)} |")
    return lines


def _other_table(rows: tuple[Row, ...]) -> list[str]:
    lines = ["| variable | read by | default | meaning |", "|---|---|---|---|"]
    for row in rows:
        if not row.of_library:
            readers = ", ".join(row.readers)
            lines.append(f"| `{row.variable}` | {readers} | {_default(row)} | {_meaning(row)} |")
    return lines


# The tables, by the headings that they follow.
TABLES: dict[str, Callable[[tuple[Row, ...]], list[str]]] = {
    "### Variables of the library": _library_table,
    "### Other variables": _other_table,
}


def _default(row: Row) -> str:
    return row.doc_default or (f"`{row.default}`" if row.default else "")


def _meaning(row: Row) -> str:
    if row.type in _FLAGS:
        return f"`1`: {row.doc}"
    if row.choices:
        return f"{', '.join(f'`{choice}`' for choice in row.choices)}; {row.doc}"
    if row.type == "count" and row.max:
        return f"{row.min} to {row.max}: {row.doc}"
    return row.doc


def updated(page: str, rows: tuple[Row, ...]) -> str:
    """Returns `page` with tables made from `rows`. A table is the first one below its heading."""
    lines = page.splitlines()
    for heading, make in TABLES.items():
        if heading not in lines:
            sys.exit(f"codegen: {PAGE} has no line '{heading}'")
        begin = lines.index(heading) + 1
        while begin < len(lines) and not lines[begin].startswith("|"):
            begin += 1
        end = begin
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        lines[begin:end] = make(rows)
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog=Path(__file__).name, description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the tables")
    options = parser.parse_args()
    page = ROOT / PAGE
    text = page.read_text(encoding="utf-8")
    wanted = updated(text, rows_or_exit(ROOT / TABLE))
    if text == wanted:
        return
    if not options.update:
        sys.exit(f"{PAGE} differs from {TABLE}: run python3 codegen/emit_settings_doc.py --update")
    page.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
