"""Checks every statement by itself: types, forms of blocks, and the arrays that it may take."""

from __future__ import annotations

from dataclasses import dataclass, field

from outboard.sial import tree
from outboard.sial.blocks import BlockRules
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.execute import check_execute
from outboard.sial.expressions import Typer, is_block
from outboard.sial.selectors import check_selector, counted, element, no_slice
from outboard.sial.source import Place
from outboard.sial.symbols import Array, Index, Int, Scalar
from outboard.sial.tree import Form

_FAMILY = {
    "get": "distributed",
    "put": "distributed",
    "delete": "distributed",
    "request": "served",
    "prepare": "served",
    "destroy": "served",
}
_OTHER = {
    "get": "request",
    "request": "get",
    "put": "prepare",
    "prepare": "put",
    "delete": "destroy",
    "destroy": "delete",
}


def check(body: list[tree.Statement], diagnostics: Diagnostics) -> None:
    """Checks the statements of one proc or program."""
    checker = _Checker(diagnostics)
    for statement in tree.walk(body):
        checker.check(statement)


@dataclass(slots=True)
class _Checker:
    diagnostics: Diagnostics
    typer: Typer = field(init=False)
    rules: BlockRules = field(init=False)

    def __post_init__(self) -> None:
        self.typer = Typer(self.diagnostics)
        self.rules = BlockRules(self.typer)

    def check(self, one: tree.Statement) -> None:
        before = self.diagnostics.errors
        if isinstance(one, tree.Loop):
            self._loop(one)
        elif not one.broken:
            self._statement(one)
        if self.diagnostics.errors > before:
            one.broken = True

    def _error(self, code: str, place: Place, text: str, *notes: Note) -> None:
        self.diagnostics.add(code, place, text, *notes)

    def _statement(self, one: tree.Statement) -> None:
        match one:
            case tree.If():
                if one.relation:
                    self.typer.relation(one.relation)
            case tree.Assign():
                self._assign(one)
            case tree.Put():
                if self._family(one.word, one.target.name):
                    one.form = self.rules.put(one)
            case tree.Get():
                if self._family(one.word, one.target.name) and check_selector(
                    one.target, self.diagnostics
                ):
                    no_slice(one.target, self.diagnostics)
            case tree.WholeArray():
                self._whole(one)
            case tree.Allocate():
                self._allocate(one)
            case tree.Collective():
                self._collective(one)
            case tree.AssertSame():
                self._static_if_array(one.name, "assert_same")
            case tree.Broadcast():
                self.typer.integer(one.worker, "`broadcast_from`")
                self._static_if_array(one.name, "broadcast_from")
            case tree.Print():
                self._print(one)
            case tree.Execute():
                check_execute(one, self.rules)
            case tree.Persist():
                self._persist(one)
            case tree.GpuHint():
                if isinstance(one.argument, tree.Reference):
                    check_selector(one.argument, self.diagnostics)

    def _loop(self, one: tree.Loop) -> None:
        if len(one.indices) > 16:
            text = f"{len(one.indices)} indices (a pardo has at most 16)"
            self._error("S004", one.indices[16].place, text)
        for name in one.indices:
            index = name.symbol
            if not isinstance(index, Index):
                continue
            if one.word == "pardo" and index.parent:
                text = (
                    f"`{name.text}` is a subindex (a pardo has none) loop over it with "
                    f"`do {name.text} in {index.parent.name}` inside"
                )
                self._error("S207", name.place, text)
            elif one.word == "do":
                self._do(one, name, index)
        for where in one.where:
            if not where.broken:
                self.typer.relation(where.relation)
                for operand in (where.relation.left, where.relation.right):
                    self._where(operand)

    def _do(self, one: tree.Loop, name: tree.Name, index: Index) -> None:
        if one.parent is None and index.parent:
            text = (
                f"`{name.text}` is a subindex of `{index.parent.name}` (its loop names the "
                f"parent) write `do {name.text} in {index.parent.name}`"
            )
            self._error("S207", name.place, text)
        elif one.parent and index.parent is not one.parent.symbol:
            what = f"a subindex of `{index.parent.name}`" if index.parent else "no subindex"
            text = f"`{name.text}` is {what} (`in` names the parent of a subindex)"
            self._error("S207", name.place, text)

    def _where(self, one: tree.Expression) -> None:
        match one:
            case tree.Reference() if not one.wrong and one.array.storage != "static":
                text = (
                    f"`{one.name.text}` is {one.array.sort} (a where clause reads elements of "
                    "static arrays only, which all workers hold) use `if`"
                )
                self._error("S307", one.place, text)
            case tree.Binary():
                self._where(one.left)
                self._where(one.right)
            case tree.Negate() | tree.SquareRoot() | tree.Cast():
                self._where(one.operand)

    # --- assignments ---------------------------------------------------------------------------

    def _assign(self, one: tree.Assign) -> None:
        target = one.target
        if isinstance(target, tree.Reference):
            one.form = self.rules.assign(one, target)
            if target.region and not target.wrong and one.form and one.form.kind == "region_fill":
                self.rules.region_bounds(target)
            return
        match target.name.symbol:
            case Index():
                text = f"the index `{target.name.text}` is assigned (loops set it) use an int"
                self._error("S208", target.place, text)
            case Int():
                if self.typer.integer(one.value, f"the int `{target.name.text}`"):
                    one.form = Form("store_int", one.value)
            case Scalar():
                one.form = self._scalar(one)
            case Array() as array:
                one.form = self._static(one, array)

    def _scalar(self, one: tree.Assign | tree.Collective) -> Form | None:
        value = one.value
        name = one.target.name if isinstance(one, tree.Assign) else one.name
        if (
            isinstance(value, tree.Binary)
            and value.operator == "*"
            and isinstance(value.left, tree.Reference)
            and isinstance(value.right, tree.Reference)
            and (is_block(value.left) or is_block(value.right))
        ):
            sides = [value.left, value.right]
            if not all(check_selector(side, self.diagnostics) for side in sides):
                return None
            for side in sides:
                no_slice(side, self.diagnostics)
            if any(side.region or side.wrong for side in sides):
                if not any(side.wrong for side in sides):
                    self._error("S304", value.operator_place, "regions have no `*` (blocks have)")
                return None
            if one.operator == "*=":
                text = "`*=` of a contraction (a contraction is assigned by `=`, `+=` or `-=`)"
                self._error("S308", value.operator_place, text)
            self.rules.contraction(value.operator_place, value.left, value.right)
            return Form("push_contraction", value, sides)
        if self.typer.scalar(value, f"the scalar `{name.text}`"):
            return Form("store_scalar", value)
        return None

    def _static(self, one: tree.Assign, array: Array) -> Form | None:
        if array.storage != "static":
            text = (
                f"the whole {array.storage} array `{array.name}` is assigned (only static arrays "
                "can be) assign its blocks"
            )
            self._error("S411", one.target.place, text)
            return None
        if isinstance(one.value, tree.NameUse) and isinstance(one.value.name.symbol, Array):
            other = one.value.name.symbol
            if other.storage != "static":
                text = f"`{other.name}` is {other.sort} (only static arrays are copied whole)"
                self._error("S411", one.value.place, text)
            elif one.operator == "*=":
                text = "`*=` takes a scalar (whole arrays have `=`, `+=` and `-=`)"
                self._error("S308", one.value.place, text)
            else:
                self._same_shape(array, other, one.value.place)
            return Form("static_copy", one.value)
        if self.typer.scalar(one.value, "a static array"):
            return Form("static_fill", one.value)
        return None

    def _same_shape(self, array: Array, other: Array, place: Place) -> None:
        note = Note(f"the declaration of `{other.name}`", other.place)
        if len(array.indices) != len(other.indices):
            text = f"`{other.name}` has {counted(other.indices)} (not {len(array.indices)})"
            self._error("S305", place, text, note)
            return
        for mine, theirs in zip(array.indices, other.indices, strict=True):
            if mine.range != theirs.range:
                text = (
                    f"`{other.name}` has `{theirs.name}` where `{array.name}` has `{mine.name}` "
                    "(kinds and ranges must agree)"
                )
                self._error("S306", place, text, note)
                return

    # --- arrays --------------------------------------------------------------------------------

    def _family(self, word: str, name: tree.Name) -> bool:
        array = name.symbol
        if not isinstance(array, Array) or array.storage == _FAMILY[word]:
            return True
        if array.remote:
            why = f"`{word}` is for {_FAMILY[word]} arrays) write `{_OTHER[word]}`"
        else:
            why = "its blocks are on the worker) " + (
                "remove the statement" if word in ("get", "request") else f"remove `{word}`"
            )
        text = f"`{word}` of `{name.text}`, which is {array.sort} ({why}"
        self._error("S401", name.place, text, Note("its declaration", array.place))
        return False

    def _whole(self, one: tree.WholeArray) -> None:
        array = one.name.symbol
        if not isinstance(array, Array):
            return
        fits = array.remote if one.word == "create" else array.storage == _FAMILY[one.word]
        if array.remote and not fits:
            self._family(one.word, one.name)
        elif not fits:
            text = f"`{one.word}` of `{array.name}` (it is {array.sort}, not one on servers)"
            self._error("S403", one.name.place, text, Note("its declaration", array.place))

    def _allocate(self, one: tree.Allocate) -> None:
        target = one.target
        array = target.name.symbol
        if not isinstance(array, Array):
            if array is not None:
                text = f"`{target.name.text}` is {array.sort} (`{one.word}` takes a local array)"
                self._error("S106", target.place, text)
            return
        if array.storage != "local":
            text = f"`{one.word}` of `{array.name}`, which is {array.sort} (only locals have it)"
            self._error("S402", target.place, text, Note("its declaration", array.place))
        elif isinstance(target, tree.NameUse):
            if one.word == "allocate" or one.contiguous:
                what = "a region" if one.contiguous else "a selector"
                write = "ranges of segments" if one.contiguous else "`*` for all segments"
                text = (
                    f"`{one.word}` without {what} (it says which blocks) write "
                    f"`{array.name}[..]`, with {write}"
                )
                self._error("S408", target.place, text)
            elif array.contiguous:
                text = f"`{array.name}` is contiguous (it needs a region) add `contiguous`"
                self._error("S409", target.place, text)
        elif check_selector(target, self.diagnostics):
            if one.contiguous != target.region:
                write = "remove `contiguous`" if one.contiguous else "add `contiguous`"
                text = f"a region and `contiguous` belong together (one is missing) {write}"
                self._error("S409", target.place, text)
            elif target.region:
                self.rules.region_bounds(target)
            else:
                no_slice(target, self.diagnostics)

    def _static_if_array(self, name: tree.Name, word: str) -> bool:
        array = name.symbol
        if isinstance(array, Array) and array.storage != "static":
            text = f"`{word}` of {array.sort} (of arrays, it takes static ones only)"
            self._error("S411", name.place, text, Note("its declaration", array.place))
            return False
        return True

    def _collective(self, one: tree.Collective) -> None:
        if one.operator != "+=":
            text = f"`collective` with `{one.operator}` (it adds over the workers) write `+=`"
            self._error("S308", one.name.place, text)
            return
        match one.name.symbol:
            case Index():
                text = f"the index `{one.name.text}` is assigned (loops set it) use an int"
                self._error("S208", one.name.place, text)
            case Int():
                self.typer.integer(one.value, f"the int `{one.name.text}`")
            case Scalar():
                self._scalar(one)
            case Array() as array:
                if not self._static_if_array(one.name, "collective"):
                    return
                if isinstance(one.value, tree.NameUse) and isinstance(one.value.name.symbol, Array):
                    if self._static_if_array(one.value.name, "collective"):
                        self._same_shape(array, one.value.name.symbol, one.value.place)
                elif self.typer.value(one.value):
                    text = "a number is added to a whole array (it takes a whole static array)"
                    self._error("S411", one.value.place, text)

    def _persist(self, one: tree.Persist) -> None:
        symbol = one.name.symbol
        fits = isinstance(symbol, Scalar) or (
            isinstance(symbol, Array) and (symbol.remote or symbol.storage == "static")
        )
        assert symbol is not None
        predefined = isinstance(symbol, Scalar | Array) and symbol.predefined
        if not fits or predefined:
            what = "predefined" if fits else symbol.sort
            text = (
                f"`{one.name.text}` cannot be persistent (it is {what}) use a scalar, or a static, "
                "distributed or served array"
            )
            self._error("S410", one.name.place, text, Note("its declaration", symbol.place))

    def _print(self, one: tree.Print) -> None:
        value = one.value
        if isinstance(value, tree.NameUse) and isinstance(value.name.symbol, Array):
            if value.name.symbol.storage != "static":
                text = f"the whole array `{value.name.text}` is printed (only statics can be)"
                self._error("S411", value.place, text)
        elif isinstance(value, tree.Reference) and not element(value):
            if check_selector(value, self.diagnostics):
                no_slice(value, self.diagnostics)
                if value.region:
                    text = "a region is printed (blocks can be) copy it to a temp first"
                    self._error("S304", value.place, text)
        else:
            self.typer.value(value)
