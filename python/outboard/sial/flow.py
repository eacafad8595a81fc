"""Warnings that follow the order of statements: fetched blocks, allocated locals, scalars of
pardos. A loop counts as executed at least once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from outboard.sial import tree
from outboard.sial.calls import CallGraph
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.expressions_of import inside, read_by
from outboard.sial.selectors import Label, labels
from outboard.sial.symbols import Array, Scalar
from outboard.sial.tree import Proc
from outboard.sial.warnings import changed_in

_Block = tuple[Array, tuple[Label, ...]]
# More different states of calls than this are not followed.
_MOST_CALLS = 2000


@dataclass(frozen=True, slots=True)
class _State:
    """`allocated` and `fetched` hold on every path, `private` on some."""

    allocated: frozenset[Array] = frozenset()
    fetched: frozenset[_Block] = frozenset()
    private: frozenset[Scalar] = frozenset()

    def join(self, other: _State) -> _State:
        return _State(
            self.allocated & other.allocated,
            self.fetched & other.fetched,
            self.private | other.private,
        )


def warn_flow(graph: CallGraph, diagnostics: Diagnostics) -> None:
    """Follows the program from its beginning."""
    for body in graph.order:
        if body.proc is None:
            _Flow(diagnostics).statements(body.statements, _State(), False)


@dataclass(slots=True)
class _Flow:
    diagnostics: Diagnostics
    _calls: dict[tuple[Proc, _State, bool], _State] = field(default_factory=dict)
    _pardos: dict[Scalar, tree.Loop] = field(default_factory=dict)
    _told: set[Scalar] = field(default_factory=set)

    def statements(self, body: list[tree.Statement], state: _State, pardo: bool) -> _State:
        """Returns the state behind `body`."""
        for one in body:
            state = self._statement(one, state, pardo)
        return state

    def _statement(self, one: tree.Statement, state: _State, pardo: bool) -> _State:
        if not one.broken:
            self._reads(one, state, pardo)
        match one:
            case tree.Loop():
                return self._loop(one, state, pardo)
            case tree.If():
                then = self.statements(one.then, state, pardo)
                return then.join(self.statements(one.otherwise, state, pardo))
            case tree.Section():
                return replace(self.statements(one.body, state, pardo), fetched=frozenset())
            case tree.GpuRegion():
                return self.statements(one.body, state, pardo)
            case tree.Call() if one.proc and not one.broken:
                return self._call(one.proc, state, pardo)
        return state if one.broken else self._effect(one, state, pardo)

    def _loop(self, one: tree.Loop, state: _State, pardo: bool) -> _State:
        parallel = pardo or one.word == "pardo"
        end = self.statements(one.body, state, parallel)
        # The second iteration begins where the first one ends.
        begin = replace(state.join(end), allocated=state.allocated)
        if begin != state:
            end = self.statements(one.body, begin, parallel)
        result = replace(end, fetched=end.fetched & state.fetched)
        if one.word == "pardo" and not pardo:
            scalars = {sym for sym in changed_in(one.body) if isinstance(sym, Scalar)}
            for scalar in scalars:
                self._pardos.setdefault(scalar, one)
            result = replace(result, private=result.private | scalars)
        return result

    def _call(self, proc: Proc, state: _State, pardo: bool) -> _State:
        key = (proc, state, pardo)
        if key not in self._calls:
            if len(self._calls) >= _MOST_CALLS:
                return state
            self._calls[key] = state  # for a proc that calls itself, which is an error
            self._calls[key] = self.statements(proc.body, state, pardo)
        return self._calls[key]

    def _effect(self, one: tree.Statement, state: _State, pardo: bool) -> _State:
        match one:
            case tree.Simple(word="sip_barrier" | "server_barrier"):
                return replace(state, fetched=frozenset())
            case tree.Get() if not one.target.wrong:
                return replace(state, fetched=state.fetched | {_block(one.target)})
            case tree.Put() | tree.WholeArray():
                array = one.target.name.symbol if isinstance(one, tree.Put) else one.name.symbol
                left = {block for block in state.fetched if block[0] is not array}
                return replace(state, fetched=frozenset(left))
            case tree.Allocate():
                array = one.target.name.symbol
                assert isinstance(array, Array)
                changed = state.allocated | {array}
                if one.word == "deallocate":
                    changed = state.allocated - {array}
                return replace(state, allocated=changed)
            case tree.Assign():
                return self._assign(one, state, pardo)
            case tree.AssertSame() if isinstance(one.name.symbol, Scalar):
                return replace(state, private=state.private - {one.name.symbol})
        return state

    def _assign(self, one: tree.Assign, state: _State, pardo: bool) -> _State:
        symbol = one.target.name.symbol
        if isinstance(symbol, Scalar) and one.operator == "=" and not pardo:
            return replace(state, private=state.private - {symbol})
        if (
            isinstance(one.target, tree.Reference)
            and isinstance(symbol, Array)
            and symbol.storage == "local"
            and not symbol.contiguous
            and one.operator == "="
            and symbol not in state.allocated
        ):
            text = (
                f"a block of the local `{symbol.name}` is written before `allocate` on some path "
                "(the runtime creates it and warns) allocate it first"
            )
            note = Note("its declaration", symbol.place)
            self.diagnostics.add("W04", one.target.place, text, note)
        return state

    def _reads(self, one: tree.Statement, state: _State, pardo: bool) -> None:
        agrees = isinstance(one, tree.Collective | tree.AssertSame)
        for top in read_by(one):
            for part in inside(top):
                if isinstance(part, tree.Reference) and not part.wrong:
                    self._block(part, state)
                elif isinstance(part, tree.NameUse) and not pardo and not agrees:
                    self._scalar(part, state)

    def _block(self, part: tree.Reference, state: _State) -> None:
        if part.array.remote and not part.region and _block(part) not in state.fetched:
            word = "get" if part.array.storage == "distributed" else "request"
            text = (
                f"a block of `{part.name.text}` is read without `{word}` on some path (since the "
                f"last barrier, or since a put of this array) {word} it in this iteration"
            )
            self.diagnostics.add("W05", part.place, text)

    def _scalar(self, part: tree.NameUse, state: _State) -> None:
        scalar = part.name.symbol
        if isinstance(scalar, Scalar) and scalar in state.private and scalar not in self._told:
            self._told.add(scalar)
            text = (
                f"`{scalar.name}` is set in a pardo and read here (each worker has the value of "
                "its own iterations) add them with `collective`"
            )
            note = Note("it is set in this pardo", self._pardos[scalar].place)
            self.diagnostics.add("W02", part.place, text, note)


def _block(block: tree.Reference) -> _Block:
    """Returns the block that a selector reads; of a slice, the whole one."""
    whole = [
        (index.parent, cast) if block.slice and index.parent and not cast else (index, cast)
        for index, cast in labels(block)
    ]
    return block.array, tuple(whole)
