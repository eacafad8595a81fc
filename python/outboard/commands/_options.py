"""What commands share: the options for settings of the drop-in library, from their table, and
checks of files."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from outboard import settings_table, values
from outboard.settings import Settings
from outboard.settings_table import Row

Function = Callable[..., Any]


def library_options(function: Function) -> Function:
    """Adds an option for each row of the table. `function` gets all their values as `settings`."""
    rows = [row for row in settings_table.rows() if row.option]

    @functools.wraps(function)
    def with_settings(**given: Any) -> Any:
        chosen = {row.name: given.pop(row.name) for row in rows}
        return function(settings=Settings(**chosen), **given)

    for row in reversed(rows):
        option(row)(with_settings)
    return with_settings


def option(row: Row) -> Callable[[Function], Function]:
    """Returns the click option of `row`."""
    attributes: dict[str, Any] = {"help": _help(row), "metavar": row.metavar or None}
    if "flag" in row.type:
        attributes["is_flag"] = True
    else:
        attributes["type"] = _TYPES[row.type](row)
    return click.option(row.option, row.name, **attributes)


def _help(row: Row) -> str:
    return f"{row.help}  [default: {row.help_default}]" if row.help_default else row.help


_TYPES: dict[str, Callable[[Row], click.ParamType[Any] | type[str]]] = {
    "addresses": lambda row: values.Servers(),
    "choice": lambda row: click.Choice(row.choices),
    "count": lambda row: click.IntRange(row.min, row.max),
    "devices": lambda row: values.Devices(),
    "folder": lambda row: click.Path(exists=True, file_okay=False, resolve_path=True),
    "folder or off": lambda row: values.ProfileFolder(),
    "part": lambda row: values.Share(),
    "patterns": lambda row: str,
    "size": lambda row: values.ResidentSize(),
}


def check_writable(file: Path) -> None:
    """Checks that `file` can be written before the command runs, because the command may run for
    hours."""
    folder = file.absolute().parent
    if not os.access(folder, os.W_OK) or file.is_dir():
        raise click.UsageError(f"cannot write {file} (no such folder, or not ours to write)")
