"""The parts that all emitters share: the command line, the notice on top of a file, names of
C++."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import table

CPP_TYPES = {
    "s": "float",
    "d": "double",
    "c": "std::complex<float>",
    "z": "std::complex<double>",
}


def notice(script: str, comment: str = "//") -> str:
    emitter = f"codegen/{Path(script).name}"
    return f"{comment} Emitted by {emitter} from routines/*.toml; edit those instead.\n"


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def wrapped(items: list[str], end: str, indent: int = 4, width: int = 100) -> list[str]:
    """Returns lines of at most `width` columns with the items, separated by commas, and `end`."""
    lines = [" " * indent]
    for i, item in enumerate(items):
        text = item + (", " if i + 1 < len(items) else end)
        if len(lines[-1] + text.rstrip()) > width and lines[-1].strip():
            lines.append(" " * indent)
        lines[-1] += text
    return [line.rstrip() for line in lines]


def commented(text: str, begin: str, end: str = "") -> list[str]:
    """Returns a comment of lines of at most 100 columns."""
    indent = begin if not end else " " * len(begin)
    lines = textwrap.wrap(text, 100 - len(end), initial_indent=begin, subsequent_indent=indent)
    return [*lines[:-1], lines[-1] + end]


def parser(script: str) -> argparse.ArgumentParser:
    """Returns the parser of one emitter: SCRIPT --output FILE TABLE..."""
    result = argparse.ArgumentParser(prog=Path(script).name)
    result.add_argument("--output", type=Path, required=True)
    result.add_argument("tables", type=Path, nargs="+")
    return result


def run(
    options_parser: argparse.ArgumentParser,
    emit: Callable[[list[table.Routine], argparse.Namespace], str],
) -> None:
    """Writes the output, but only if no error occurs."""
    options = options_parser.parse_args()
    try:
        text = emit(table.load(options.tables), options)
    except (OSError, table.TableError) as error:
        sys.exit(f"codegen: {error}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")


def main(script: str, emit: Callable[[list[table.Routine]], str]) -> None:
    """Runs an emitter without options of its own."""
    run(parser(script), lambda routines, _: emit(routines))
