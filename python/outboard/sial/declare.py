"""Declares the names of one file, and checks its declarations."""

from __future__ import annotations

from dataclasses import dataclass, field

from outboard.sial import tree
from outboard.sial.build_expressions import INT_END, too_large
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.scope import Scope
from outboard.sial.source import Place
from outboard.sial.symbols import (
    MOST_DIMENSIONS,
    TABLES,
    Array,
    Index,
    Int,
    Poison,
    Scalar,
    Special,
    Symbol,
)
from outboard.sial.tree import Proc

# Each of these constants is at most the next one; occupied orbitals come before virtual ones.
_ORBITALS = [
    ["baocc", "eaocc", "bavirt", "eavirt", "norb"],
    ["bbocc", "ebocc", "bbvirt", "ebvirt", "norb"],
    ["bocc", "eocc", "bvirt", "evirt", "norb"],
]
_MODIFIED = {"predefined": ("int", "scalar", "static"), "contiguous": ("local",)}


@dataclass(slots=True)
class Globals:
    """Objects that have one name in the whole job, whichever file declares them."""

    predefined: dict[tuple[str, str], Symbol] = field(default_factory=dict)
    specials: dict[str, Special] = field(default_factory=dict)


@dataclass(slots=True)
class Declarer:
    """Fills the scope of one module."""

    module: tree.Module
    scope: Scope
    shared: Globals
    diagnostics: Diagnostics
    imported: bool

    def declare(self) -> None:
        """Declares all names first, so that declarations may stand in any order."""
        symbols = [(one, self._symbol(one)) for one in self.module.declarations]
        for declaration, symbol in symbols:
            self._add(declaration.name, symbol)
        for declaration, symbol in symbols:
            match declaration, symbol:
                case tree.IndexDeclaration(), Index():
                    self._index(declaration, symbol)
                case tree.SubindexDeclaration(), Index():
                    self._subindex(declaration, symbol)
        for declaration, symbol in symbols:
            if isinstance(declaration, tree.ArrayDeclaration) and isinstance(symbol, Array):
                self._array(declaration, symbol)

    def _error(self, code: str, place: Place, text: str, *notes: Note) -> None:
        self.diagnostics.add(code, place, text, *notes)

    def _add(self, name: tree.Name, symbol: Symbol) -> None:
        name.symbol = symbol
        before = self.scope.own.get(name.text)
        if before is None:
            self.scope.own[name.text] = symbol
        elif isinstance(symbol, Special) and isinstance(before, Special):
            return  # _special compares the two
        elif not isinstance(before, Poison) and not isinstance(symbol, Poison):
            first = Note(f"`{name.text}` is {before.sort} here", before.place)
            text = f"`{name.text}` is declared twice (a name stands for one object) rename one"
            self._error("S102", name.place, text, first)

    def _symbol(self, one: tree.Declaration) -> Symbol:
        name, place, program = one.name.text, one.name.place, self.scope.program
        symbol: Symbol = Poison(name, place, program)
        match one:
            case tree.ProcDeclaration():
                symbol = Proc(name, place, program, one.body)
            case tree.SpecialDeclaration():
                symbol = self._special(one)
            case tree.Variable(kind="int"):
                initial = self._initial(one, tree.IntNumber)
                predefined = self._modifier(one.modifier, "int")
                symbol = Int(name, place, program, predefined, int(initial))
            case tree.Variable():
                initial = self._initial(one, tree.RealNumber)
                predefined = self._modifier(one.modifier, "scalar")
                symbol = Scalar(name, place, program, predefined, initial)
            case tree.ArrayDeclaration() if not one.broken:
                symbol = Array(name, place, program, one.storage)
                set_ = self._modifier(one.modifier, one.storage)
                word = one.modifier.text if one.modifier else ""
                symbol.predefined = set_ and word == "predefined"
                symbol.contiguous = set_ and word == "contiguous"
                symbol.sparse = word == "sparse"
            case tree.IndexDeclaration() | tree.SubindexDeclaration() if not one.broken:
                if isinstance(one, tree.IndexDeclaration) and one.modifier:
                    self._modifier(one.modifier, "index")
                symbol = Index(name, place, program)
        symbol.imported = self.imported
        return self._share(symbol)

    def _share(self, symbol: Symbol) -> Symbol:
        """The job file gives one value to a predefined int or scalar, whoever declares it."""
        if not isinstance(symbol, Int | Scalar) or not symbol.predefined:
            return symbol
        if symbol.name in self.scope.own:
            return symbol  # twice in one file, which is a mistake
        return self.shared.predefined.setdefault((symbol.sort, symbol.name), symbol)

    def _modifier(self, modifier: tree.Name | None, kind: str) -> bool:
        """Returns true if the modifier has an effect. Reports one that does not fit."""
        if modifier is None:
            return False
        if modifier.text == "sparse":
            return False
        fits = _MODIFIED[modifier.text]
        if kind not in fits:
            text = (
                f"`{modifier.text}` does not fit `{kind}` (it stands before "
                f"{' or '.join(f'`{one}`' for one in fits)}) remove it"
            )
            self._error("S003", modifier.place, text)
            return False
        return True

    def _initial(self, one: tree.Variable, wanted: type[tree.Expression]) -> float | int:
        value = one.initial
        if value is None:
            return 0
        if one.modifier and one.modifier.text == "predefined":
            text = (
                f"`{one.name.text}` is predefined and has a value here (the job file gives the "
                "value) remove one of the two"
            )
            self._error("S003", value.place, text)
        if not isinstance(value, wanted):
            write = f"`{_other(value)}`"
            text = (
                f"the value does not fit the {one.kind} `{one.name.text}` (ints and scalars are "
                f"not converted) write {write}"
            )
            self._error("S301", value.place, text)
            return 0
        assert isinstance(value, tree.IntNumber | tree.RealNumber)
        return _literal(value, self.diagnostics)

    def _special(self, one: tree.SpecialDeclaration) -> Symbol:
        name, place = one.name.text, one.name.place
        intents = one.intents.text if one.intents else ""
        special = Special(name, place, self.scope.program, intents)
        if one.intents and (set(intents) - set("rwu") or len(intents) > 16):
            text = (
                f"the intents `{intents}` are wrong (each argument has one letter: r, w or u; at "
                "most 16)"
            )
            self._error("S704", one.intents.place, text)
            special.intents = None
            return special
        before = self.shared.specials.setdefault(name, special)
        if before.intents != special.intents and before.intents is not None:
            text = (
                f"`{name}` has other intents here than in its first declaration (`{intents}` and "
                f"`{before.intents}`) write the same"
            )
            self._error("S705", place, text, Note("the first declaration", before.place))
        return before

    # --- indices and arrays --------------------------------------------------------------------

    def _index(self, one: tree.IndexDeclaration, symbol: Index) -> None:
        symbol.table = one.table or TABLES.get(one.kind)
        lower, upper = self._bound(one.lower), self._bound(one.upper)
        if lower is None or upper is None:
            return
        symbol.lower, symbol.upper = lower, upper
        place = one.lower.place
        if isinstance(lower, int) and isinstance(upper, int) and lower > upper:
            text = f"the range is reversed ({lower} is above {upper}) exchange its bounds"
            self._error("S201", place, text)
        elif symbol.table and isinstance(lower, int) and lower < 1:
            self._error("S201", place, f"the range begins at {lower} (segments begin at 1)")
        elif symbol.table and isinstance(upper, int) and upper < 1:
            self._error("S201", place, f"the range ends at {upper} (segments begin at 1)")
        else:
            self._orbitals(lower, upper, place)

    def _orbitals(self, lower: int | Int, upper: int | Int, place: Place) -> None:
        for order in _ORBITALS:
            names = ["1", *order]
            first, last = (one.name if isinstance(one, Int) else str(one) for one in (lower, upper))
            if first in names and last in names and names.index(first) > names.index(last):
                text = (
                    f"the range is reversed ({last} is at most {first} by the order of the "
                    "orbitals) exchange its bounds"
                )
                self._error("S203", place, text)
                return

    def _bound(self, one: tree.Expression | tree.Name) -> int | Int | None:
        if isinstance(one, tree.Name):
            symbol = self.scope.find(one, self.diagnostics)
            if isinstance(symbol, Int) and symbol.predefined:
                return symbol
            if symbol and not isinstance(symbol, Poison):
                text = (
                    f"`{one.text}` is no bound ({symbol.sort} may change while the program runs) "
                    "write a literal or a predefined int"
                )
                self._error("S202", one.place, text, Note("its declaration", symbol.place))
            return None
        if isinstance(one, tree.IntNumber):
            return int(_literal(one, self.diagnostics))
        text = "a bound with a point (segments have whole numbers) write an integer"
        self._error("S202", one.place, text)
        return None

    def _subindex(self, one: tree.SubindexDeclaration, symbol: Index) -> None:
        parent = self.scope.find(one.parent, self.diagnostics)
        if isinstance(parent, Index):
            declared = self._declaration_of(parent)
            simple = isinstance(declared, tree.IndexDeclaration) and (
                not declared.table and declared.kind == "index"
            )
            if simple or isinstance(declared, tree.SubindexDeclaration):
                what = "is simple" if simple else "is a subindex itself"
                text = f"`{parent.name}` has no subindices (it {what}) name a segmented index"
                self._error("S204", one.parent.place, text, Note("its declaration", parent.place))
            symbol.parent = parent
        else:
            if parent and not isinstance(parent, Poison):
                wrong_sort(self.diagnostics, one.parent, parent, "an index")
            self.scope.own[symbol.name] = Poison(symbol.name, symbol.place, symbol.program)

    def _declaration_of(self, index: Index) -> tree.Declaration | None:
        for one in self.module.declarations:
            if one.name.symbol is index:
                return one
        return (
            tree.SubindexDeclaration(tree.Name("", index.place), tree.Name("", index.place))
            if (index.parent)
            else None
        )

    def _array(self, one: tree.ArrayDeclaration, array: Array) -> None:
        before = self.diagnostics.errors
        if len(one.indices) > MOST_DIMENSIONS:
            text = f"{len(one.indices)} indices (an array has at most {MOST_DIMENSIONS})"
            self._error("S305", one.indices[MOST_DIMENSIONS].place, text)
        for name in one.indices:
            symbol = self.scope.find(name, self.diagnostics)
            if isinstance(symbol, Index):
                array.indices.append(symbol)
                if symbol.parent and (array.storage not in ("temp", "local") or array.contiguous):
                    text = (
                        f"`{array.name}` has the subindex `{name.text}` (only temp and local "
                        "arrays may) declare it with the parent index"
                    )
                    self._error("S306", name.place, text)
            elif symbol and not isinstance(symbol, Poison):
                wrong_sort(self.diagnostics, name, symbol, "an index")
        if self.diagnostics.errors > before or len(array.indices) < len(one.indices):
            self.scope.own[array.name] = Poison(array.name, array.place, array.program)


def wrong_sort(diagnostics: Diagnostics, name: tree.Name, symbol: Symbol, wanted: str) -> None:
    """Reports a name that stands for another sort of object."""
    diagnostics.add(
        "S106",
        name.place,
        f"`{name.text}` is not {wanted} (it is {symbol.sort})",
        Note("its declaration", symbol.place),
    )


def _other(value: tree.Expression) -> str:
    if isinstance(value, tree.IntNumber):
        return f"{value.value}.0"
    assert isinstance(value, tree.RealNumber)
    return str(round(value.value))


def _literal(value: tree.IntNumber | tree.RealNumber, diagnostics: Diagnostics) -> int | float:
    if isinstance(value, tree.IntNumber) and value.value >= INT_END:
        too_large(diagnostics, value.place)
        return 1
    return value.value
