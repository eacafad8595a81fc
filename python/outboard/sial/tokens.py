"""The tokens of SIAL: reserved words, and what messages call the terminals of the grammar."""

from __future__ import annotations

from lark import Token

RESERVED = frozenset(
    """
    sial endsial import proc endproc return call stop do enddo in cycle exit pardo endpardo where
    section endsection if else endif scalar int predefined contiguous sparse static temp local
    distributed served aoindex moindex moaindex mobindex laindex index subindex of special execute
    allocate deallocate create delete destroy get put request prepare prequest collective
    assert_same broadcast_from print println print_index print_scalar print_int sip_barrier
    server_barrier set_persistent restore_persistent gpu_on gpu_off gpu_allocate gpu_free gpu_put
    gpu_get sqrt
    """.split()
)
DECLARATION_WORDS = frozenset(
    """
    scalar int predefined contiguous sparse static temp local distributed served aoindex moindex
    moaindex mobindex laindex index subindex special proc
    """.split()
)
# Words that stand inside of lines.
_INNER_WORDS = frozenset("in of sqrt".split())
STATEMENT_WORDS = sorted(RESERVED - _INNER_WORDS)
# Words of an older dialect that are no reserved words, and today's words.
OLDER_WORDS = {"gpu_begin": "gpu_on", "gpu_end": "gpu_off"}

_CALLED = {
    "ID": "a name",
    "INTEGER": "an integer",
    "REAL": "a number with a point",
    "TEXT": "a string",
    "_LPAR": "`(`",
    "_RPAR": "`)`",
    "_LSQB": "`[`",
    "_RSQB": "`]`",
    "_COMMA": "`,`",
    "_COLON": "`:`",
    "PLUS": "`+`",
    "MINUS": "`-`",
    "STAR": "`*`",
    "SLASH": "`/`",
    "POWER": "`**`",
    "CARET": "`^`",
    "ASSIGN": "`=`",
    "ADD_ASSIGN": "`+=`",
    "SUBTRACT_ASSIGN": "`-=`",
    "MULTIPLY_ASSIGN": "`*=`",
    "LESS": "`<`",
    "LESS_EQUAL": "`<=`",
    "GREATER": "`>`",
    "GREATER_EQUAL": "`>=`",
    "EQUAL": "`==`",
    "NOT_EQUAL": "`!=`",
    "$END": "the end of the line",
}
# More than so many possible tokens say nothing.
_MOST_EXPECTED = 6
_OPERATORS = frozenset("PLUS MINUS STAR SLASH POWER CARET".split())
_OPERANDS = frozenset("ID INTEGER REAL TEXT _LPAR MINUS SQRT".split())


def fold(token: Token) -> Token:
    """Returns an identifier in lower case, as the reserved word that it may be."""
    word = token.lower()
    return token.update(type=word.upper() if word in RESERVED else "ID", value=word)


def expected(terminals: set[str]) -> str:
    """Returns what a message says about the tokens that may stand at a place."""
    left = set(terminals)
    words = []
    if len(left & _OPERANDS) >= 5:
        left -= _OPERANDS
        words.append("an expression")
    if len(left & _OPERATORS) == len(_OPERATORS):
        left -= _OPERATORS
        words.append("an operator")
    words += sorted(_CALLED.get(one, f"`{one.lower()}`") for one in left)
    if len(words) > _MOST_EXPECTED:
        return ""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
