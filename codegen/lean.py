"""Emits the records of entries that leave their arguments in place (interpose/lean_entry.hpp)."""

from __future__ import annotations

import dataclasses

import names
from signatures import Signature

# The numbers of ob::interpose::Abi and ob::interpose::Integers. Emitted assertions compare them.
ABIS = ("fortran", "cblas", "lapacke", "lapacke_work")
INTEGERS = ("unasked", "lp64", "ilp64")


@dataclasses.dataclass(frozen=True)
class Record:
    """An entry's data for its slow path and for the search of the original: LeanEntry."""

    name: names.Name
    row: str
    position: int
    signature: Signature
    operations: str

    def lines(self, types: str) -> list[str]:
        targets = [f"s_{self.name.symbol}", self.row, self.signature.invoke, types]
        fortran = f"name_{self.name.symbol}"
        targets += [self.operations, fortran] if self.name.alias_of else []
        offsets = [f"{target} - entry_{self.name.symbol}" for target in targets]
        offsets += ["0"] * (6 - len(offsets))
        numbers = self.position, ABIS.index(self.name.abi), INTEGERS.index(self.name.integers), 0
        return [
            *([f'{fortran}: .string "{self.name.alias_of}"'] if self.name.alias_of else []),
            "  .balign 4",
            f"entry_{self.name.symbol}:",
            f"  .long {', '.join(offsets)}",
            f"  .byte {', '.join(map(str, numbers))}",
        ]


def assertions() -> list[str]:
    """Returns assertions that the numbers above are those of the enumerations."""
    pairs = [("Abi", i, name) for i, name in enumerate(ABIS)]
    pairs += [("Integers", i, name) for i, name in enumerate(INTEGERS)]
    return [f"static_assert({kind}::{name} == {kind}{{{i}}});" for kind, i, name in pairs]


def assembly(records: list[Record]) -> list[str]:
    """Returns every record, and for each entry the two jumps that load its record."""
    texts = dict.fromkeys(record.signature.text() for record in records)
    labels = {text: f"types_{i}" for i, text in enumerate(texts)}
    lines = ['asm(R"(', '  .section .rodata.ob_lean,"a",@progbits']
    lines += [f'{label}: .string "{text}"' for text, label in labels.items()]
    for record in records:
        lines += record.lines(labels[record.signature.text()])
    lines.append("  .text")
    for record in records:
        for way in ("slow", "find"):
            lines += [
                f"{way}_{record.name.symbol}:",
                f"  leaq entry_{record.name.symbol}(%rip), %rax",
                f"  jmp ob_lean_{way}",
            ]
    return [*lines, ')");']
