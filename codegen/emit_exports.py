"""Emits the drop-in library's version script. Only the names of the API are visible."""

from __future__ import annotations

import argparse
from pathlib import Path

import emit
import names
import table


def emit_exports(routines: list[table.Routine], more: list[str], everything: bool) -> str:
    chosen = [r for r in routines if everything or r.is_exported]
    exported = sorted({n.symbol for n in names.all_names(chosen)} | set(more))
    lines = [emit.notice(__file__, "#").rstrip(), "{", "global:"]
    lines += [f"  {name};" for name in exported]
    return "\n".join([*lines, "local:", "  *;", "};", ""])


def main() -> None:
    parser = emit.parser(__file__)
    parser.add_argument(
        "--names", type=Path, action="append", default=[], help="file of more names, one a line"
    )
    parser.add_argument(
        "--everything", action="store_true", help="also what only tests and devices use"
    )

    def text(routines: list[table.Routine], options: argparse.Namespace) -> str:
        more = [name for path in options.names for name in path.read_text("utf-8").split()]
        return emit_exports(routines, more, options.everything)

    emit.run(parser, text)


if __name__ == "__main__":
    main()
