"""Reads the arithmetic and the conditions in the prose of the reference's documentation.

`max(1,3*N-1)` becomes the Python expression `max(1,3*n-1)`, and `JOBZ = 'V' and N > 1` becomes
`(jobz in ('V',)) and (n>1)`. Both sides of a comparison are then evaluated in the same way.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Container

_TOKEN = re.compile(
    r"(?P<number>\d+)|(?P<name>[A-Z_]\w*)|'(?P<character>[A-Z0-9])'|\"(?P<quoted>[A-Z0-9])\""
    r"|(?P<operator>\*\*|> ?=|< ?=|/=|==|[-+*/(),;:.<>=])|(?P<other>\S)"
)
FUNCTIONS = ("MIN", "MAX", "ABS")
_COMPARISONS = {">=": ">=", "<=": "<=", ">": ">", "<": "<", "=": "==", "==": "==", "/=": "!="}
WORDS = {"IF", "WHEN", "AND", "OR", "OTHERWISE", "ELSE", "THEN", "IS", "WHERE", "ON", "MUST"}


class ProseError(Exception):
    """The text has none of the known forms."""


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str  # number, name, character, operator, other
    text: str


def tokens(text: str) -> list[Token]:
    """Returns words, numbers, quoted characters and signs, in upper case."""
    result = []
    for match in _TOKEN.finditer(text.upper()):
        kind = "character" if match.lastgroup == "quoted" else str(match.lastgroup)
        result.append(Token(kind, match[str(match.lastgroup)].replace(" ", "")))
    return result


class Reader:
    """A position in a text. Methods that read return Python, or raise ProseError and do not
    move."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.at = 0
        self.stop: Container[str] = ()  # names that begin no condition: the subject of the sentence

    def peek(self, ahead: int = 0) -> str:
        """Returns the token as text. A quoted character has its quotes. After the end the text is
        empty."""
        if self.at + ahead >= len(self.tokens):
            return ""
        token = self.tokens[self.at + ahead]
        return f"'{token.text}'" if token.kind == "character" else token.text

    def kind(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at].kind if at < len(self.tokens) else ""

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.tokens)

    def take(self, *words: str) -> bool:
        """Steps over these tokens if all of them follow."""
        if all(self.peek(i) == word for i, word in enumerate(words)):
            self.at += len(words)
            return True
        return False

    def skip(self, *words: str) -> None:
        while self.peek() in words and not self.is_done:
            self.at += 1

    def fail(self) -> ProseError:
        near = " ".join(t.text for t in self.tokens[self.at : self.at + 8])
        return ProseError(f"'{near}' cannot be read")

    # Arithmetic

    def expression(self) -> str:
        start = self.at
        try:
            return self._sum()
        except ProseError:
            self.at = start
            raise

    def _sum(self) -> str:
        result = self._product()
        while self.peek() in ("+", "-"):
            sign = self.peek()
            self.at += 1
            result += f"{sign}{self._product()}"
        return result

    def _product(self) -> str:
        result = self._power()
        while self.peek() in ("*", "/"):
            sign = "//" if self.peek() == "/" else "*"
            self.at += 1
            result += f"{sign}{self._power()}"
        return result

    def _power(self) -> str:
        result = self._primary()
        if self.take("**"):
            result = f"{result}**{self._primary()}"
        return result

    def _primary(self) -> str:
        if self.take("("):
            inner = self._sum()
            if not self.take(")"):
                raise self.fail()
            return f"({inner})"
        kind, text = self.kind(), self.peek()
        if kind == "number":
            self.at += 1
            return text
        if kind != "name" or text in WORDS:
            raise self.fail()
        self.at += 1
        if text == "LG":  # the documentation's word for the logarithm, rounded up
            return f"lg({self._primary()})"
        if text not in FUNCTIONS:
            return text.lower()
        if not self.take("("):
            raise self.fail()
        values = [self._sum()]
        while self.take(","):
            values.append(self._sum())
        if not self.take(")"):
            raise self.fail()
        return f"{text.lower()}({','.join(values)})"

    # Conditions

    def condition(self) -> str:
        """Reads `A = 'X' or 'Y' and N > 1`, in which `and` binds closer than `or`."""
        alternatives = [[self._atom()]]
        while True:
            start = self.at
            self.skip(",")
            word = self.peek()
            self.at += 1
            try:
                if word not in ("AND", "OR"):
                    raise self.fail()
                atom = self._atom()
            except ProseError:
                self.at = start
                break
            if word == "AND":
                alternatives[-1].append(atom)
            else:
                alternatives.append([atom])
        return " or ".join(f"({' and '.join(atoms)})" for atoms in alternatives)

    def _atom(self) -> str:
        start = self.at
        try:
            if self.peek() in self.stop:
                raise self.fail()
            if self.kind() == "name" and self.peek(1) == "=" and self.kind(2) == "character":
                return self._flag()
            left = self._sum()
            sign = _COMPARISONS.get(self.peek())
            if sign is None:
                raise self.fail()
            self.at += 1
            return f"({left}{sign}{self._sum()})"
        except ProseError:
            self.at = start
            raise

    def _flag(self) -> str:
        name = self.peek().lower()
        self.at += 2
        values = [self.peek()]
        self.at += 1
        while True:
            step = 2 if self.peek() == "," and self.peek(1) in ("OR",) else 1
            is_next = self.peek() in (",", "OR") and self.kind(step) == "character"
            if not is_next:
                return f"({name} in ({','.join(values)},))"
            self.at += step
            values.append(self.peek())
            self.at += 1
