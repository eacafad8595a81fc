"""Writes and reads byte-code files.   Source: docs/sial/bytecode.md, "File"."""

from __future__ import annotations

import struct
from typing import Any

import xxhash

from outboard.errors import OutboardError
from outboard.sial.records import MAGIC, MAX_RANK, SECTIONS, VERSION, Fields, Program, Record

_HEADER = struct.Struct("<8sHHIQQ")
_ENTRY = struct.Struct("<IIQQQ")


def write(program: Program) -> bytes:
    """Returns the bytes of a file."""
    contents = [
        (kind, len(program[name]), _encode(fields, program[name]))
        for kind, (name, fields) in enumerate(SECTIONS.items(), start=1)
    ]
    offset = _HEADER.size + _ENTRY.size * len(contents)
    table = b""
    body = b""
    for kind, count, data in contents:
        padding = -(offset + len(body)) % 8
        body += b"\0" * padding
        table += _ENTRY.pack(kind, count, offset + len(body), len(data), _digest(data))
        body += data
    length = offset + len(body)
    header = _HEADER.pack(MAGIC, VERSION, MAX_RANK, len(contents), length, _digest(table))
    return header + table + body


def read(data: bytes) -> Program:
    """Returns the records of a file. Checks sizes and digests; the runtime checks the rest."""
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        raise OutboardError("this is no SIAL byte code (its first bytes differ) compile a source")
    _, version, _, count, length, digest = _HEADER.unpack_from(data)
    if version != VERSION:
        raise OutboardError(
            f"the byte code has version {version} (this compiler knows {VERSION}) compile it again"
        )
    end = _HEADER.size + _ENTRY.size * len(SECTIONS)
    table = data[_HEADER.size : end]
    if count != len(SECTIONS) or length != len(data) or _digest(table) != digest:
        raise _damaged("its header does not fit its contents")
    program = Program()
    for kind, (name, fields) in enumerate(SECTIONS.items()):
        number, records, offset, size, digest = _ENTRY.unpack_from(table, kind * _ENTRY.size)
        part = data[offset : offset + size]
        if number != kind + 1 or len(part) != size or _digest(part) != digest:
            raise _damaged(f"section {name} has another digest or length")
        program.sections[name] = _decode(fields, records, part, name)
    return program


def _damaged(why: str) -> OutboardError:
    return OutboardError(f"the byte code is damaged ({why}) compile it again")


def _digest(data: bytes) -> int:
    return xxhash.xxh3_64_intdigest(data)


def _layout(fields: Fields) -> struct.Struct:
    return struct.Struct("<" + "".join(form for _, form in fields))


def _encode(fields: Fields, records: list[Record]) -> bytes:
    if fields[0][1] == "string":
        texts = [str(record["text"]).encode() for record in records]
        return b"".join(struct.pack("<I", len(text)) + text for text in texts)
    layout = _layout(fields)
    out = []
    for record in records:
        values: list[Any] = []
        for name, _ in fields:
            value = 0 if name == "zero" else record[name]
            values += value if isinstance(value, list) else [value]
        out.append(layout.pack(*values))
    return b"".join(out)


def _decode(fields: Fields, count: int, data: bytes, name: str) -> list[Record]:
    if fields[0][1] == "string":
        return _decode_strings(count, data)
    layout = _layout(fields)
    if layout.size * count != len(data):
        raise _damaged(f"section {name} does not hold {count} records")
    return [_record(fields, list(values)) for values in layout.iter_unpack(data)]


def _record(fields: Fields, values: list[Any]) -> Record:
    record: Record = {}
    for name, form in fields:
        repeat = int(form[:-1]) if len(form) > 1 and form[-1] != "s" else 0
        value = values[:repeat] if repeat else values[0]
        del values[: repeat or 1]
        if name != "zero":
            record[name] = value
    return record


def _decode_strings(count: int, data: bytes) -> list[Record]:
    found: list[Record] = []
    position = 0
    for _ in range(count):
        if position + 4 > len(data):
            raise _damaged("a string ends behind its section")
        (length,) = struct.unpack_from("<I", data, position)
        position += 4
        text = data[position : position + length]
        position += length
        try:
            found.append({"text": text.decode()})
        except UnicodeDecodeError as error:
            raise _damaged("a string is no UTF-8") from error
    if position != len(data):
        raise _damaged("the strings do not fill their section")
    return found
