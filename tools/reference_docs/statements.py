"""Finds the documentation's statements about a quantity: `LDU >= 1; if JOBU = 'A', LDU >= M`."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable

from reference_docs.prose import WORDS, ProseError, Reader

# Advice for good performance, and notes about workspace queries, do not define legal values.
_ADVICE = re.compile(
    r",?\s*(and\s+)?(for|to get) (good|optim\w*|best|better|maximum) [^.]*\.?"
    r"|if L\w*WORK\s*=\s*-1[^.]*\.?|for L\w*WORK\s*[<>][^.]*\.?"
    r"|(the block(ed)? algorithm|note|however|as long as)\b[^.]*\.?",
    re.IGNORECASE,
)
_UNREFERENCED = re.compile(
    r"(?:\b(?:THE ARRAY )?(?P<subject>\w+) (?:IS|ARE) )?NOT (?:REFERENCED|ACCESSED)"
)

Evaluate = Callable[[str], object]


def without_advice(text: str) -> str:
    return _ADVICE.sub(" ", text)


@dataclasses.dataclass(frozen=True)
class Statement:
    """A statement that `value` holds under `condition`: Python, `True`, or `otherwise`."""

    condition: str
    value: str


def largest(statements: list[Statement], evaluate: Evaluate) -> int | None:
    """Returns the largest value of all statements that hold; None if none does."""
    values: list[int] = []
    one_held = False
    for statement in statements:
        if statement.condition == "otherwise":
            holds = not one_held
        else:
            holds = bool(evaluate(statement.condition))
            one_held = one_held or (holds and statement.condition != "True")
        if holds:
            values.append(int(str(evaluate(statement.value))))
    return max(values, default=None)


class _Statements(Reader):
    """Collects the statements of a text about `subject`."""

    def __init__(self, text: str, subject: str, relations: tuple[tuple[str, ...], ...]) -> None:
        super().__init__(text)
        self.subject = subject.upper()
        self.stop = (self.subject,)
        self.relations = relations
        self.is_loose = False  # True: values that cannot be read are ignored
        self.found: list[Statement] = []
        self.pending = "True"

    def read(self) -> list[Statement]:
        while not self.is_done:
            if self.take("IF") or self.take("WHEN"):
                self._prefix()
            elif self.take("OTHERWISE") or self.take("ELSE"):
                self._otherwise()
            elif self._subject():
                self._value()
            else:
                if self.peek() == ".":
                    self.pending = "True"
                self.at += 1
        return self.found

    def _subject(self) -> bool:
        """Steps over `LDA >=`; before a further value also over `and is`, `and at least`."""
        start = self.at
        if self.take(self.subject) or (self.found and self.take("AND") and self.peek() == "IS"):
            for relation in self.relations:
                if self.take(*relation):
                    return True
        self.at = start
        return False

    def _prefix(self) -> None:
        try:
            self.pending = self.condition()
        except ProseError:
            self.pending = "True"
            return
        self.skip(",", ";", ":", "THEN")

    def _otherwise(self) -> None:
        self.pending = "otherwise"
        self.skip(",", ":")
        if self.kind() == "number" and self.found:
            self._value()
        elif self.kind() == "name" and self.peek(1) == "IS" and self.peek(2) == "NOT":
            self.found.append(Statement("otherwise", "0"))  # `WORK is not referenced`

    def _value(self) -> None:
        try:
            value = self.expression()
            if self.is_loose and self.kind() == "name" and self.peek() not in WORDS:
                raise self.fail()  # `A is returned in ...`
        except ProseError:
            if self.is_loose:
                return
            raise
        suffix = self._suffix()
        self.found.append(Statement(suffix or self.pending, value))
        self.pending = "True"

    def _suffix(self) -> str:
        """Reads a condition after the value. It is empty if it belongs to the next value: `1, if A,
        LDA >= 2`."""
        start = self.at
        self.skip(",")
        if self.take("OTHERWISE") and self.peek() in ("", ".", ";", ")"):
            return "otherwise"
        self.at = start
        self.skip(",")
        has_comma = self.at > start
        if self.take("IF") or self.take("WHEN"):
            with contextlib.suppress(ProseError):
                condition = self.condition()
                behind = self.at
                self.skip(",", "THEN")
                if not (has_comma and self._subject()):
                    self.at = behind
                    return condition
        self.at = start
        return ""


def bounds(text: str, subject: str) -> list[Statement]:
    """Returns the least legal values of an integer argument. Raises ProseError."""
    relations = (
        (">=",),
        ("MUST", "BE", "AT", "LEAST"),
        ("IS", "AT", "LEAST"),
        ("MUST", "BE", ">="),
    )
    return _Statements(without_advice(text), subject, relations).read()


def definitions(text: str, name: str) -> list[Statement]:
    """Returns the definitions of a name that is no argument: `where MN = min(M,N)`."""
    reader = _Statements(text, name, (("=",), ("IS",), (">=",)))
    reader.is_loose = True
    return reader.read()


def unreferenced(text: str, name: str) -> list[str]:
    """Returns the conditions under which the documentation says that an argument is not
    referenced."""
    found = []
    for sentence in re.split(r"[.;](?=\s|$)", " ".join(text.upper().split())):
        match = _UNREFERENCED.search(sentence)
        if not match or (match["subject"] or "IT") not in (name.upper(), "IT"):
            continue
        before, behind = sentence[: match.start()], sentence[match.end() :].strip()
        if before.endswith(" OF "):
            continue  # `the strictly lower triangular part of A is not referenced`
        is_suffix = behind.startswith(("IF ", "WHEN "))
        words = re.split(r"\b(?:IF|WHEN)\b", behind if is_suffix else before)
        if len(words) < 2:
            continue
        reader = Reader(words[1] if is_suffix else words[-1])
        with contextlib.suppress(ProseError):
            condition = reader.condition()
            reader.skip(",", "THEN")
            if is_suffix or reader.is_done:
                found.append(condition)
    return found
