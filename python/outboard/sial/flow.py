"""Warnings that follow the order of statements: fetched blocks, allocated locals, variables and
statics of pardos. A loop counts as executed at least once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from outboard.sial import tree
from outboard.sial.accesses import assigned_in
from outboard.sial.calls import CallGraph
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.expressions_of import inside, read_by
from outboard.sial.selectors import Label, labels
from outboard.sial.symbols import Array, Int, Scalar, Symbol
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
    private: frozenset[Symbol] = frozenset()

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
    _pardos: dict[Symbol, tree.Loop] = field(default_factory=dict)
    _told: set[Symbol] = field(default_factory=set)

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
            changed = {symbol for symbol in changed_in(one.body) if _of_worker(symbol)}
            for symbol in changed:
                self._pardos.setdefault(symbol, one)
            result = replace(result, private=result.private | changed)
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
            case tree.AssertSame() | tree.Broadcast() if one.name.symbol:
                return replace(state, private=state.private - {one.name.symbol})
            case tree.Execute() if not pardo:
                return replace(state, private=state.private - assigned_in([one]))
        return state

    def _assign(self, one: tree.Assign, state: _State, pardo: bool) -> _State:
        symbol = one.target.name.symbol
        if symbol and _of_worker(symbol) and one.operator == "=" and not pardo:
            # One block of a static may stand for all, which a loop around it assigns.
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
        written = _written(one)
        for top in read_by(one):
            if any(top is argument for argument in written):
                continue
            for part in inside(top):
                if isinstance(part, tree.Reference) and not part.wrong:
                    self._block(part, state)
                if isinstance(part, tree.NameUse | tree.Reference) and not pardo and not agrees:
                    self._variable(part, state)

    def _block(self, part: tree.Reference, state: _State) -> None:
        if part.array.remote and not part.region and _block(part) not in state.fetched:
            word = "get" if part.array.storage == "distributed" else "request"
            text = (
                f"a block of `{part.name.text}` is read without `{word}` on some path (since the "
                f"last barrier, or since a put of this array) {word} it in this iteration"
            )
            self.diagnostics.add("W05", part.place, text)

    def _variable(self, part: tree.NameUse | tree.Reference, state: _State) -> None:
        symbol = part.name.symbol
        if symbol is None or symbol not in state.private or symbol in self._told:
            return
        self._told.add(symbol)
        text = (
            f"`{symbol.name}` is set in a pardo and read here (each worker has what its own "
            "iterations have set) add them with `collective`"
        )
        note = Note("it is set in this pardo", self._pardos[symbol].place)
        self.diagnostics.add("W02", part.place, text, note)


def _written(one: tree.Statement) -> list[tree.Expression]:
    """Returns the arguments of a super-instruction that it does not read."""
    if not isinstance(one, tree.Execute) or one.special is None:
        return []
    pairs = zip(one.special.intents or "", one.arguments, strict=False)
    return [argument for intent, argument in pairs if intent == "w"]


def _of_worker(symbol: Symbol) -> bool:
    """True for variables and statics, which each worker has for itself during a program."""
    return isinstance(symbol, Int | Scalar) or (
        isinstance(symbol, Array) and symbol.storage == "static"
    )


def _block(block: tree.Reference) -> _Block:
    """Returns the block that a selector reads; of a slice, the whole one."""
    whole = [
        (index.parent, cast) if block.slice and index.parent and not cast else (index, cast)
        for index, cast in labels(block)
    ]
    return block.array, tuple(whole)
