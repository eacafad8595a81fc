"""Finds the form of assignments and puts, and checks the labels of their blocks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from outboard.sial import tree
from outboard.sial.expressions import Typer, holds_block, is_block
from outboard.sial.selectors import Label, check_selector, element, labels, no_slice, shown, simple
from outboard.sial.source import Place
from outboard.sial.tree import Form

_ACCUMULATING = ("=", "+=", "-=")
_INSTEAD = {
    "/": "divide by multiplying with `1.0 / s`",
    "**": "call a super-instruction",
}


@dataclass(slots=True)
class BlockRules:
    """Rules of statements whose target is a block."""

    typer: Typer

    def _error(self, code: str, place: Place, text: str) -> None:
        self.typer.error(code, place, text)

    def assign(self, one: tree.Assign, target: tree.Reference) -> Form | None:
        """Returns the form of an assignment to a block, or None after an error."""
        before = self.typer.diagnostics.errors
        fits = check_selector(target, self.typer.diagnostics)
        if fits and target.array.remote:
            text = (
                f"a block of the {target.array.storage} array `{target.name.text}` is assigned "
                "(its blocks live on servers) write "
                f"`{'put' if target.array.storage == 'distributed' else 'prepare'}` before it"
            )
            self._error("S405", target.place, text)
        form = self._form(one, target, fits)
        return form if self.typer.diagnostics.errors == before else None

    def _form(self, one: tree.Assign, target: tree.Reference, fits: bool) -> Form | None:
        value = one.value
        if isinstance(value, tree.Reference) and is_block(value):
            if not check_selector(value, self.typer.diagnostics) or not fits:
                return None
            return self._copy(one, target, value)
        if isinstance(value, tree.Reference) and self._element_copy(target, value, fits):
            return Form("block_copy", blocks=[value]) if one.operator != "*=" else self._fill(one)
        if isinstance(value, tree.Binary) and (is_block(value.left) or is_block(value.right)):
            return self._operation(one, target, value, fits)
        if isinstance(value, tree.Binary) and value.operator == "^" and fits:
            return self._two_blocks(one, target, value)
        if holds_block(value):
            self._complain(value)
            return None
        if target.slice and not target.wrong:
            no_slice(target, self.typer.diagnostics)
            return None
        return self._fill(one, region=target.region)

    def _element_copy(self, target: tree.Reference, value: tree.Reference, fits: bool) -> bool:
        """True if a block of one element is copied rather than used as a scalar."""
        if not fits or not check_selector(value, self.typer.diagnostics) or target.region:
            return False
        return element(target) and element(value) and copies(labels(target), labels(value))

    def _fill(self, one: tree.Assign | tree.Put, *, region: bool = False) -> Form | None:
        if not self.typer.scalar(one.value, "a block"):
            return None
        if region and one.operator != "=":
            text = f"regions have no `{one.operator}` (only `=`) use blocks for it"
            self._error("S308", one.target.place, text)
            return None
        return Form("region_fill" if region else "block_fill", one.value)

    def _complain(self, value: tree.Expression) -> None:
        """Reports an expression of blocks that is no form."""
        before = self.typer.diagnostics.errors
        self.typer.value(value)
        if self.typer.diagnostics.errors == before:
            text = "an expression of blocks (a statement has one operation on blocks) use a temp"
            self._error("S304", value.place, text)

    # --- copies --------------------------------------------------------------------------------

    def _copy(self, one: tree.Assign, target: tree.Reference, block: tree.Reference) -> Form | None:
        if target.region or block.region:
            return self._region(one, target, block)
        if target.slice or block.slice:
            return self._slice(one, target, block)
        if one.operator == "*=":
            text = "`*=` takes a scalar (blocks are multiplied by `D = B1 * B2`)"
            self._error("S308", block.place, text)
        elif not copies(labels(target), labels(block)):
            text = (
                f"[{shown(labels(block))}] is no permutation of [{shown(labels(target))}] (a copy "
                "has the same indices on both sides)"
            )
            self._error("S506", block.place, text)
        return Form("block_copy", blocks=[block])

    def _region(
        self, one: tree.Assign, target: tree.Reference, block: tree.Reference
    ) -> Form | None:
        if target.region and block.region:
            text = "a region is copied to a region (one side must be a block) use a temp block"
            self._error("S304", block.place, text)
            return None
        if one.operator != "=":
            text = f"regions have no `{one.operator}` (only `=`) use blocks for it"
            self._error("S308", one.target.place, text)
            return None
        for side in (target, block):
            no_slice(side, self.typer.diagnostics)
        region, other = (target, block) if target.region else (block, target)
        if len(region.items) != len(other.items):
            text = (
                f"the region has {len(region.items)} dimensions (the block has {len(other.items)})"
            )
            self._error("S305", block.place, text)
            return None
        for declared, item in zip(region.array.indices, other.items, strict=True):
            index, cast = item.selected, item.cast
            if ("" if cast else index.kind) != declared.kind:
                text = (
                    f"`{index.name}` has another kind than `{declared.name}` (the kinds of a "
                    "region and a block agree position by position)"
                )
                self._error("S306", item.place, text)
        self.region_bounds(region)
        return Form("region_store" if target.region else "region_load", blocks=[block])

    def region_bounds(self, region: tree.Reference) -> None:
        """Checks the bounds of a region."""
        for item in region.items:
            for bound in (item.lower, item.upper):
                if bound is not None:
                    self.typer.integer(bound, "the bound of a region")

    def _slice(
        self, one: tree.Assign, target: tree.Reference, block: tree.Reference
    ) -> Form | None:
        part, whole = (block, target) if target.slice else (target, block)
        if one.operator != "=" or part.slice:
            which = whole if one.operator != "=" else part
            no_slice(which, self.typer.diagnostics)
            return None
        selected = [item.selected for item in part.items]
        exact = part.array.indices == selected and labels(part) == labels(whole)
        if not exact:
            text = (
                f"`{part.name.text}` does not fit the slice of `{whole.name.text}` (it must be "
                "declared and selected with exactly the indices of the slice)"
            )
            self._error("S507", part.place, text)
        return Form("block_insert" if target.slice else "block_slice", blocks=[block])

    # --- operations ----------------------------------------------------------------------------

    def _operation(
        self, one: tree.Assign, target: tree.Reference, value: tree.Binary, fits: bool
    ) -> Form | None:
        sides = (value.left, value.right)
        for side in sides:
            if isinstance(side, tree.Reference):
                fits = check_selector(side, self.typer.diagnostics) and fits
                no_slice(side, self.typer.diagnostics)
                fits = fits and not side.wrong
        no_slice(target, self.typer.diagnostics)
        if not fits or target.wrong:
            return None
        if target.region or any(isinstance(side, tree.Reference) and side.region for side in sides):
            text = "an operation on regions (they are copied only) use blocks"
            self._error("S304", value.operator_place, text)
            return None
        if value.operator in _INSTEAD:
            text = f"blocks have no `{value.operator}` ({_INSTEAD[value.operator]})"
            self._error("S304", value.operator_place, text)
            return None
        if one.operator == "*=":
            text = "`*=` takes a scalar (an operation on blocks is assigned by `=`, `+=` or `-=`)"
            self._error("S308", value.operator_place, text)
            return None
        both = all(isinstance(side, tree.Reference) for side in sides)
        return self._two_blocks(one, target, value) if both else self._scale(one, target, value)

    def _scale(self, one: tree.Assign, target: tree.Reference, value: tree.Binary) -> Form | None:
        first = is_block(value.left)
        block, factor = (value.left, value.right) if first else (value.right, value.left)
        assert isinstance(block, tree.Reference)
        if holds_block(factor):
            text = (
                f"`{value.operator}` on a nested expression of blocks (a statement has one "
                "operation on blocks) store the inner one in a temp"
            )
            self._error("S304", value.operator_place, text)
            return None
        if value.operator != "*":
            text = (
                f"`{value.operator}` mixes a block and a number (the form is `s * B`) use "
                "`D = B` and `D += s`"
            )
            self._error("S304", value.operator_place, text)
            return None
        if not self.typer.scalar(factor, "a scaled copy"):
            return None
        self._equal(value.operator_place, [labels(target), labels(block)])
        return Form("block_scale", factor, [block])

    def _two_blocks(
        self, one: tree.Assign, target: tree.Reference, value: tree.Binary
    ) -> Form | None:
        left, right = value.left, value.right
        if not isinstance(left, tree.Reference) or not isinstance(right, tree.Reference):
            self.typer.value(value)
            return None
        sides = [left, right]
        if not all(check_selector(side, self.typer.diagnostics) for side in sides):
            return None
        lists = [labels(target), labels(left), labels(right)]
        match value.operator:
            case "*":
                for block, factor in ((left, right), (right, left)):
                    if element(factor) and labels(block) == lists[0]:
                        return Form("block_scale", factor, [block])
                self._contraction(value.operator_place, lists)
                return Form("block_contract", blocks=sides)
            case "^":
                self._outer(value.operator_place, lists)
                return Form("block_outer", blocks=sides)
        if one.operator != "=":
            text = (
                f"`{one.operator}` and `{value.operator}` are two operations on blocks (a "
                f"statement has one) write two statements"
            )
            self._error("S304", value.operator_place, text)
            return None
        self._equal(value.operator_place, lists)
        return Form("block_add" if value.operator == "+" else "block_subtract", blocks=sides)

    def _equal(self, place: Place, lists: list[list[Label]]) -> None:
        for other in lists[1:]:
            if other != lists[0]:
                text = (
                    f"the blocks have [{shown(lists[0])}] and [{shown(other)}] (their lists of "
                    "indices must be equal) permute with `D = B` first"
                )
                self._error("S505", place, text)
                return

    def contraction(self, place: Place, left: tree.Reference, right: tree.Reference) -> None:
        """Checks a contraction to a scalar."""
        lists: list[list[Label]] = [labels(left), labels(right)]
        counts = [Counter(one for one in part if not simple(one)) for part in lists]
        for label in dict.fromkeys([*counts[0], *counts[1]]):
            name = shown([label])
            if max(counts[0][label], counts[1][label]) > 1:
                self._twice(place, name)
                return
            if counts[0][label] + counts[1][label] == 1:
                text = (
                    f"`{name}` is left over (a scalar takes a product in which all indices are "
                    "shared) store the product in a block"
                )
                self._error("S307", place, text)
                return

    def _twice(self, place: Place, name: str) -> None:
        text = f"`{name}` occurs twice in one operand (a trace is no contraction) copy it by parts"
        self._error("S502", place, text)

    def _contraction(self, place: Place, lists: list[list[Label]]) -> None:
        counts = [Counter(one for one in part if not simple(one)) for part in lists]
        for label in dict.fromkeys(one for part in lists for one in part if not simple(one)):
            name = shown([label])
            times = [count[label] for count in counts]
            if max(times) > 1:
                self._twice(place, name)
                return
            if sum(times) == 1:
                text = (
                    f"`{name}` occurs once in this contraction (an index is kept or summed, so it "
                    "occurs twice) remove it or use `^`"
                )
                self._error("S501", place, text)
                return
            if sum(times) == 3:
                text = (
                    f"`{name}` occurs in all three blocks (that is elementwise, no contraction) "
                    "use `execute multiply_elements`"
                )
                self._error("S503", place, text)
                return

    def _outer(self, place: Place, lists: list[list[Label]]) -> None:
        counts = [Counter(one for one in part if not simple(one)) for part in lists]
        if counts[1] & counts[2]:
            name = shown([next(iter(counts[1] & counts[2]))])
            text = f"`{name}` is in both factors (`^` takes blocks without common indices) use `*`"
            self._error("S504", place, text)
        elif counts[0] != counts[1] + counts[2] or max(counts[0].values(), default=1) > 1:
            text = (
                f"the result has [{shown(lists[0])}] (`^` gives the indices of both factors, each "
                "once)"
            )
            self._error("S504", place, text)

    # --- put -----------------------------------------------------------------------------------

    def put(self, one: tree.Put) -> Form | None:
        """Returns the form of a put or prepare, or None after an error."""
        before = self.typer.diagnostics.errors
        fits = check_selector(one.target, self.typer.diagnostics)
        no_slice(one.target, self.typer.diagnostics)
        form = self._put(one, fits and not one.target.wrong)
        return form if self.typer.diagnostics.errors == before else None

    def _put(self, one: tree.Put, fits: bool) -> Form | None:
        value, target = one.value, one.target
        if isinstance(value, tree.Reference) and (is_block(value) or one.operator != "*="):
            if not check_selector(value, self.typer.diagnostics) or not fits:
                return None
            no_slice(value, self.typer.diagnostics)
            if value.wrong:
                return None
            if value.region:
                text = "a region is put (blocks are) copy it to a temp first"
                self._error("S407", value.place, text)
                return None
            if element(value) and not prefix(labels(target), labels(value)):
                return Form("put_scalar", value)
            if one.operator == "*=":
                text = "`*=` takes a scalar (a server scales a block by a number)"
                self._error("S308", value.place, text)
            elif not prefix(labels(target), labels(value)):
                text = (
                    f"the put has [{shown(labels(target))}] and its block [{shown(labels(value))}] "
                    "(they must be the same, in the same order) permute into a temp first"
                )
                self._error("S406", value.place, text)
            return Form("put_block", blocks=[value])
        if holds_block(value):
            text = "an expression of blocks is put (only a block can be) store it in a temp first"
            self._error("S407", value.place, text)
            return None
        if not self.typer.scalar(value, "a put"):
            return None
        return Form("put_scalar", value)


def prefix(first: list[Label], second: list[Label]) -> bool:
    """True if the lists are equal but for simple indices at the end of the longer one."""
    short, long = sorted((first, second), key=len)
    rest = long[len(short) :]
    return long[: len(short)] == short and all(simple(label) for label in rest)


def copies(target: list[Label], block: list[Label]) -> bool:
    """True if a block can be copied to another one, permuted or with simple indices at the end."""
    if prefix(target, block):
        return True
    return Counter(target) == Counter(block) and len(set(target)) == len(target)
