"""Follows the control of a program: jumps, calls and loops, for many lanes at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from outboard.errors import OutboardError
from outboard.sial.explain.code import PARDO, Clause
from outboard.sial.explain.expressions import Stack
from outboard.sial.explain.lanes import Array, Lanes, Value
from outboard.sial.explain.statements import Statements
from outboard.sial.opcodes import Op

_MOST_LANES = 1 << 17  # at once: the arrays of that many lanes fit the cache of a processor
_FOLLOWED = 32  # iterations of loops that are followed one after another
_CONTROL = {
    Op.JUMP, Op.JUMP_IF_FALSE, Op.CALL, Op.RETURN, Op.STOP, Op.HALT, Op.LOOP_BEGIN, Op.LOOP_END,
    Op.LOOP_EXIT, Op.LOOP_CYCLE,
}  # fmt: skip


@dataclass
class _Frame:
    """The lanes that execute a range of instructions, and where each of them is."""

    lanes: Lanes
    active: Array  # lanes that execute the present instruction
    waiting: dict[int, Array] = field(default_factory=dict)  # lanes that go on further down
    forgotten: dict[int, tuple[frozenset[int], frozenset[int]]] = field(default_factory=dict)
    uncertain_until: int = -1  # before this instruction, lanes may be on the wrong path
    left: Array = field(default_factory=lambda: np.zeros(0, bool))
    returned: Array = field(default_factory=lambda: np.zeros(0, bool))
    part: Lanes | None = None  # the active lanes

    def present(self) -> Lanes:
        """Returns the active lanes; all of them are not copied."""
        if self.part is None:
            self.part = self.lanes if self.active.all() else self.lanes.take(self.active)
        return self.part

    def settle(self) -> None:
        """Ends the work on the present active lanes."""
        if self.part is not None and self.part is not self.lanes:
            self.lanes.put_back(self.part, self.active)
        self.part = None

    def move(self, which: Array, to: int) -> None:
        """Lets lanes go on at an instruction further down."""
        self.waiting[to] = self.waiting.get(to, np.zeros(self.lanes.count, bool)) | which


class Follower(Statements):
    """Follows a program."""

    def follow(self) -> None:
        """Follows the whole program."""
        lanes = Lanes(1, None, {}, dict(self.sizes.ints), dict(self.sizes.scalars))
        proc = self.program["proc"][0]
        self.start(lanes)
        self._run(proc["first"], proc["end"], lanes)
        self.end_epoch()

    def _run(self, first: int, end: int, lanes: Lanes) -> _Frame:
        frame = _Frame(lanes, np.ones(lanes.count, bool))
        frame.left = np.zeros(lanes.count, bool)
        frame.returned = np.zeros(lanes.count, bool)
        stack = Stack(self.program)
        at = first
        while at < end:
            self._join(frame, at)
            if not frame.active.any():
                if not frame.waiting:
                    break
                at = min(frame.waiting)
                continue
            one = self.code.instructions[at]
            op = Op(one["op"])
            part = frame.present()
            if op is not Op.HALT:
                self.count(at, part)
            if op in _CONTROL:
                at = self._control(op, at, frame, stack)
            else:
                self.execute(op, at, one, part, stack)
                at += 1
        frame.settle()
        return frame

    def _join(self, frame: _Frame, at: int) -> None:
        """Lets lanes that wait for an instruction go on."""
        for place in [one for one in frame.forgotten if one <= at]:
            frame.settle()
            ints, scalars = frame.forgotten.pop(place)
            frame.lanes.forget(set(ints), set(scalars))
        if at in frame.waiting:
            frame.settle()
            frame.active = frame.active | frame.waiting.pop(at)

    def _control(self, op: Op, at: int, frame: _Frame, stack: Stack) -> int:
        one = self.code.instructions[at]
        if op is Op.JUMP_IF_FALSE:
            self._branch(at, one["a"], stack.pop(), frame)
        elif op is Op.JUMP or op is Op.LOOP_CYCLE:
            to = one["a"] if op is Op.JUMP else self.code.loops[one["a"]]["end"]
            if to <= at:
                raise OutboardError("explain cannot follow byte code that jumps backwards")
            self._leave(frame, frame.active, to)
        elif op is Op.CALL:
            proc = self.program["proc"][one["a"]]
            self._run(proc["first"], proc["end"], frame.present())
        elif op is Op.LOOP_BEGIN:
            loop = self.code.loop_of[at]
            self._returned_inside(self._loop(loop, frame.present()), frame)
            return int(self.code.loops[loop]["end"]) + 1
        elif op is not Op.LOOP_END and op is not Op.HALT:
            self._end_lanes(op, at, frame)
        return at + 1

    def _branch(self, at: int, to: int, condition: Value, frame: _Frame) -> None:
        if condition is None:
            before = self.code.instructions[to - 1]
            end = before["a"] if before["op"] == Op.JUMP and before["a"] > to else to
            self.note(at, "a condition depends on values: both branches are counted")
            frame.uncertain_until = max(frame.uncertain_until, end)
            frame.forgotten[end] = self.code.assigned(at, end)
            frame.move(frame.active, to)
            return
        taken = frame.active.copy()
        taken[frame.active] = np.broadcast_to(np.asarray(condition) != 0, (int(taken.sum()),))
        if taken.sum() == frame.active.sum():
            return
        skipped = frame.active & ~taken
        frame.settle()
        frame.active = taken
        frame.move(skipped, to)

    def _leave(self, frame: _Frame, which: Array, to: int) -> None:
        frame.settle()
        frame.move(which, to)
        frame.active = frame.active & ~which

    def _end_lanes(self, op: Op, at: int, frame: _Frame) -> None:
        """Ends the active lanes: they leave the loop, the proc or the job."""
        certain = at >= frame.uncertain_until
        active = frame.active
        frame.settle()
        if op is Op.LOOP_EXIT:
            if certain:
                frame.left = frame.left | active
            else:
                self.note(at, "exit depends on values: all iterations are counted")
        elif op is Op.RETURN and certain:
            frame.returned = frame.returned | active
        elif op is Op.STOP:
            self.note(at, "stop ends the job here, if it is reached")
        frame.active = np.zeros(frame.lanes.count, bool)

    def _returned_inside(self, returned: Array, frame: _Frame) -> None:
        """Ends lanes of which a loop has executed `return`."""
        if not returned.any():
            return
        frame.settle()
        which = frame.active.copy()
        which[frame.active] = returned
        frame.returned = frame.returned | which
        frame.active = frame.active & ~which

    # Loops

    def _loop(self, loop: int, lanes: Lanes) -> Array:
        """Returns the lanes that have executed `return`."""
        record = self.code.loops[loop]
        if self.code.sequential(loop):
            return self._one_by_one(loop, lanes)
        assigned = self.code.assigned(record["body"], record["end"])
        body, end = record["body"], record["end"] + 1
        inside = lanes.take(np.arange(lanes.count))
        inside.forget(*map(set, assigned))
        pardo = record["kind"] == PARDO
        survivors = 0
        for part, parents in self._expand(loop, inside):
            if pardo:
                self._divide(loop, part, survivors)
                survivors += part.count
            held = dict(part.locals)
            self._run(body, end, part)
            self.keep_locals(lanes, part, held, None if pardo else parents)
        if pardo:
            self.end_pardo(loop, survivors)
        self.note_blocks(record["begin"], lanes)
        lanes.forget(*map(set, assigned))
        return np.zeros(lanes.count, bool)

    def _divide(self, loop: int, part: Lanes, before: int) -> None:
        """Gives the iterations of a pardo to the workers."""
        numbers: Array = self.pardo_count + before + np.arange(part.count)
        if self.divides_all(loop):
            numbers = np.zeros(part.count, np.int64)
            stride = 1
            record = self.code.loops[loop]
            for index in record["indices"][: record["count"]]:  # the first index runs fastest
                of = self.geometry.range(index)
                numbers += (part.per_lane(part.indices[index]) - of.lower) * stride
                stride *= of.count
        part.worker = numbers % self.options.workers

    def _expand(self, loop: int, lanes: Lanes) -> Iterator[tuple[Lanes, Array]]:
        """Yields the surviving iterations in their order, in parts, with the lanes around them."""
        record = self.code.loops[loop]
        bound: list[int] = []
        levels = []
        clauses = self.code.clauses(loop)
        for index in reversed(record["indices"][: record["count"]]):
            bound.append(index)
            ready = [one for one in clauses if one[2] <= set(bound)]
            clauses = [one for one in clauses if one not in ready]
            levels.append((index, ready))
        yield from self._expand_level(levels, lanes, np.arange(lanes.count))

    def _expand_level(
        self,
        levels: list[tuple[int, list[Clause]]],
        lanes: Lanes,
        parents: Array,
    ) -> Iterator[tuple[Lanes, Array]]:
        if not levels:
            if lanes.count:
                yield lanes, parents
            return
        index, clauses = levels[0]
        lower = self.geometry.range(index).lower
        counts = np.maximum(lanes.per_lane(self.geometry.upper(index, lanes)) - lower + 1, 0)
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        for first in range(0, total, _MOST_LANES):
            raw = np.arange(first, min(first + _MOST_LANES, total))
            lane = np.searchsorted(ends, raw, side="right")
            part = lanes.take(lane)
            part.indices[index] = raw - (ends - counts)[lane] + lower
            kept = self._survive(clauses, part)
            if kept is not None:
                part, lane = part.take(kept), lane[kept]
            yield from self._expand_level(levels[1:], part, parents[lane])

    def _survive(self, clauses: list[Clause], lanes: Lanes) -> Array | None:
        """Returns the lanes that fulfil the where clauses; None: all."""
        kept: Array | None = None
        for first, where, _ in clauses:
            stack = Stack(self.program)
            for at in range(first, where):
                stack.execute(self.code.instructions[at], lanes)
            value = stack.pop()
            if value is None:
                self.note(where, "where depends on values: all iterations are counted")
                continue
            holds = lanes.per_lane(np.asarray(value) != 0)
            kept = holds if kept is None else kept & holds
        return kept

    def _one_by_one(self, loop: int, lanes: Lanes) -> Array:
        """Follows the iterations of a `do` one after another: a barrier or an exit is inside."""
        record = self.code.loops[loop]
        index = record["indices"][0]
        lower = self.geometry.range(index).lower
        uppers = lanes.per_lane(self.geometry.upper(index, lanes))
        last = int(uppers.max(initial=lower - 1))
        if self.options.rounds and self.code.leaves(loop):
            last = min(last, lower + self.options.rounds - 1)
        alive = np.ones(lanes.count, bool)
        returned = np.zeros(lanes.count, bool)
        for value in range(lower, last + 1):
            if not alive.any():
                break
            if value - lower == _FOLLOWED:
                self.repeat(last - value + 1, record["begin"], last - lower + 1)
                break
            self.remember()
            which = alive & (value <= uppers)
            part = lanes.take(which)
            part.indices[index] = value
            kept = self._survive(self.code.clauses(loop), part)
            if kept is not None:
                which[which] = kept
                part = part.take(kept)
            temps = len(part.temps)
            done = self._run(record["body"], record["end"] + 1, part)
            alive[which] = ~done.left & ~done.returned
            returned[which] |= done.returned
            del part.temps[temps:]
            lanes.put_back(part, which)
        return returned
