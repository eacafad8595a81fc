"""What all emitters share: the command line, the notice on top of a file, names of C++ things."""

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


def main(script: str, emit: Callable[[list[table.Routine]], str]) -> None:
    """Runs one emitter: SCRIPT --output FILE TABLE...; the file is written only if all is well."""
    parser = argparse.ArgumentParser(prog=Path(script).name)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("tables", type=Path, nargs="+")
    options = parser.parse_args()
    try:
        text = emit(table.load(options.tables))
    except table.TableError as error:
        sys.exit(f"codegen: {error}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
