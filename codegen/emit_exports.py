"""Emits the drop-in library's version script: API names and nothing else are visible."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import emit
import names
import table


def emit_exports(routines: list[table.Routine], more: list[str]) -> str:
    exported = sorted({n.symbol for n in names.all_names(routines)} | set(more))
    lines = [emit.notice(__file__, "#").rstrip(), "{", "global:"]
    lines += [f"  {name};" for name in exported]
    return "\n".join([*lines, "local:", "  *;", "};", ""])


def main() -> None:
    parser = argparse.ArgumentParser(prog=Path(__file__).name)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument(
        "--names", type=Path, action="append", default=[], help="file of more names, one a line"
    )
    parser.add_argument("tables", type=Path, nargs="+")
    options = parser.parse_args()
    try:
        routines = table.load(options.tables)
        more = [name for path in options.names for name in path.read_text(encoding="utf-8").split()]
    except (OSError, table.TableError) as error:
        sys.exit(f"codegen: {error}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(emit_exports(routines, more), encoding="utf-8")


if __name__ == "__main__":
    main()
