"""What the estimate has to know about the byte code before it follows it."""

from __future__ import annotations

from functools import cache
from typing import Any

from outboard.sial.opcodes import Op
from outboard.sial.records import NONE, Program

_APART = {
    Op.BARRIER, Op.SECTION_BEGIN, Op.COLLECTIVE_SCALAR, Op.COLLECTIVE_INT, Op.COLLECTIVE_STATIC,
    Op.DELETE, Op.STOP,
}  # fmt: skip
# Instructions whose result is the first operand.
DESTINATIONS = {
    Op.BLOCK_FILL, Op.BLOCK_COPY, Op.BLOCK_ADD, Op.BLOCK_SUBTRACT, Op.BLOCK_SCALE,
    Op.BLOCK_CONTRACT, Op.BLOCK_OUTER, Op.BLOCK_SLICE, Op.REGION_LOAD,
}  # fmt: skip
PARDO = 2
Clause = tuple[int, int, set[int]]  # first instruction, `where`, indices that it reads


class Code:
    """Answers about the instructions of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.instructions = program["code"]
        self.loops = program["loop"]
        self.loop_of = {one["begin"]: number for number, one in enumerate(self.loops)}
        self.assigned = cache(self._assigned)
        self.sequential = cache(self._sequential)

    def place(self, at: int) -> tuple[str, int]:
        """Returns the file and the line of an instruction."""
        line = self.program["line"][at]
        return self.program.string(self.program["source"][line["source"]]["name"]), line["line"]

    def procs(self, first: int, end: int) -> list[tuple[int, int]]:
        """Returns the range, and those of all procs that it calls."""
        ranges = [(first, end)]
        seen: set[int] = set()
        for start, stop in ranges:
            for one in self.instructions[start:stop]:
                if one["op"] == Op.CALL and one["a"] not in seen:
                    seen.add(one["a"])
                    proc = self.program["proc"][one["a"]]
                    ranges.append((proc["first"], proc["end"]))
        return ranges

    def called(self, at: int) -> tuple[int, dict[str, Any]]:
        """Returns the `execute` that an argument belongs to, and its super-instruction."""
        while self.instructions[at]["op"] != Op.EXECUTE:
            at += 1
        return at, self.program["super_instruction"][self.instructions[at]["a"]]

    def intents(self, at: int) -> tuple[int, str]:
        """Returns the `execute` that an argument belongs to, and all its intents."""
        at, special = self.called(at)
        return at, self.program.string(special["intents"])

    def intent(self, at: int) -> str:
        """Returns the intent of an argument."""
        to, intents = self.intents(at)
        behind = sum(
            Op.ARGUMENT_BLOCK <= one["op"] <= Op.ARGUMENT_REGION
            for one in self.instructions[at + 1 : to]
        )
        return intents[self.instructions[to]["b"] - 1 - behind]

    def _assigned(self, first: int, end: int) -> tuple[frozenset[int], frozenset[int]]:
        """Returns the ints and scalars that a range assigns, through calls too."""
        ints: set[int] = set()
        scalars: set[int] = set()
        for start, stop in self.procs(first, end):
            for at in range(start, stop):
                one = self.instructions[at]
                if one["op"] in (Op.STORE_INT, Op.COLLECTIVE_INT):
                    ints.add(one["a"])
                elif one["op"] in (Op.STORE_SCALAR, Op.COLLECTIVE_SCALAR):
                    scalars.add(one["a"])
                elif one["op"] == Op.ARGUMENT_INT and self.intent(at) != "r":
                    ints.add(one["a"])
                elif self._sets_scalar(at):
                    scalars.add(one["a"])
        return frozenset(ints), frozenset(scalars)

    def _sets_scalar(self, at: int) -> bool:
        one = self.instructions[at]
        if one["op"] == Op.ARGUMENT_SCALAR:
            return self.intent(at) != "r"
        return bool(one["op"] == Op.RESTORE_PERSISTENT and one["x"] == 0)

    def leaves(self, loop: int) -> bool:
        """Says whether `exit` or `return` may leave a loop."""
        record = self.loops[loop]
        for at in range(record["body"], record["end"]):
            op = self.instructions[at]["op"]
            if op == Op.RETURN or (op == Op.LOOP_EXIT and self.instructions[at]["a"] == loop):
                return True
        return False

    def _sequential(self, loop: int) -> bool:
        """Says whether iterations have to be followed one after another: they are not independent,
        or they contain pardos."""
        record = self.loops[loop]
        if record["kind"] == PARDO:
            return False
        if self.leaves(loop):
            return True
        for start, stop in self.procs(record["body"], record["end"]):
            for at in range(start, stop):
                if self.instructions[at]["op"] in _APART:
                    return True
                inner = self.loop_of.get(at)
                if inner is not None and self.loops[inner]["kind"] == PARDO:
                    return True
        return False

    def clauses(self, loop: int) -> list[Clause]:
        """Returns the where clauses, with the indices of the loop itself."""
        record = self.loops[loop]
        own = set(record["indices"][: record["count"]])
        found: list[Clause] = []
        first = record["begin"] + 1
        reads: set[int] = set()
        for at in range(first, record["body"]):
            one = self.instructions[at]
            if one["op"] == Op.PUSH_INDEX:
                reads.add(one["a"])
            elif one["op"] in (Op.PUSH_ELEMENT, Op.PUSH_CONTRACTION):
                for selector in (one["a"], one["b"]):
                    chosen = self.program["selector"][selector]["indices"]
                    reads |= {index & 0x7FFFFFFF for index in chosen if index != NONE}
            elif one["op"] == Op.WHERE:
                found.append((first, at, reads & own))
                first, reads = at + 1, set()
        return found
