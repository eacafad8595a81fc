"""Reads TOML tables with checks. Every complaint names its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class TableError(Exception):
    """A row cannot be used. The message names the file, the row and the correct form."""


class Table:
    """One TOML table and its place in the file."""

    def __init__(self, where: str, data: Mapping[str, Any]) -> None:
        self.where = where
        self.data = data

    def fail(self, problem: str) -> TableError:
        return TableError(f"{self.where}: {problem}")

    def only(self, known: Iterable[str]) -> None:
        unknown = sorted(set(self.data) - set(known))
        if unknown:
            raise self.fail(f"unknown key '{unknown[0]}' (known: {', '.join(sorted(known))})")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if value is None:
            raise self.fail(f"key '{key}' is missing")
        if not isinstance(value, str):
            raise self.fail(f"key '{key}' must be a string, not {value!r}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.fail(f"key '{key}' must be a list of strings, not {value!r}")
        return tuple(value)

    def choice(self, key: str, known: Iterable[str], default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in known:
            raise self.fail(f"{key} '{value}' is unknown (known: {', '.join(known)})")
        return value

    def truth(self, key: str) -> bool:
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            raise self.fail(f"key '{key}' must be true or false, not {value!r}")
        return value

    def mapping(self, key: str) -> dict[str, str]:
        """Returns a table of strings; empty if the key is absent."""
        value = self.data.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise self.fail(f"key '{key}' must be a table of strings, not {value!r}")
        return dict(value)
