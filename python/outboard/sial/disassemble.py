"""Prints byte code as text, which assemble.py turns back into the same bytes.

A line is a record: its section, its number, and its fields as `name=value`. What stands behind `;`
is for people.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from outboard.sial.notes import notes_of
from outboard.sial.opcodes import Op
from outboard.sial.records import CAST, NONE, SECTIONS, STAR, VERSION, Program, Record

_NAMED = ("int", "scalar", "index", "array", "super_instruction", "proc")
# The sections to which the operands of operations point: by the first word or the whole name.
_OPERANDS: dict[str, dict[str, str]] = {
    "a": {
        "call": "proc",
        "push_int": "int_constant",
        "push_int_variable": "int",
        "push_index": "index",
        "push_scalar": "scalar_constant",
        "push_scalar_variable": "scalar",
        "store_int": "int",
        "store_scalar": "scalar",
        "execute": "super_instruction",
        "print_string": "string",
        "print_int_variable": "int",
        "print_index": "index",
        "print_scalar_variable": "scalar",
        "argument_scalar": "scalar",
        "argument_int": "int",
        "argument_index": "index",
        "argument_scalar_constant": "scalar_constant",
        "argument_int_constant": "int_constant",
        "argument_string": "string",
        "collective_scalar": "scalar",
        "collective_int": "int",
        "assert_same_scalar": "scalar",
        "assert_same_int": "int",
        **dict.fromkeys(
            "static_fill static_copy region_fill region_store create delete deallocate_array "
            "allocate_contiguous deallocate_contiguous collective_static assert_same_static "
            "broadcast_static print_static argument_array argument_region".split(),
            "array",
        ),
        **dict.fromkeys(
            "push_element push_contraction block_fill block_copy block_add block_subtract "
            "block_scale block_contract block_outer block_slice block_insert region_load "
            "block_release get put_block put_scalar allocate deallocate print_block "
            "argument_block".split(),
            "selector",
        ),
    },
    "b": {
        "static_copy": "array",
        "collective_static": "array",
        "region_load": "array",
        "set_persistent": "string",
        "restore_persistent": "string",
        **dict.fromkeys(
            "push_contraction block_copy block_add block_subtract block_scale block_contract "
            "block_outer block_slice block_insert region_store put_block".split(),
            "selector",
        ),
    },
    "c": dict.fromkeys("block_add block_subtract block_contract block_outer".split(), "selector"),
}


def disassemble(program: Program, folder: Path | None = None) -> str:
    """Returns the text of `program`. Source lines come from the files beside it, if these have not
    changed. `folder` is where their names are relative to."""
    shown = _Shown(program)
    lines = [f"sial_bytecode {VERSION}"]
    for section in SECTIONS:
        if section not in ("code", "line"):
            lines += [""] * bool(program[section])
            lines += [
                _record(section, number, one, shown) for number, one in enumerate(program[section])
            ]
    lines += _notes(program)
    lines += ["", *_code(program, shown, folder)]
    return "\n".join(lines) + "\n"


def _notes(program: Program) -> list[str]:
    """Returns the optimisations that were applied, each with its line."""
    lines = []
    for source, line, text in notes_of(program):
        records = program["source"]
        name = program.string(records[source]["name"]) if source < len(records) else "?"
        lines.append(f"; optimised {name}:{line}: {text}")
    return ["", *lines] if lines else []


class _Shown:
    """Names of records, for people. Numbers may be wrong: byte code is input."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def of(self, section: str, number: object) -> str:
        records = self._program[section]
        if not isinstance(number, int) or not 0 <= number < len(records):
            return "?"
        record = records[number]
        if section == "selector":
            return self._selector(record)
        if section == "string":
            return json.dumps(record["text"])
        if section in ("int_constant", "scalar_constant"):
            return repr(record["value"])
        name = record.get("name")
        return self._program.string(int(name or 0)) if self._has(name) else "?"

    def _has(self, name: object) -> bool:
        return isinstance(name, int) and name < len(self._program["string"])

    def _selector(self, record: Record) -> str:
        indices = record["indices"]
        assert isinstance(indices, list)
        words = []
        for one in indices:
            if one == NONE:
                break
            if one == STAR:
                words.append("*")
            else:
                cast = "(index) " if one & CAST else ""
                words.append(cast + self.of("index", one & ~CAST))
        return f"{self.of('array', record['array'])}[{', '.join(words)}]"


def _value(value: object) -> str:
    if isinstance(value, list):
        used = list(value)
        while used and used[-1] == NONE:
            used.pop()
        return "[" + ",".join(_value(one) for one in used) + "]"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return json.dumps(value)
    if value == NONE:
        return "none"
    return "star" if value == STAR else repr(value)


def _record(section: str, number: int, record: Record, shown: _Shown) -> str:
    fields = " ".join(f"{name}={_value(value)}" for name, value in record.items())
    comment = ""
    if section in (*_NAMED, "source", "selector"):
        comment = shown.of(section, number)
    elif section == "loop":
        indices = record["indices"]
        assert isinstance(indices, list)
        comment = ", ".join(shown.of("index", one) for one in indices if one != NONE)
    elif section == "access":
        comment = shown.of("selector", record["selector"])
    return f"{section} {number} {fields}" + (f"  ; {comment}" if comment else "")


def _code(program: Program, shown: _Shown, folder: Path | None) -> Iterator[str]:
    texts = _source_lines(program, folder)
    starts = {one["first"]: number for number, one in enumerate(program["proc"])}
    last: tuple[object, object] | None = None
    places = program["line"]
    for number, record in enumerate(program["code"]):
        if number in starts:
            yield f"; {shown.of('proc', starts[number])}"
        place = places[number] if number < len(places) else None
        if place and last != (last := (place["source"], place["line"])):
            text = texts.get((int(str(place["source"])), int(str(place["line"]))))
            if text is not None:
                yield f";{place['line']:>6}  {text.strip()}"
        yield _instruction(number, record, place, shown)


def _instruction(number: int, record: Record, place: Record | None, shown: _Shown) -> str:
    op = record["op"]
    known = op in Op._value2member_map_
    name = Op(op).text if known else f"op_{op}"
    operands = " ".join(
        f"{one}={_value(record[one])}" for one in ("x", "a", "b", "c") if record[one]
    )
    at = f"at={place['source']}:{place['line']}:{place['column']}" if place else ""
    comments = [
        shown.of(_OPERANDS[one][name], record[one])
        for one in ("a", "b", "c")
        if name in _OPERANDS[one]
    ]
    text = " ".join(word for word in (f"code {number} {name}", operands, at) if word)
    return f"{text}  ; {', '.join(comments)}" if comments else text


def _source_lines(program: Program, folder: Path | None) -> dict[tuple[int, int], str]:
    found: dict[tuple[int, int], str] = {}
    for number, source in enumerate(program["source"]):
        name = source["name"]
        if folder is None or not isinstance(name, int) or name >= len(program["string"]):
            continue
        for path in (Path(program.string(name)), folder / Path(program.string(name)).name):
            try:
                data = path.read_bytes()
            except (OSError, ValueError):
                continue
            if hashlib.sha256(data).digest() == source["sha256"]:
                lines = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
                for line, text in enumerate(lines.split("\n"), start=1):
                    found[(number, line)] = text
                break
    return found
