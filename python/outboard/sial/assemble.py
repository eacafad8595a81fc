"""Turns the text of disassemble.py into byte code. It checks the form and no meaning: tests use it
to make byte code that no source gives."""

from __future__ import annotations

import json
import re
import struct

from outboard.errors import OutboardError
from outboard.sial.opcodes import Op
from outboard.sial.records import NONE, SECTIONS, STAR, VERSION, Fields, Program, Record

_FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\[[^\]]*\]|\S+)')
_OPS = {one.text: int(one) for one in Op}
_AT = re.compile(r"(\d+):(\d+):(\d+)\Z")


def assemble(text: str) -> Program:
    """Returns the program that `text` describes."""
    program = Program()
    first = True
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            words = _without_comment(line).strip()
            if not words:
                continue
            if first:
                _check_version(words)
                first = False
            else:
                _record(program, words)
        except (ValueError, KeyError, struct.error, OverflowError) as error:
            raise OutboardError(f"line {number} is no record ({error}): {line.strip()}") from error
    if first:
        raise OutboardError(f"the text is empty (it begins with `sial_bytecode {VERSION}`)")
    return program


def _without_comment(line: str) -> str:
    """Cuts off what stands behind a `;` outside of strings."""
    return re.match(r'(?:"(?:[^"\\]|\\.)*"|[^;"])*', line).group()  # type: ignore[union-attr]


def _check_version(words: str) -> None:
    if words != f"sial_bytecode {VERSION}":
        raise ValueError(f"the first line must be `sial_bytecode {VERSION}`")


def _record(program: Program, words: str) -> None:
    section, number, *rest = words.split(" ", 2)
    if section not in SECTIONS or section == "line":
        raise ValueError(f"there is no section {section}")
    if number != str(len(program[section])):
        raise ValueError(f"the next record has number {len(program[section])}")
    fields = rest[0] if rest else ""
    if section == "code":
        _instruction(program, fields)
        return
    given = _fields(fields)
    record: Record = {}
    for name, form in SECTIONS[section]:
        if name != "zero":
            record[name] = _value(given.pop(name), form)
    if given:
        raise ValueError(f"there is no field {next(iter(given))}")
    _check_range(SECTIONS[section], record)
    program[section].append(record)


def _instruction(program: Program, words: str) -> None:
    name, _, rest = words.partition(" ")
    given = _fields(rest)
    if name.startswith("op_"):
        op = int(name[3:])
    elif name in _OPS:
        op = _OPS[name]
    else:
        raise ValueError(f"there is no operation {name}")
    at = _AT.match(given.pop("at", ""))
    if at is None:
        raise ValueError("at=SOURCE:LINE:COLUMN is missing")
    record: Record = {"op": op}
    for operand, form in (("x", "H"), ("a", "I"), ("b", "I"), ("c", "I")):
        record[operand] = _value(given.pop(operand, "0"), form)
    if given:
        raise ValueError(f"there is no operand {next(iter(given))}")
    source, line, column = (int(one) for one in at.groups())
    place: Record = {"source": source, "line": line, "column": column}
    _check_range(SECTIONS["code"], record)
    _check_range(SECTIONS["line"], place)
    program["code"].append(record)
    program["line"].append(place)


def _fields(words: str) -> dict[str, str]:
    found: dict[str, str] = {}
    position = 0
    for match in _FIELD.finditer(words):
        if words[position : match.start()].strip():
            break
        if match[1] in found:
            raise ValueError(f"the field {match[1]} stands twice")
        found[match[1]] = match[2]
        position = match.end()
    if words[position:].strip():
        raise ValueError(f"`{words[position:].strip()}` is no field")
    return found


def _value(text: str, form: str) -> int | float | str | bytes | list[int]:
    if form == "string":
        value = json.loads(text)
        if not isinstance(value, str):
            raise ValueError(f"{text} is no string")
        value.encode()
        return value
    if form == "d":
        return float(text)
    if form == "32s":
        data = bytes.fromhex(text)
        if len(data) != 32:
            raise ValueError("a digest has 32 bytes")
        return data
    if len(form) > 1:
        if not (text.startswith("[") and text.endswith("]")):
            raise ValueError(f"{text} is no list")
        values = [_number(one) for one in text[1:-1].split(",") if one]
        length = int(form[:-1])
        if len(values) > length:
            raise ValueError(f"the list has more than {length} members")
        return values + [NONE] * (length - len(values))
    return _number(text)


def _number(text: str) -> int:
    return {"none": NONE, "star": STAR}.get(text) or int(text)


def _check_range(fields: Fields, record: Record) -> None:
    """Raises struct.error for a number that its field cannot hold."""
    for name, form in fields:
        value = record.get(name)
        if isinstance(value, list):
            struct.pack(f"<{form}", *value)
        elif isinstance(value, int):
            struct.pack(f"<{form}", value)
