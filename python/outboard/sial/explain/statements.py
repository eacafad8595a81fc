"""Counts what the statements of a program do: blocks, gets, puts, memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from outboard.sial.execute import RESTORES_ARRAY, SAVES_ARRAY
from outboard.sial.explain.block_sets import Fetched, Stored
from outboard.sial.explain.code import DESTINATIONS, Code
from outboard.sial.explain.counts import Counts, Estimate, Peak
from outboard.sial.explain.expressions import Stack
from outboard.sial.explain.geometry import ELEMENT_BYTES, Geometry
from outboard.sial.explain.job import DECIDED_BY_RUN, Options, Sizes
from outboard.sial.explain.lanes import Array, Lanes, Temp, Value
from outboard.sial.opcodes import Op
from outboard.sial.records import NONE, Program

STATIC, TEMP, LOCAL = 0, 1, 2
_CONTIGUOUS = 2
Saved = dict[str, Array]  # the numbers of the blocks of a distributed array, by label


class Statements:
    """The state of a program while it is followed, and the effects of its statements."""

    def __init__(self, program: Program, sizes: Sizes, options: Options, saved: Saved) -> None:
        self.program, self.sizes, self.options, self.saved = program, sizes, options, saved
        self.code = Code(program)
        self.geometry = Geometry(program, sizes)
        self.storages = [one["storage"] for one in program["array"]]
        workers, servers = options.workers, options.servers
        self.result = Estimate(
            Counts.zeros(len(program["code"])),
            np.zeros(workers, np.int64),
            Peak(np.zeros(workers, np.int64)),
            Peak(np.zeros(workers, np.int64)),
            Peak(np.zeros(servers, np.int64), counts=np.zeros(servers, np.int64)),
            ELEMENT_BYTES
            * sum(
                self.geometry.whole_elements(array)
                for array, storage in enumerate(self.storages)
                if storage == STATIC
            ),
        )
        self.fetched = [Fetched(self.geometry.blocks(n), workers) for n in self._arrays()]
        self.stored = [
            Stored(self.geometry.blocks(n), servers, partial(self._servers_of, n))
            for n in self._arrays()
        ]
        self.local_base: dict[int, Array] = {}  # bytes of locals per worker that outlive a loop
        self.changed: set[int] = set()
        self.to_save: dict[str, int] = {}
        self.pardo_count = 0
        self._before: tuple[Counts, Array] | None = None

    def _servers_of(self, array: int, numbers: Array) -> Array:
        options = self.options
        return self.geometry.servers_of(options.placement, array, numbers, options.servers)

    def _arrays(self) -> range:
        return range(len(self.storages))

    def start(self, lanes: Lanes) -> None:
        self.note_blocks(0, lanes)

    def note(self, at: int, text: str) -> None:
        """Notes why a count is not exact."""
        file, line = self.code.place(at)
        self.result.notes[f"{file.rpartition('/')[2]}:{line}: {text}"] = None

    def count(self, at: int, lanes: Lanes, flops: Array | None = None, touched: int = 0) -> None:
        """Counts an execution per lane, or else (with `flops`) its work."""
        times = self.options.workers if lanes.worker is None else 1
        if flops is None:
            self.result.counts.executions[at] += lanes.count * times
            return
        self.result.counts.flops[at] += int(flops.sum()) * times
        self.result.counts.touched[at] += touched * times
        if lanes.worker is None:
            self.result.worker_flops += int(flops.sum())
        else:
            # Weights are doubles, which are exact below 2^53.
            share = np.bincount(lanes.worker, flops, self.options.workers)
            self.result.worker_flops += share.astype(np.int64)

    def remember(self) -> None:
        """Remembers the counts, so that repeat() can add what comes from here on."""
        self._before = (self.result.counts.copy(), self.result.worker_flops.copy())

    def repeat(self, times: int, at: int, of: int) -> None:
        """Adds what was counted since remember() so many times more."""
        assert self._before is not None
        counts, flops = self._before
        self.result.counts.add_again(counts, times)
        self.result.worker_flops += (self.result.worker_flops - flops) * times
        self.note(
            at,
            f"the first {of - times} of {of} iterations were followed; the others are counted "
            "like the last of these",
        )

    # Memory of workers

    def note_blocks(self, at: int, lanes: Lanes) -> None:
        """Notes how much the blocks of all lanes take."""
        if lanes.count == 0:
            return
        alive = np.zeros(lanes.count, np.int64)
        for one in lanes.temps:
            alive += one.sizes
        for held in lanes.locals.values():
            alive += held
        base = np.zeros(self.options.workers, np.int64)
        for size in self.local_base.values():
            base += size
        if lanes.worker is None:
            base += alive.max()
        else:
            most = np.zeros(self.options.workers, np.int64)
            np.maximum.at(most, lanes.worker, alive)
            base += most
        peak = self.result.blocks
        if not peak.raise_to(base + self.result.statics, at):
            return
        lane = int(alive.argmax())
        worker = int(base.argmax())
        peak.parts = {array: int(size[worker]) for array, size in self.local_base.items()}
        for one in lanes.temps:
            peak.parts[one.array] = peak.parts.get(one.array, 0) + int(one.sizes[lane])
        for array, held in lanes.locals.items():
            peak.parts[array] = peak.parts.get(array, 0) + int(held[lane])

    def _write(self, at: int, selector: int, lanes: Lanes) -> None:
        """Creates a temp that does not exist yet."""
        array = self.program["selector"][selector]["array"]
        if self.storages[array] not in (TEMP, LOCAL):
            return
        if self.storages[array] == LOCAL:
            self._write_local(at, array, selector, lanes)
            return
        numbers = self.geometry.numbers(selector, lanes)
        new = np.ones(lanes.count, bool)
        for one in lanes.temps:
            if one.array == array:
                new &= one.numbers != numbers
        if not new.any():
            return
        sizes = np.where(new, ELEMENT_BYTES * self.geometry.elements(selector, lanes), 0)
        lanes.temps.append(Temp(array, np.where(new, numbers, -1), sizes))
        self.note_blocks(at, lanes)

    def _write_local(self, at: int, array: int, selector: int, lanes: Lanes) -> None:
        """Creates a block of a local of which nothing was allocated."""
        if self.program["array"][array]["flags"] & _CONTIGUOUS or array in self.local_base:
            return
        held = lanes.locals.setdefault(array, np.zeros(lanes.count, np.int64))
        if (held > 0).all():
            return
        self.note(at, "a local is written without allocate: one block of it is counted")
        sizes = ELEMENT_BYTES * self.geometry.elements(selector, lanes)
        lanes.locals[array] = np.where(held > 0, held, sizes)
        self.note_blocks(at, lanes)

    def _release(self, selector: int, lanes: Lanes) -> None:
        array = self.program["selector"][selector]["array"]
        numbers = self.geometry.numbers(selector, lanes)
        for one in lanes.temps:
            if one.array == array:
                gone = one.numbers == numbers
                one.numbers, one.sizes = (
                    np.where(gone, -1, one.numbers),
                    np.where(gone, 0, one.sizes),
                )

    def _hold(self, at: int, array: int, elements: Array, lanes: Lanes) -> None:
        held = lanes.locals.get(array, np.zeros(lanes.count, np.int64))
        lanes.locals[array] = held + ELEMENT_BYTES * elements
        self.note_blocks(at, lanes)

    def keep_locals(
        self, around: Lanes, part: Lanes, before: dict[int, Array], parents: Array | None
    ) -> None:
        """Keeps what iterations have allocated and not freed."""
        for array, held in part.locals.items():
            more = held - before.get(array, np.zeros(part.count, np.int64))
            if not more.any():
                continue
            if parents is not None:
                own = around.locals.setdefault(array, np.zeros(around.count, np.int64))
                np.add.at(own, parents, more)
                continue
            base = self.local_base.setdefault(array, np.zeros(self.options.workers, np.int64))
            np.add.at(base, part.per_lane(0) if part.worker is None else part.worker, more)

    # Epochs and pardos

    def divides_all(self, loop: int) -> bool:
        """Says whether a pardo's iterations are divided by their number among all of them."""
        schedule = self.code.loops[loop]["schedule"]
        named = "" if schedule == NONE else self.program.string(schedule)
        named = self.options.schedule or named
        if named in DECIDED_BY_RUN:
            self.note(
                self.code.loops[loop]["begin"],
                "the run decides who computes an iteration; iterations are counted as if they were "
                "balanced",
            )
        return named == "static" or self.code.leaves(loop)

    def end_pardo(self, loop: int, survivors: int) -> None:
        if not self.divides_all(loop):
            self.pardo_count += survivors

    def end_epoch(self) -> None:
        """Passes a barrier."""
        self.pardo_count = 0
        for array in self._arrays() if self.options.drop_cache else self.changed:
            self.fetched[array].clear()
        self.changed.clear()

    # Statements

    def execute(self, op: Op, at: int, one: dict[str, Any], lanes: Lanes, stack: Stack) -> None:
        """Executes an instruction that is no control."""
        if Op.PUSH_INT <= op <= Op.STORE_SCALAR:
            stack.execute(one, lanes)
            if op is Op.PUSH_CONTRACTION:
                elements = self.geometry.elements(one["a"], lanes)
                self.count(at, lanes, 2 * elements, int(2 * ELEMENT_BYTES * elements.sum()))
        elif Op.BLOCK_FILL <= op <= Op.BLOCK_RELEASE:
            self._block(op, at, one, lanes, stack)
        elif Op.GET <= op <= Op.DELETE:
            self._transfer(op, at, one, lanes, stack)
        elif Op.ALLOCATE <= op <= Op.DEALLOCATE_CONTIGUOUS:
            self._allocation(op, at, one, lanes, stack)
        elif Op.COLLECTIVE_SCALAR <= op <= Op.RESTORE_PERSISTENT:
            self._collective(op, at, one, lanes)
        elif Op.ARGUMENT_BLOCK <= op <= Op.ARGUMENT_REGION:
            self._argument(op, at, one, lanes)
            stack.clear()
        elif op in (Op.BARRIER, Op.SECTION_END):
            self.end_epoch()
        else:
            stack.clear()  # of a print

    def _block(self, op: Op, at: int, one: dict[str, Any], lanes: Lanes, stack: Stack) -> None:
        stack.clear()
        if op is Op.BLOCK_RELEASE:
            self._release(one["a"], lanes)
            return
        if op in DESTINATIONS:
            self._write(at, one["a"], lanes)
        flops, touched = self._work(op, one, lanes)
        self.count(at, lanes, flops, int(touched.sum()) * ELEMENT_BYTES)

    def _work(self, op: Op, one: dict[str, Any], lanes: Lanes) -> tuple[Array, Array]:
        """Returns flops, and elements that are read and written, per lane."""
        how = one["x"]
        if op in (Op.STATIC_FILL, Op.STATIC_COPY):
            elements = lanes.per_lane(self.geometry.whole_elements(one["a"]))
            return elements * (how != 0), 2 * elements
        if op in (Op.REGION_FILL, Op.REGION_STORE):
            zero = lanes.per_lane(0)
            if op is Op.REGION_FILL:
                return zero, zero
            return zero, 2 * self.geometry.elements(one["b"], lanes)
        elements = self.geometry.elements(one["a"], lanes)
        if op is Op.BLOCK_INSERT:
            elements = self.geometry.elements(one["b"], lanes)
        accumulates = 1 if how != 0 else 0
        if op is Op.BLOCK_CONTRACT:
            selectors = (one["a"], one["b"], one["c"])
            labels: set[int] = set().union(*(self.geometry.labels(s) for s in selectors))
            touched = sum((self.geometry.elements(s, lanes) for s in selectors), lanes.per_lane(0))
            return 2 * self.geometry.all_elements(labels, lanes), touched
        per_element = {
            Op.BLOCK_FILL: accumulates,
            Op.BLOCK_COPY: accumulates,
            Op.BLOCK_ADD: 1,
            Op.BLOCK_SUBTRACT: 1,
            Op.BLOCK_SCALE: 1 + accumulates,
            Op.BLOCK_OUTER: 1 + accumulates,
        }.get(op, 0)
        operands = 3 if op in (Op.BLOCK_ADD, Op.BLOCK_SUBTRACT) else 1 if op is Op.BLOCK_FILL else 2
        return elements * per_element, elements * (operands + accumulates)

    def _transfer(self, op: Op, at: int, one: dict[str, Any], lanes: Lanes, stack: Stack) -> None:
        stack.clear()
        if op is Op.CREATE:
            return
        if op is Op.DELETE:
            self.stored[one["a"]].clear()
            self.fetched[one["a"]].clear()
            self.changed.add(one["a"])
            return
        array = self.program["selector"][one["a"]]["array"]
        numbers = self.geometry.numbers(one["a"], lanes)
        sizes = ELEMENT_BYTES * self.geometry.elements(one["a"], lanes)
        if (numbers < 0).any():
            self.note(at, "a block is outside of its array: the run ends with R05")
            numbers = np.maximum(numbers, 0)
        counts = self.result.counts
        if op is Op.GET:
            requests, received = self.fetched[array].add(numbers, sizes, lanes.worker)
            counts.requests[at] += requests
            counts.received[at] += received
            self._note_fetched(at)
            return
        times = self.options.workers if lanes.worker is None else 1
        if op is Op.PUT_BLOCK:
            counts.sent[at] += int(sizes.sum()) * times
        self.changed.add(array)
        self.fetched[array].forget(numbers, sizes, lanes.worker)
        self.stored[array].add(numbers, sizes)
        self._note_stored(at, array)

    def _note_fetched(self, at: int) -> None:
        sizes = np.sum([one.sizes for one in self.fetched], axis=0)
        limit = self.options.worker_memory // 2
        if limit and int(sizes.max()) > limit:
            self.result.evicts = True
            sizes = np.minimum(sizes, limit)
        if self.result.fetched.raise_to(sizes, at):
            worker = int(sizes.argmax())
            self.result.fetched.parts = {
                array: int(one.sizes[worker])
                for array, one in enumerate(self.fetched)
                if one.sizes[worker]
            }

    def _blocks_stored(self) -> Array:
        """Returns the number of blocks per server."""
        return np.asarray(np.sum([one.counts for one in self.stored], axis=0))

    def _note_stored(self, at: int, array: int) -> None:
        own = self.stored[array]
        peak = self.result.array_peaks.setdefault(array, np.zeros_like(own.sizes))
        np.maximum(peak, own.sizes, out=peak)
        most = self.result.array_blocks.get(array, 0)
        self.result.array_blocks[array] = max(most, int(own.counts.sum()))
        peaks = self.result.stored
        assert peaks.counts is not None
        np.maximum(peaks.counts, self._blocks_stored(), out=peaks.counts)
        if peaks.raise_to(np.sum([one.sizes for one in self.stored], axis=0), at):
            peaks.parts = {
                number: int(one.sizes.sum())
                for number, one in enumerate(self.stored)
                if one.sizes.any()
            }

    def _allocation(self, op: Op, at: int, one: dict[str, Any], lanes: Lanes, stack: Stack) -> None:
        if op is Op.DEALLOCATE_ARRAY:
            lanes.locals.pop(one["a"], None)
            self.local_base.pop(one["a"], None)
            return
        sign = 1 if op in (Op.ALLOCATE, Op.ALLOCATE_CONTIGUOUS) else -1
        if op in (Op.ALLOCATE, Op.DEALLOCATE):
            array = self.program["selector"][one["a"]]["array"]
            elements: Array | None = self.geometry.elements(one["a"], lanes)
        else:
            array = one["a"]
            bounds: list[Value] = stack.pop_many(2 * self.program["array"][array]["rank"])
            elements = self.geometry.region_elements(array, bounds, lanes)
        if elements is None:
            self.note(at, "the bounds of a region depend on values: the whole array is counted")
            elements = lanes.per_lane(self.geometry.whole_elements(array))
        self._hold(at, array, sign * elements, lanes)

    def _collective(self, op: Op, at: int, one: dict[str, Any], lanes: Lanes) -> None:
        if op is Op.COLLECTIVE_INT:
            lanes.forget({one["a"]}, set())
        elif op is Op.COLLECTIVE_SCALAR:
            lanes.forget(set(), {one["a"]})
        elif op is Op.SET_PERSISTENT and one["x"] == 1:
            self.to_save[self.program.string(one["b"])] = one["a"]
        elif op is Op.RESTORE_PERSISTENT:
            if one["x"] == 0:
                lanes.forget(set(), {one["a"]})
            elif self.storages[one["a"]] > LOCAL:
                self._restore(at, one["a"], self.program.string(one["b"]))

    def _restore(self, at: int, array: int, label: str) -> None:
        numbers = self.saved.get(label)
        if numbers is None:
            self.note(at, f"nothing is saved as '{label}' yet: all blocks are counted")
            numbers = np.arange(self.geometry.blocks(array))
        self.stored[array].clear()
        self.stored[array].add(numbers, self.geometry.sizes_of(array, numbers))
        self.changed.add(array)
        self._note_stored(at, array)

    def saved_at_end(self) -> Saved:
        """Returns what the program saves."""
        return {
            label: self.stored[array].numbers()
            for label, array in self.to_save.items()
            if self.storages[array] > LOCAL
        }

    def _list(self, at: int, array: int) -> None:
        """Saves or loads all blocks of an array at once, under its name."""
        label = self.program.string(self.program["array"][array]["name"])
        called = self.program.string(self.code.called(at)[1]["name"])
        if called == SAVES_ARRAY:
            self.saved[label] = self.stored[array].numbers().copy()
        elif called == RESTORES_ARRAY:
            self._restore(at, array, label)
            self.fetched[array].clear()

    def _argument(self, op: Op, at: int, one: dict[str, Any], lanes: Lanes) -> None:
        if op is Op.ARGUMENT_ARRAY and self.storages[one["a"]] > LOCAL:
            self._list(at, one["a"])
            return
        intent = self.code.intent(at)
        if intent == "r":
            return
        if op is Op.ARGUMENT_BLOCK:
            self._write(at, one["a"], lanes)
        elif op is Op.ARGUMENT_SCALAR:
            lanes.forget(set(), {one["a"]})
        elif op is Op.ARGUMENT_INT:
            lanes.forget({one["a"]}, set())
