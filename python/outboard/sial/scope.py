"""The names that are visible in one file: its own, and those of the files that it imports."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from outboard.sial.built_in import BUILT_IN, declaration
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.symbols import Poison, Special, Symbol
from outboard.sial.tree import Name


@dataclass(slots=True)
class Scope:
    """The names of one file."""

    program: str
    own: dict[str, Symbol] = field(default_factory=dict)
    imports: list[Scope] = field(default_factory=list)
    incomplete: bool = False  # an unknown name may be declared in an import that is missing
    _reported: set[str] = field(default_factory=set)

    def find(
        self, name: Name, diagnostics: Diagnostics, code: str = "S101", *, called: bool = False
    ) -> Symbol | None:
        """Returns what `name` stands for, and notes it. Reports an unknown name once. `called`
        says that parentheses follow, as behind a function."""
        found = self._lookup(name.text)
        if len(found) == 1:
            name.symbol = found[0]
            found[0].used = True
            return found[0]
        if not found and not self.incomplete and name.text not in self._reported:
            self._reported.add(name.text)
            diagnostics.add(code, name.place, self._unknown(name.text, code, called))
        if found:
            could = " or ".join(f"`{one.program}.{one.name}`" for one in found)
            notes = [Note(f"`{one.program}.{one.name}`", one.place) for one in found]
            text = (
                f"`{name.text}` is ambiguous (several imported programs declare it) write {could}"
            )
            diagnostics.add("S103", name.place, text, *notes)
        name.symbol = Poison(name.text, name.place, self.program)
        return None

    def _lookup(self, text: str) -> list[Symbol]:
        if text in self.own:
            return [self.own[text]]
        program, _, rest = text.rpartition(".")
        if program:
            scopes = [one for one in (self, *self.imports) if one.program == program]
            return [one.own[rest] for one in scopes if rest in one.own]
        found = [one.own[text] for one in self.imports if text in one.own]
        return list(dict.fromkeys(found))

    def _unknown(self, text: str, code: str, called: bool) -> str:
        if code == "S701":
            return self._undeclared_special(text)
        known = list(self.own) + [name for scope in self.imports for name in scope.own]
        near = difflib.get_close_matches(text, known, 1)
        if called and not near:
            return (
                f"`{text}` is not declared (no array is like it, and the only function is `sqrt`) "
                "declare the array, or call a super-instruction"
            )
        why = f"the nearest name is `{near[0]}`" if near else "no name is like it"
        return f"`{text}` is not declared ({why}) declare it at the beginning"

    def _undeclared_special(self, text: str) -> str:
        problem = f"`{text}` is no declared super-instruction"
        if text in BUILT_IN:
            return f"{problem} (it is built in) declare it: `{declaration(text)}`"
        specials = [
            name
            for scope in (self, *self.imports)
            for name, symbol in scope.own.items()
            if isinstance(symbol, Special)
        ]
        near = difflib.get_close_matches(text, specials, 1)
        if near:
            return f"{problem} (the nearest one is `{near[0]}`)"
        near = difflib.get_close_matches(text, BUILT_IN, 1)
        if near:
            why = f"a built-in one is `{near[0]}`"
            return f"{problem} ({why}) declare that one: `{declaration(near[0])}`"
        why = "declare it: `special name intents`, one of the letters r, w, u per argument"
        return f"{problem} ({why})"
