"""One Fortran source of the reference: its argument list, and the documentation of each argument.

The documentation is in Doxygen's form: `\\param[in,out] NAME`, a verbatim block below it, on lines
that start with `*>` (fixed form) or `!>` (free form).
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

FOLDERS = ("SRC", "BLAS/SRC")
_TYPE = re.compile(
    r"\b(?P<type>LOGICAL +(?:FUNCTION|PROCEDURE)|EXTERNAL|CHARACTER|INTEGER|REAL|DOUBLE +PRECISION"
    r"|COMPLEX *\*? *16|DOUBLE +COMPLEX|COMPLEX|LOGICAL)\b(?:\*1)?(?P<array>[ ,]*ARRAYS?\b[ ,]*)?"
)
_TYPE_WITHIN = 100  # characters from the start of the text
_STATEMENT = re.compile(
    r"^\s*(?P<type>[A-Z][A-Z0-9 *]*?)?\s*\b(?P<what>SUBROUTINE|FUNCTION)\s+(?P<name>\w+)\s*"
    r"\(\s*(?P<arguments>[^)]*)\)",
    re.MULTILINE,
)


class SourceError(Exception):
    """The file is missing or not a documented routine."""


@dataclasses.dataclass(frozen=True)
class Documented:
    """The documentation of one argument."""

    name: str  # the name in lower case, like all names here
    direction: str  # one of: in; out; in,out
    text: str  # the whole text, in one line

    @property
    def type(self) -> str:
        """Returns INTEGER, COMPLEX*16, LOGICAL FUNCTION ...; empty if none is named at the
        beginning."""
        match = _TYPE.search(self.text[:_TYPE_WITHIN].upper())
        text = re.sub(r"\s+", " ", match["type"]) if match else ""
        return "COMPLEX*16" if re.fullmatch(r"COMPLEX ?\*? ?16|DOUBLE COMPLEX", text) else text

    @property
    def behind_array(self) -> str | None:
        """Returns the text after `REAL array`; None if the text does not call it an array."""
        match = _TYPE.search(self.text[:_TYPE_WITHIN].upper())
        return self.text[match.end() :] if match and match["array"] else None


@dataclasses.dataclass(frozen=True)
class Reference:
    """A routine of the reference."""

    name: str
    file: str
    arguments: tuple[str, ...]
    result: str  # type of a function; empty for subroutines
    documented: dict[str, Documented]


def _documentation(lines: list[str]) -> dict[str, Documented]:
    found: dict[str, tuple[str, list[str]]] = {}
    text: list[str] | None = None  # the text of the argument in whose block the line is
    for line in lines:
        if line[:2] not in ("*>", "!>"):
            continue
        start = re.match(r"..\s*\\param\s*\[([\w, ]+)\]\s*(\w+)", line)
        if start:
            text = []
            found[start[2].lower()] = (start[1].replace(" ", ""), text)
        elif re.match(r"..\s*\\(?!verbatim)", line):
            text = None
        elif text is not None and "\\verbatim" not in line:
            text.append(line[2:])
    return {
        name: Documented(name, direction, " ".join(" ".join(words).split()))
        for name, (direction, words) in found.items()
    }


def _code(lines: list[str], free_form: bool) -> str:
    """Returns the code without comments, in upper case and without the marks of continued lines."""
    if free_form:
        texts = [line.split("!")[0].rstrip().rstrip("&") for line in lines]
    else:
        texts = [line[6:72] for line in lines if line[:1] not in ("*", "c", "C", "!")]
    return "\n".join(texts).upper()


def _comment(lines: list[str]) -> str:
    """Returns the head comment, whose definition names a function's type in free form, too."""
    return "\n".join(line[1:] for line in lines if line[:1] in ("*", "!")).upper()


def parse(path: Path) -> Reference:
    """Parses a source file. Raises SourceError if it cannot be understood."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    name = path.stem.upper()
    code = next(
        (m for m in _STATEMENT.finditer(_code(lines, path.suffix == ".f90")) if m["name"] == name),
        None,
    )
    if code is None:
        raise SourceError(f"{path.name} defines no subroutine or function {name}")
    result = ""
    if code["what"] == "FUNCTION":
        places = (m for m in _STATEMENT.finditer(_comment(lines)) if m["name"] == name)
        typed = code if code["type"] else next(places, None)
        result = " ".join((typed["type"] or "").split()) if typed else ""
    arguments = tuple(a.strip().lower() for a in code["arguments"].split(",") if a.strip())
    return Reference(path.stem, path.name, arguments, result, _documentation(lines))


def find(root: Path, name: str) -> Path | None:
    """Returns the source of a routine; None if the reference has none."""
    for folder in FOLDERS:
        for suffix in (".f", ".f90"):
            path = root / folder / (name + suffix)
            if path.is_file():
                return path
    return None
