"""Checks the calls of super-instructions."""

from __future__ import annotations

from outboard.sial import tree
from outboard.sial.blocks import BlockRules
from outboard.sial.diagnostics import Note
from outboard.sial.expressions import Typer
from outboard.sial.selectors import check_selector, no_slice
from outboard.sial.symbols import Array, Index

# Super-instructions that take whole arrays of the servers, and that all workers execute together.
SAVES_ARRAY = "blocks_to_list"
RESTORES_ARRAY = "list_to_blocks"
WHOLE_ARRAYS = (SAVES_ARRAY, RESTORES_ARRAY)


def check_execute(one: tree.Execute, rules: BlockRules) -> None:
    """Reports arguments that do not fit the declaration."""
    special = one.special
    if special is None or special.intents is None:
        return
    typer = rules.typer
    wanted, given = len(special.intents), len(one.arguments)
    if wanted != given:
        text = f"`{special.name}` takes {wanted} arguments (this passes {given})"
        typer.error("S702", one.name.place, text, Note("its declaration", special.place))
        return
    for intent, argument in zip(special.intents, one.arguments, strict=True):
        if special.name in WHOLE_ARRAYS and not _is_remote_array(argument):
            text = (
                f"`{special.name}` takes a distributed or served array (it saves or loads all of "
                "its blocks) write its bare name"
            )
            typer.error("S411", argument.place, text, Note("its declaration", special.place))
            return
        _argument(argument, special.name, rules)
        if intent != "r" and (why := _not_writable(argument)):
            text = (
                f"`{special.name}` writes this argument (its intent is {intent}), which is {why} "
                "pass a variable or a block of this worker"
            )
            typer.error("S703", argument.place, text, Note("its declaration", special.place))


def _argument(argument: tree.Expression, name: str, rules: BlockRules) -> None:
    typer = rules.typer
    if isinstance(argument, tree.Reference):
        if check_selector(argument, typer.diagnostics):
            no_slice(argument, typer.diagnostics)
            if argument.region:
                rules.region_bounds(argument)
    elif isinstance(argument, tree.NameUse):
        _whole_array(argument, name, typer)
    else:
        typer.value(argument)


def _whole_array(argument: tree.NameUse, name: str, typer: Typer) -> None:
    array = argument.name.symbol
    if not isinstance(array, Array) or array.storage == "static":
        return
    if array.remote and name in WHOLE_ARRAYS:
        return
    text = (
        f"the whole array `{array.name}` is an argument (it is {array.sort}; only statics are "
        "passed whole) select a block"
    )
    typer.error("S411", argument.place, text)


def _is_remote_array(argument: tree.Expression) -> bool:
    symbol = argument.name.symbol if isinstance(argument, tree.NameUse) else None
    return isinstance(symbol, Array) and symbol.remote


def _not_writable(argument: tree.Expression) -> str | None:
    match argument:
        case tree.Reference() if not argument.wrong and argument.array.remote:
            return f"a block of {argument.array.sort}"
        case tree.NameUse() if isinstance(argument.name.symbol, Index):
            return "an index"
        case tree.IntNumber() | tree.RealNumber() | tree.Text():
            return "a literal"
    return None
