"""The extents of an array in the documentation: `dimension (LDA, ka), where ka is k when ...`."""

from __future__ import annotations

import contextlib
import dataclasses
import re

from reference_docs.prose import ProseError, Reader
from reference_docs.source_file import Documented


@dataclasses.dataclass(frozen=True)
class Extents:
    """One form of an array: its extents in Python, and the condition (as in Statement)."""

    condition: str
    extents: tuple[str, ...]


class _Dimensions(Reader):
    def read(self) -> list[Extents]:
        found = [self._alternative()]
        while True:
            start = self.at
            self.skip(",", ";", "OR", "AND")
            self.take("AT", "LEAST")
            with contextlib.suppress(ProseError):
                following = self._alternative()
                is_another = following.condition != "True"
                if is_another and len(following.extents) == len(found[0].extents):
                    found.append(following)
                    continue
            self.at = start
            break
        # `(LDU,UCOL) (LDU,M) if JOBU = 'A'`: the first is a heading of the others.
        return found[1:] if len(found) > 1 and found[0].condition == "True" else found

    def _alternative(self) -> Extents:
        if not self.take("("):
            raise self.fail()
        extents = [self.expression()]
        while self.take(","):
            extents.append(self.expression())
        if not self.take(")"):
            raise self.fail()
        # There is more than one pair of parentheses, or a product begins with one: `(1+N)*2`.
        if self.peek() in ("*", "/", "+", "-"):
            raise self.fail()
        return Extents(self._condition(), tuple(extents))

    def _condition(self) -> str:
        if self.take("OTHERWISE"):
            return "otherwise"
        start = self.at
        if self.take("IF") or self.take("WHEN"):
            with contextlib.suppress(ProseError):
                condition = self.condition()
                # In `(LDA,N) If FACT = 'F', then A ...` the condition belongs to the next sentence.
                if self.peek() not in (",", "THEN") or self.peek(1) in ("(", "OR", "AND"):
                    return condition
            self.at = start
        return "True"


def parse(documented: Documented) -> list[Extents]:
    """Returns all forms; empty if the argument is no array. Raises ProseError if they cannot be
    read."""
    text = documented.behind_array
    if text is None:
        return []
    match = re.match(r"(?:of )?(?:dimension|size)\b:?", text, re.IGNORECASE)
    if not match:
        raise ProseError(f"no dimension is named in '{text[:40]}'")
    reader = _Dimensions(text[match.end() :])
    reader.take("AT", "LEAST")
    return reader.read()
