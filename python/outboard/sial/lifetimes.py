"""Finds out where the blocks of temps are read for the last time.

A temp is followed as one variable, which is right only where all its selectors name the same block
as long as no loop gives an index a new value. So a temp is *followed* where

* one body (the program, or one proc) mentions it, and
* inside the outermost loop that its blocks may outlive an iteration of, all selectors have equal
  labels.

Every loop may be left before its first iteration here, and every index has a new value at the start
of its loop's body only. So each read that an assignment may reach is reached on a path that crosses
no assignment to another block of the temp.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from outboard.sial import tree
from outboard.sial.block_uses import Block, block_of, blocks_of, uses
from outboard.sial.calls import CallGraph
from outboard.sial.symbols import Array


class Temps:
    """The temps that can be followed, and where."""

    def __init__(self, graph: CallGraph) -> None:
        self._bodies: dict[Array, set[int]] = {}
        self._blocks: dict[tuple[Array, int], set[Block]] = {}
        self._region_of: dict[tuple[Array, int], int] = {}
        for number, body in enumerate(graph.order):
            self._level(body.statements, number, {})

    def _level(self, body: list[tree.Statement], number: int, regions: dict[Array, int]) -> None:
        """Reads the body of a loop or of a proc, `number`. `regions`: the temps that occur in the
        loops around it, outside of this one, with the outermost of these loops."""
        direct, loops = _parts(body)
        own = dict(regions)
        for one in direct:
            own.setdefault(one.array, id(body))
            self._bodies.setdefault(one.array, set()).add(number)
        for one in direct:
            region = own[one.array]
            self._blocks.setdefault((one.array, region), set()).add(block_of(one))
        for array, region in own.items():
            self._region_of[(array, id(body))] = region
        for loop in loops:
            self._level(loop.body, number, own)

    def follows(self, one: tree.Reference, body: list[tree.Statement]) -> bool:
        """True if the temp is followed in a loop whose body is `body`."""
        array = one.array
        if len(self._bodies.get(array, ())) != 1:
            return False
        region = self._region_of.get((array, id(body)))
        return region is not None and len(self._blocks[(array, region)]) == 1

    @property
    def arrays(self) -> list[Array]:
        """The temps that only one body mentions."""
        return [array for array, bodies in self._bodies.items() if len(bodies) == 1]


def _parts(body: list[tree.Statement]) -> tuple[list[tree.Reference], list[tree.Loop]]:
    """Returns the blocks of temps that stand in no inner loop, and the inner loops."""
    direct: list[tree.Reference] = []
    loops: list[tree.Loop] = []
    waiting = list(body)
    while waiting:
        one = waiting.pop()
        direct += [part for part in blocks_of(one) if part.array.storage == "temp"]
        if isinstance(one, tree.Loop):
            loops.append(one)
        else:
            for inner in tree.bodies(one):
                waiting += inner
    return direct, loops


@dataclass(slots=True)
class _Targets:
    """The nodes that `exit`, `cycle` and `return` lead to."""

    leave: int = -1
    next: int = -1


@dataclass(slots=True)
class Liveness:
    """Says which temps may be read after a statement. Sets of temps are the bits of an int."""

    bits: dict[Array, int]
    _successors: list[list[int]] = field(default_factory=list)
    _read: list[int] = field(default_factory=list)
    _overwritten: list[int] = field(default_factory=list)
    _live: list[int] = field(default_factory=list)
    _behind: dict[int, int] = field(default_factory=dict)  # by the identity of a statement
    _starts: dict[int, int] = field(default_factory=dict)  # by the identity of a loop's body

    def add_body(self, body: list[tree.Statement], *, proc: bool) -> None:
        """Follows the program, or a proc, whose next call may read what this one has left."""
        end = self._node()
        start = self._starts[id(body)] = self._body(body, end, _Targets(), end)
        if proc:
            self._successors[end].append(start)
        self._solve(end)

    def reads_behind(self, one: tree.Statement, array: Array) -> bool:
        """True if a block of the temp may be read behind `one` before it is overwritten."""
        return bool(self._live[self._behind[id(one)]] & self.bits[array])

    def reads_at_start(self, body: list[tree.Statement], array: Array) -> bool:
        """True if a block of the temp may be read in the body of a loop, or in a proc, before it is
        overwritten there."""
        return bool(self._live[self._starts[id(body)]] & self.bits[array])

    def _node(self) -> int:
        self._successors.append([])
        self._read.append(0)
        self._overwritten.append(0)
        self._live.append(0)
        return len(self._live) - 1

    def _body(self, body: list[tree.Statement], behind: int, to: _Targets, end: int) -> int:
        """Returns the node at the start of `body`, behind which the node `behind` follows."""
        for one in reversed(body):
            self._behind[id(one)] = behind
            behind = self._statement(one, behind, to, end)
        return behind

    def _statement(self, one: tree.Statement, behind: int, to: _Targets, end: int) -> int:
        node = self._node()
        found = uses(one)
        self._read[node] = self._set(found.read)
        self._overwritten[node] = self._set(found.overwritten)
        successors = self._successors[node]
        match one:
            case tree.Loop():
                inner = _Targets(leave=behind, next=node)
                start = self._starts[id(one.body)] = self._body(one.body, node, inner, end)
                successors += [start, behind]
            case tree.Section():  # its pardos may run in any order
                successors += [self._body(one.body, node, to, end), behind]
            case tree.GpuRegion():
                successors.append(self._body(one.body, behind, to, end))
            case tree.If():
                successors.append(self._body(one.then, behind, to, end))
                successors.append(self._body(one.otherwise, behind, to, end))
            case tree.Simple(word="exit"):
                successors.append(to.leave)
            case tree.Simple(word="cycle"):
                successors.append(to.next)
            case tree.Simple(word="return"):
                successors.append(end)
            case tree.Simple(word="stop"):
                pass
            case _:
                successors.append(behind)
        return node

    def _set(self, blocks: list[tree.Reference]) -> int:
        found = 0
        for one in blocks:
            found |= self.bits.get(one.array, 0)
        return found

    def _solve(self, first: int) -> None:
        """Finds the least solution; nodes were made from the end on, so few passes are enough."""
        changes = True
        while changes:
            changes = False
            for node in range(first, len(self._live)):
                live = 0
                for successor in self._successors[node]:
                    live |= self._live[successor]
                live = live & ~self._overwritten[node] | self._read[node]
                if live != self._live[node]:
                    self._live[node] = live
                    changes = True


def liveness(graph: CallGraph, temps: Temps) -> Liveness:
    """Returns the liveness of all followed temps."""
    found = Liveness({array: 1 << number for number, array in enumerate(temps.arrays)})
    for body in graph.order:
        found.add_body(body.statements, proc=body.proc is not None)
    return found
