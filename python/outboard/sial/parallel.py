"""Rules of pardos, sections and control flow, through calls too."""

from __future__ import annotations

from dataclasses import dataclass, field

from outboard.sial import tree
from outboard.sial.calls import Body, CallGraph
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.execute import WHOLE_ARRAYS

_COLLECTIVES = {
    tree.Collective: "collective",
    tree.AssertSame: "assert_same",
    tree.Broadcast: "broadcast_from",
}


@dataclass(slots=True)
class _Reached:
    """How a proc is reached: through which pardo, and whether also outside of pardos."""

    pardo: tuple[Note, ...] = ()
    outside: bool = False


def check_parallel(graph: CallGraph, diagnostics: Diagnostics) -> None:
    """Reports statements that may not stand inside a pardo, and control flow out of place."""
    reached = {body: _Reached(outside=body.proc is None) for body in graph.order}
    for body in graph.order:
        _Checker(graph, reached, body, diagnostics).statements(body.statements, [], None)


@dataclass(slots=True)
class _Checker:
    graph: CallGraph
    reached: dict[Body, _Reached]
    body: Body
    diagnostics: Diagnostics
    _puts: set[int] = field(default_factory=set)

    def statements(
        self, body: list[tree.Statement], loops: list[tree.Loop], pardo: tree.Loop | None
    ) -> None:
        """Checks a body inside `loops` of this proc, of which `pardo` is one."""
        for one in body:
            chain = self._chain(pardo)
            if chain:
                self._inside(one, chain)
            self._anywhere(one, loops)
            outside = pardo is None and self.reached[self.body].outside
            if isinstance(one, tree.Put) and outside and not one.broken:
                text = (
                    f"`{one.word}` outside of a pardo (every worker executes it, so it happens as "
                    "often as there are workers) move it into a pardo"
                )
                self.diagnostics.add("W08", one.place, text)
            if isinstance(one, tree.Section):
                self._section(one)
            if isinstance(one, tree.Call) and one.proc and not one.broken:
                self._call(one, chain, outside)
            if isinstance(one, tree.Loop):
                inner = one if one.word == "pardo" else pardo
                self.statements(one.body, [*loops, one], inner)
            else:
                for part in tree.bodies(one):
                    self.statements(part, loops, pardo)

    def _chain(self, pardo: tree.Loop | None) -> tuple[Note, ...]:
        if pardo:
            return (Note("the pardo begins here", pardo.place),)
        return self.reached[self.body].pardo

    def _call(self, one: tree.Call, chain: tuple[Note, ...], outside: bool) -> None:
        assert one.proc
        target = self.reached.get(self.graph.body_of(one.proc))
        if target is None:
            return
        if chain and not target.pardo:
            target.pardo = (Note(f"`{one.name.text}` is called here", one.place), *chain)
        target.outside |= outside

    def _inside(self, one: tree.Statement, chain: tuple[Note, ...]) -> None:
        """Reports what may not stand inside a pardo."""

        def add(code: str, what: str, why: str) -> None:
            text = f"{what} inside a pardo ({why}) move it behind the pardo"
            self.diagnostics.add(code, one.place, text, *chain)

        everybody = "only some workers may come here, the others would wait for them"
        match one:
            case tree.Loop(word="pardo"):
                add("S601", "a pardo", "the iterations are divided already")
            case tree.Simple(word="sip_barrier" | "server_barrier"):
                add("S602", f"`{one.word}`", everybody)
            case tree.Section():
                add("S602", "a section", "it ends with a barrier")
            case tree.Collective() | tree.AssertSame() | tree.Broadcast():
                add("S603", f"`{_COLLECTIVES[type(one)]}`", everybody)
            case tree.WholeArray():
                add("S404", f"`{one.word}`", "all workers execute it")
            case tree.Persist():
                add("S607", f"`{one.word}`", "all workers execute it")
            case tree.Execute() if one.special and one.special.name in WHOLE_ARRAYS:
                add("S607", f"`{one.special.name}`", "all workers execute it")

    def _anywhere(self, one: tree.Statement, loops: list[tree.Loop]) -> None:
        match one:
            case tree.Simple(word="exit" | "cycle") if not loops:
                text = f"`{one.word}` outside of a loop (a proc cannot leave its caller's loop)"
                self.diagnostics.add("S605", one.place, text)
            case tree.Simple(word="exit") if loops[-1].word == "pardo":
                text = (
                    "`exit` leaves a pardo (it ends the share of this worker only, and the pardo "
                    "is scheduled statically) use `cycle` or a where clause"
                )
                self.diagnostics.add("W11", one.place, text)
            case tree.Simple(word="return") if self.body.proc is None:
                text = "`return` outside of a proc (it leaves a proc) use `stop`, or an `if`"
                self.diagnostics.add("S606", one.place, text)

    def _section(self, one: tree.Section) -> None:
        for inner in one.body:
            if not (isinstance(inner, tree.Loop) and inner.word == "pardo"):
                text = "another statement than pardo in a section (it holds pardos only) move it"
                note = Note("the section begins here", one.place)
                self.diagnostics.add("S604", inner.place, text, note)
