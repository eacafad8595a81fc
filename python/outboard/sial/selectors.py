"""Rules of selectors and regions: their number of indices, the kinds, slices."""

from __future__ import annotations

from outboard.sial import tree
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.symbols import Index

# A label of a block: an index, and whether the cast makes it simple.
Label = tuple[Index, bool]


def labels(block: tree.Reference) -> list[Label]:
    """Returns the labels of a block whose names were found."""
    return [(item.selected, item.cast) for item in block.items]


def simple(label: Label) -> bool:
    """True if this axis has one element."""
    return label[1] or label[0].simple


def element(block: tree.Expression) -> bool:
    """True for a block that has one element by its indices."""
    return (
        isinstance(block, tree.Reference)
        and not block.wrong
        and not block.region
        and all(simple(label) for label in labels(block))
    )


def shown(parts: list[Label]) -> str:
    """Returns a list of indices as text."""
    return ", ".join(f"(index) {one.name}" if cast else one.name for one, cast in parts)


def counted(indices: list[Index]) -> str:
    """Returns the number of indices as text."""
    return "1 index" if len(indices) == 1 else f"{len(indices)} indices"


def check_form(block: tree.Reference, diagnostics: Diagnostics) -> None:
    """Reports positions between the brackets that are neither indices nor ranges."""
    name = block.name
    if block.parentheses:
        text = f"`{name.text}(..)` is an older spelling (it is accepted) write `{name.text}[..]`"
        diagnostics.add("W01", name.place, text)
    ranges = [item for item in block.items if item.upper is not None]
    if ranges and len(ranges) < len(block.items):
        text = "some positions are ranges and others are not (a region has a range in each)"
        block.wrong = True
        diagnostics.add("S003", block.place, text)
        return
    for item in block.items:
        if item.upper is None and item.index is None and not item.star:
            text = (
                "a position of a selector holds an expression (a selector names whole segments) "
                "write the name of an index"
            )
            block.wrong = True
            diagnostics.add("S003", item.place, text)
            return


def check_selector(block: tree.Reference, diagnostics: Diagnostics) -> bool:
    """Reports a selector that does not fit its array. Returns true if it fits."""
    if block.wrong:
        return False
    array = block.array
    note = Note("its declaration", array.place)
    if array.contiguous != block.region:
        text = (
            f"`{array.name}` is contiguous (regions select it) write ranges `lower:upper`"
            if array.contiguous
            else f"`{array.name}` is not contiguous (only contiguous locals have regions) write "
            "indices"
        )
        return _wrong(block, diagnostics, "S409", text, note)
    if len(block.items) != len(array.indices):
        text = f"`{array.name}` has {counted(array.indices)} (this selects with {len(block.items)})"
        return _wrong(block, diagnostics, "S305", text, note)
    if block.region:
        return True
    for item, declared in zip(block.items, array.indices, strict=True):
        if item.star:  # of an allocate
            continue
        used, cast = item.selected, item.cast
        if cast:
            fits = declared.simple
        else:
            fits = used.simple == declared.simple and used.kind == declared.kind
            fits = fits and not (declared.parent and not used.parent)
            block.slice |= fits and bool(used.parent and not declared.parent)
        if not fits:
            kind = "a simple index" if cast else _kind(used)
            text = (
                f"`{item.index.text if item.index else ''}` is {kind} (`{array.name}` has "
                f"{_kind(declared)} here, `{declared.name}`)"
            )
            if declared.simple and not cast:
                text += f" write `(index) {used.name}` for its number"
            return _wrong(block, diagnostics, "S306", text, note, item)
    return True


def no_slice(block: tree.Reference, diagnostics: Diagnostics) -> None:
    """Reports a slice where only whole blocks may stand."""
    if block.slice and not block.wrong:
        text = (
            f"`{block.name.text}` is selected by subindices (only `=` between a block of the "
            "subindices and a slice takes that) copy the slice first"
        )
        _wrong(block, diagnostics, "S508", text, None)


def _kind(index: Index) -> str:
    if index.simple:
        return "a simple index"
    return f"a {'subindex' if index.parent else 'segmented index'} of {index.kind}"


def _wrong(
    block: tree.Reference,
    diagnostics: Diagnostics,
    code: str,
    text: str,
    note: Note | None,
    item: tree.Item | None = None,
) -> bool:
    block.wrong = True
    place = item.place if item else block.place
    diagnostics.add(code, place, text, *([note] if note else []))
    return False
