"""The sections of a byte-code file and the fields of their records.   Source: docs/sial/bytecode.md

The writer, the reader, the disassembler and the assembler all follow this one table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

NONE = 0xFFFFFFFF
STAR = 0xFFFFFFFE
CAST = 0x80000000
MAX_RANK = 8
MAX_LOOP_INDICES = 16
MAX_STACK = 64
MAX_ARGUMENTS = 16
VERSION = 1
MAGIC = b"\x89SIAL\r\n\x1a"

# Field name, and its format of struct. A format with a number is a list, `32s` bytes. The name
# `zero` marks what has no meaning.
Fields = list[tuple[str, str]]

SECTIONS: dict[str, Fields] = {
    "program": [("name", "I"), ("compiler", "I"), ("optimisation", "I"), ("zero", "I")],
    "source": [("name", "I"), ("zero", "I"), ("sha256", "32s")],
    "string": [("text", "string")],
    "int_constant": [("value", "q")],
    "scalar_constant": [("value", "d")],
    "int": [("name", "I"), ("flags", "I"), ("initial", "q")],
    "scalar": [("name", "I"), ("flags", "I"), ("initial", "d")],
    "index": [
        ("name", "I"),
        ("kind", "B"),
        ("lower_kind", "B"),
        ("upper_kind", "B"),
        ("zero", "B"),
        ("table", "I"),
        ("parent", "I"),
        ("lower", "q"),
        ("upper", "q"),
        ("zero", "Q"),
    ],
    "array": [
        ("name", "I"),
        ("storage", "B"),
        ("flags", "B"),
        ("rank", "B"),
        ("zero", "B"),
        ("indices", "8I"),
    ],
    "super_instruction": [("name", "I"), ("intents", "I")],
    "proc": [("name", "I"), ("first", "I"), ("end", "I"), ("zero", "I")],
    "selector": [("array", "I"), ("zero", "I"), ("indices", "8I")],
    "loop": [
        ("kind", "B"),
        ("count", "B"),
        ("zero", "H"),
        ("schedule", "I"),
        ("begin", "I"),
        ("body", "I"),
        ("end", "I"),
        ("section", "I"),
        ("indices", "16I"),
        ("zero", "Q"),
    ],
    "code": [("op", "H"), ("x", "H"), ("a", "I"), ("b", "I"), ("c", "I")],
    "line": [("source", "I"), ("line", "I"), ("column", "I")],
    "access": [
        ("instruction", "I"),
        ("selector", "I"),
        ("flags", "I"),
        ("count", "I"),
        ("loops", "16I"),
    ],
}

# The values fit their fields. (A union of types would need a test at every use.)
Record = dict[str, Any]


@dataclass(slots=True)
class Program:
    """The records of all sections. A record has the fields of SECTIONS without those named zero."""

    sections: dict[str, list[Record]] = field(
        default_factory=lambda: {name: [] for name in SECTIONS}
    )

    def __getitem__(self, name: str) -> list[Record]:
        return self.sections[name]

    def string(self, number: int) -> str:
        """Returns a string of the section of strings."""
        return str(self["string"][number]["text"])
