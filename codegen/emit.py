"""The parts that all emitters share: the command line, the notice on top of a file, names of
C++."""

from __future__ import annotations

import argparse
import sys
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
