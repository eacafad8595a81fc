"""Diagnostics of the compiler: what is wrong, where, why, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outboard.sial.source import Place, Source


@dataclass(frozen=True, slots=True)
class Note:
    """A related place."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error (S) or a warning (W) of codes.py. The text is worded: problem (why) suggestion."""

    code: str
    place: Place
    text: str
    notes: tuple[Note, ...] = ()

    @property
    def warning(self) -> bool:
        return self.code.startswith("W")


class Diagnostics:
    """Collects the diagnostics of one compilation. A code is reported once per place."""

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self._found: dict[tuple[str, Place], Diagnostic] = {}
        self.errors = 0

    def add(self, code: str, place: Place, text: str, *notes: Note) -> None:
        """Reports `text` unless `code` was reported at this place before."""
        key = (code, place)
        if key in self._found:
            return
        self._found[key] = Diagnostic(code, place, text, notes)
        if self._strict or not code.startswith("W"):
            self.errors += 1

    def __iter__(self) -> Iterator[Diagnostic]:
        """Yields the diagnostics in the order of the sources."""
        order = sorted(
            self._found.values(),
            key=lambda one: (one.place.source, one.place.line, one.place.column, one.code),
        )
        return iter(order)

    def render(self, sources: Sequence[Source]) -> str:
        """Returns all diagnostics as text, with the lines that they concern."""
        return "".join(_render(one, sources, strict=self._strict) for one in self)


def _render(one: Diagnostic, sources: Sequence[Source], *, strict: bool) -> str:
    word = "warning" if one.warning and not strict else "error"
    text = f"{_where(one.place, sources)}: {word} {one.code}: {one.text}\n"
    text += _excerpt(one.place, sources)
    for note in one.notes:
        text += f"{_where(note.place, sources)}: note: {note.text}\n"
        text += _excerpt(note.place, sources)
    return text


def _where(place: Place, sources: Sequence[Source]) -> str:
    return f"{sources[place.source].name}:{place.line}:{place.column}"


def _excerpt(place: Place, sources: Sequence[Source]) -> str:
    line = sources[place.source].line(place.line)
    # The caret stands below its character in a terminal, also behind tabs.
    before = "".join("\t" if one == "\t" else " " for one in line[: place.column - 1])
    mark = "^" + "~" * (min(place.length, max(len(line) - place.column + 1, 1)) - 1)
    return f"  {line}\n  {before}{mark}\n"
