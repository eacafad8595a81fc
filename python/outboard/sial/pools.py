"""The tables of a byte-code file while it is being made: each object gets its number once."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from outboard.sial import tree
from outboard.sial.records import CAST, MAX_RANK, NONE, STAR, Program, Record
from outboard.sial.symbols import Array, Index, Int, Scalar, Special, Symbol

_STORAGES = ("static", "temp", "local", "distributed", "served")


@dataclass(slots=True)
class Pools:
    """Adds records to `program`."""

    program: Program
    names: dict[Symbol, str]  # of objects whose plain name is not unique
    _numbers: dict[object, int] = field(default_factory=dict)

    def _add(self, section: str, key: object, record: Record) -> int:
        number = self._numbers[(section, key)] = len(self.program[section])
        self.program[section].append(record)
        return number

    def __contains__(self, symbol: Symbol) -> bool:
        """True if an object has a record."""
        sections = ("int", "scalar", "index", "array", "super_instruction")
        return any((section, symbol) in self._numbers for section in sections)

    def string(self, text: str) -> int:
        found = self._numbers.get(("string", text))
        return self._add("string", text, {"text": text}) if found is None else found

    def int_constant(self, value: int) -> int:
        found = self._numbers.get(("int_constant", value))
        return self._add("int_constant", value, {"value": value}) if found is None else found

    def scalar_constant(self, value: float) -> int:
        key = struct.pack("<d", value)  # 0.0 and -0.0 are two constants
        found = self._numbers.get(("scalar_constant", key))
        return self._add("scalar_constant", key, {"value": value}) if found is None else found

    def name(self, symbol: Symbol) -> int:
        return self.string(self.names.get(symbol, symbol.name))

    def variable(self, symbol: Int | Scalar) -> int:
        section = "int" if isinstance(symbol, Int) else "scalar"
        found = self._numbers.get((section, symbol))
        if found is not None:
            return found
        record: Record = {
            "name": self.name(symbol),
            "flags": int(symbol.predefined),
            "initial": symbol.initial,
        }
        return self._add(section, symbol, record)

    def index(self, symbol: Index) -> int:
        found = self._numbers.get(("index", symbol))
        if found is not None:
            return found
        parent = self.index(symbol.parent) if symbol.parent else NONE
        record: Record = {
            "name": self.name(symbol),
            "kind": 2 if symbol.parent else 0 if symbol.simple else 1,
            "table": self.string(symbol.table) if symbol.table else NONE,
            "parent": parent,
        }
        for side in ("lower", "upper"):
            bound: int | Int = 0 if symbol.parent else getattr(symbol, side)
            record[f"{side}_kind"] = int(isinstance(bound, Int))
            record[side] = self.variable(bound) if isinstance(bound, Int) else bound
        return self._add("index", symbol, record)

    def array(self, symbol: Array) -> int:
        found = self._numbers.get(("array", symbol))
        if found is not None:
            return found
        indices = [self.index(one) for one in symbol.indices]
        flags = symbol.predefined * 1 + symbol.contiguous * 2 + symbol.sparse * 4
        record: Record = {
            "name": self.name(symbol),
            "storage": _STORAGES.index(symbol.storage),
            "flags": flags,
            "rank": len(indices),
            "indices": indices + [NONE] * (MAX_RANK - len(indices)),
        }
        return self._add("array", symbol, record)

    def super_instruction(self, symbol: Special) -> int:
        found = self._numbers.get(("super_instruction", symbol))
        if found is not None:
            return found
        record: Record = {"name": self.name(symbol), "intents": self.string(symbol.intents or "")}
        return self._add("super_instruction", symbol, record)

    def selector(self, block: tree.Reference) -> int:
        dimensions = [
            STAR if item.star else self.index(item.selected) | (CAST if item.cast else 0)
            for item in block.items
        ]
        array = self.array(block.array)
        key = (array, *dimensions)
        found = self._numbers.get(("selector", key))
        if found is not None:
            return found
        indices = dimensions + [NONE] * (MAX_RANK - len(dimensions))
        return self._add("selector", key, {"array": array, "indices": indices})
