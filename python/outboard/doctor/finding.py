"""The result of a check."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum


class Level(StrEnum):
    """The severity of a finding. Only a problem changes the exit status."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One line of the table: the observation, its consequence, and the advice."""

    check: str
    level: Level
    text: str
    advice: str = ""

    def as_json(self, group: str) -> dict[str, str]:
        return {"group": group, **asdict(self)}


def ok(check: str, text: str) -> Finding:
    return Finding(check, Level.OK, text)


def note(check: str, text: str, advice: str = "") -> Finding:
    return Finding(check, Level.NOTE, text, advice)


def problem(check: str, text: str, advice: str) -> Finding:
    return Finding(check, Level.PROBLEM, text, advice)


def some(names: list[str], most: int = 3) -> str:
    """Returns the first of `names` and the number of the others, as text."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
