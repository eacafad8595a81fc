"""The rows of settings/settings.toml: every environment variable that Outboard reads.

This module imports only the standard library, because the emitters in codegen/ read the table with
it.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

READERS = (
    "library", "command line", "daemon", "launcher", "tests", "examples", "overlap library",
)  # fmt: skip
TYPES = (
    "addresses",
    "choice",
    "count",
    "devices",
    "file",
    "flag",
    "folder",
    "folder or off",
    "folders",
    "part",
    "patterns",
    "report",
    "size",
    "strict flag",
)


class TableError(Exception):
    """A row that breaks the rules of settings/SCHEMA.md."""


@dataclass(frozen=True)
class Row:
    """One setting. settings/SCHEMA.md explains the fields."""

    name: str
    variable: str
    type: str
    readers: tuple[str, ...]
    doc: str
    older_variable: str = ""
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    min: int = 0
    max: int = 0
    default: str = ""
    wrong: str = ""
    wrong_default: str = ""
    write: str = ""
    reaches_server: bool = False
    option: str = ""
    help: str = ""
    metavar: str = ""
    help_default: str = ""
    doc_default: str = ""

    @property
    def variables(self) -> tuple[str, ...]:
        """Returns both spellings of the variable, the preferred one first."""
        return (self.variable, self.older_variable) if self.older_variable else (self.variable,)

    @property
    def of_library(self) -> bool:
        return "library" in self.readers

    @property
    def used_instead(self) -> str:
        """Returns the value that replaces a wrong one."""
        return self.wrong_default or self.default


def locate() -> Path:
    """Returns the table of the checkout that holds this module, else that of the installed
    package."""
    here = Path(__file__).resolve()
    checkout = here.parents[2] / "settings" / "settings.toml"
    if checkout.is_file():
        return checkout
    return here.parent / "_native" / "share" / "outboard" / "settings.toml"


def load(file: Path) -> tuple[Row, ...]:
    """Returns the rows of `file`, in its order. Raises TableError, OSError or
    tomllib.TOMLDecodeError."""
    with file.open("rb") as table:
        rows = tuple(_row(entry) for entry in tomllib.load(table).get("setting", []))
    for attribute in ("name", "variable", "option"):
        seen = [value for row in rows if (value := getattr(row, attribute))]
        for value in {value for value in seen if seen.count(value) > 1}:
            raise TableError(f"{value} stands in two rows")
    return rows


@functools.cache
def rows() -> tuple[Row, ...]:
    """Returns the rows of Outboard's own table."""
    return load(locate())


@functools.cache
def row(name: str) -> Row:
    """Returns the row of the setting `name`, which must exist."""
    return next(row for row in rows() if row.name == name)


def _row(entry: dict[str, Any]) -> Row:
    name = entry.get("name", "a row without a name")
    known = {field.name for field in fields(Row)}
    if unknown := sorted(entry.keys() - known):
        raise TableError(f"{name}: there is no key {unknown[0]}")
    lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
    try:
        result = Row(**{**entry, **lists})
    except TypeError as error:
        raise TableError(f"{name}: a key is missing ({error})") from error
    if why := _problem(result):
        raise TableError(f"{name}: {why}")
    return result


def _problem(row: Row) -> str | None:
    """Returns the rule that `row` breaks."""
    if row.type not in TYPES:
        return f"'{row.type}' is no type"
    if not row.readers or not set(row.readers) <= set(READERS):
        return f"its readers are not among {', '.join(READERS)}"
    if (row.type == "choice") != bool(row.choices):
        return "a choice, and nothing else, has choices"
    if row.choices and row.default not in row.choices:
        return "its default is not among its choices"
    if row.option and not row.help:
        return "its option has no help"
    if row.min > row.max:
        return "its bounds exclude everything"
    return None
