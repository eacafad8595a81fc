"""Recognises statements of other languages, and says what to write in SIAL instead."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from lark import Token

from outboard.sial import tokens

# First words of lines that are statements elsewhere.
_STATEMENTS = {
    "barrier": "write `sip_barrier`",
    "begin": "a program begins with `sial` and its name",
    "break": "write `exit`",
    "continue": "write `cycle`",
    "def": "a procedure is `proc name` .. `endproc name`, without parameters",
    "double": "write `scalar`, or `static` with indices",
    "elif": "nest an `if` below `else`, and end both",
    "elseif": "nest an `if` below `else`, and end both",
    "end": "ends are one word, such as `enddo i` and `endif`",
    "endfor": "a loop is `do i` .. `enddo i`",
    "endfunction": "a procedure is `proc name` .. `endproc name`, without parameters",
    "endprogram": "a program ends with `endsial` and its name",
    "endsubroutine": "a procedure is `proc name` .. `endproc name`, without parameters",
    "endwhile": "a loop is `do i` .. `enddo i`",
    "float": "write `scalar`, or `static` with indices",
    "for": "write `do i` .. `enddo i`; the declaration of `i` has the range",
    "foreach": "write `do i` .. `enddo i`; the declaration of `i` has the range",
    "forall": "write `pardo i, j` .. `endpardo i, j`",
    "function": "a procedure is `proc name` .. `endproc name`, without parameters",
    "integer": "write `int`",
    "printf": "write `print`, with one value",
    "program": "a program begins with `sial` and its name",
    "real": "write `scalar`, or `static` with indices",
    "subroutine": "a procedure is `proc name` .. `endproc name`, without parameters",
    "sync": "write `sip_barrier`",
    "while": "loop over a simple index, and leave it by `exit` under an `if`",
    "write": "write `print`, with one value",
}
# Reserved words in whose place they stand.
_MEANT = {
    "def": "proc",
    "double": "scalar",
    "endfor": "enddo",
    "endfunction": "endproc",
    "endprogram": "endsial",
    "endsubroutine": "endproc",
    "endwhile": "enddo",
    "float": "scalar",
    "for": "do",
    "forall": "pardo",
    "foreach": "do",
    "function": "proc",
    "integer": "int",
    "program": "sial",
    "real": "scalar",
    "subroutine": "proc",
    "while": "do",
}
_COMMENT = "a comment begins with `#`"
_CHARACTERS = {
    "'": 'strings stand between `"`',
    ";": "write one statement per line",
    "!": _COMMENT,
    "%": f"{_COMMENT}, and there is no remainder",
    "&": "there is no `and`: nest two `if`, or write two `where` lines",
    "|": "there is no `or`: write two `if`",
}
_AND_OR = {
    "and": _CHARACTERS["&"],
    "or": _CHARACTERS["|"],
    "not": "there is no `not`: turn the comparison around",
}
_ASSIGNMENTS = frozenset("ASSIGN ADD_ASSIGN SUBTRACT_ASSIGN MULTIPLY_ASSIGN".split())
_COMPARISONS = frozenset("LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL".split())
_ONE_PER_LINE = {
    "GET": "write a `get` for each block",
    "REQUEST": "write a `request` for each block",
    "PRINT": "it takes one value: write a `print` for each",
    "PRINTLN": "it takes one value: write a `print` for each",
    "INT": "write a declaration for each",
    "SCALAR": "write a declaration for each",
}
# The first word decides what a token of these types means behind it.
_OF_FIRST_WORD = {
    ("IF", "ASSIGN"): "equality is `==`",
    ("WHERE", "ASSIGN"): "equality is `==`",
    ("ELSE", "IF"): "write the `if` on the next line, and end both",
    ("DO", "ASSIGN"): "the declaration of an index has its range, such as `index i = 1:10`",
    ("PARDO", "ASSIGN"): "the declaration of an index has its range, such as `index i = 1:10`",
    ("DO", "_COMMA"): "a `do` has one index: nest two",
    ("ENDDO", "_COMMA"): "a `do` has one index: nest two",
    ("DO", "WHERE"): "write `where` on the next line",
    ("PARDO", "WHERE"): "write `where` on the next line",
    ("PARDO", "ID"): "write `,` between the indices",
    ("ENDPARDO", "ID"): "write `,` between the indices",
    ("CALL", "_LPAR"): "a proc has no parameters: it sees all names of the program",
    ("PROC", "_LPAR"): "a proc has no parameters: it sees all names of the program",
    ("EXECUTE", "_LPAR"): "its arguments are parted by blanks, without parentheses around them",
    ("EXECUTE", "_COMMA"): "its arguments are parted by blanks",
}


@dataclass(frozen=True, slots=True)
class Misread:
    """A line that does not parse, and the number of the token at which that shows; its length if
    the line ends too early."""

    line: list[Token]
    at: int

    @property
    def word(self) -> str:
        """The reserved word that the line begins with, or that its author meant; or nothing. With
        it, the ends of other languages and misspelled declarations cause no further errors."""
        first = self.line[0]
        if first.type != "ID":
            return str(first) if str(first) in tokens.RESERVED else ""
        if not self.begins_nothing:
            return ""
        word = f"end{self.line[1]}" if first == "end" and len(self.line) > 1 else str(first)
        word = _MEANT.get(word, word)
        if word in tokens.RESERVED:
            return word
        # An assignment may be refused for another reason, and its name is no misspelled word.
        assigns = _ASSIGNMENTS & {token.type for token in self.line}
        return "" if assigns else _nearest(word)

    def advice(self) -> str:
        """Returns what to write instead, or nothing."""
        first = self.line[0]
        if self.begins_nothing:
            return _first_word(first) or self._of_operator()
        if self.at == 0:
            return _COMMENT if first.type == "SLASH" else ""
        if self.at == len(self.line):
            ends = self.line[-1].type
            bare = first.type in ("IF", "WHERE") and not _COMPARISONS & {
                one.type for one in self.line
            }
            return "compare two values, such as `x > 0.0`" if bare and ends != "MINUS" else ""
        token, before = self.line[self.at], self.line[self.at - 1]
        if first.type == "DO" and before == "while":
            return _STATEMENTS["while"]
        if found := _OF_FIRST_WORD.get((first.type, token.type)):
            return found
        if first.type in _ONE_PER_LINE and (token.type == "_COMMA" or before.type == "TEXT"):
            return _ONE_PER_LINE[first.type]
        return self._of_token(token, before)

    @property
    def begins_nothing(self) -> bool:
        """True if the first word, which is a name, begins no statement like this."""
        return self.line[0].type == "ID" and (self.at == 1 or len(self.line) == 1)

    @property
    def foreign(self) -> bool:
        """True if a word begins the line that is a statement elsewhere. An array may have such a
        name, too."""
        first = self.line[0]
        types = {one.type for one in self.line}
        return first.type == "ID" and first in _STATEMENTS and not types & _ASSIGNMENTS

    def _of_token(self, token: Token, before: Token) -> str:
        condition = self.line[0].type in ("IF", "WHERE")
        if condition and token.type in _COMPARISONS and self.line[1].type == "_LPAR":
            return "write the comparison without parentheses around it"
        if condition and token == "then":
            return "a condition ends with its line"
        if condition and (token in _AND_OR or before == "not"):
            return _AND_OR[str(before if before == "not" else token)]
        if token.type == before.type == "SLASH":
            return _COMMENT
        touches = token.start_pos == before.end_pos
        if before.type == "INTEGER" and token.type == "ID" and token[0] in "ed" and touches:
            return f"a number with an exponent has a point: `{before}.0{token}..`"
        if self.line[0].type.endswith("INDEX") and token.type in ("PLUS", "MINUS", "STAR", "SLASH"):
            return "a bound is a number or a predefined int"
        return ""

    def _of_operator(self) -> str:
        """Says what a statement that begins with the name of a variable has."""
        types = [one.type for one in self.line[1:3]]
        if types in (["PLUS", "PLUS"], ["MINUS", "MINUS"]):
            return f"write `{self.line[0]} {self.line[1]}= 1`, or `1.0` for a scalar"
        return "an assignment has `=`" if types[:1] in (["EQUAL"], ["_COLON"]) else ""


def of_character(character: str) -> str:
    """Returns what to write in place of a character that no token begins with."""
    return _CHARACTERS.get(character, "remove it")


def _first_word(word: Token) -> str:
    if found := _STATEMENTS.get(word):
        return found
    near = _nearest(word)
    return f"did you mean `{near}`?" if near else ""


def _nearest(word: str) -> str:
    near = difflib.get_close_matches(word, tokens.STATEMENT_WORDS, 1, cutoff=0.75)
    return near[0] if near and word not in _STATEMENTS else ""
