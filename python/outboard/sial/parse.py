"""Cuts a source into tokens and parses each of its lines alone."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import resources
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedToken

from outboard.sial import tokens
from outboard.sial.advice import Misread, of_character
from outboard.sial.build import Builder
from outboard.sial.build_expressions import TooDeepError
from outboard.sial.diagnostics import Diagnostics
from outboard.sial.lines import Parsed, Unreadable
from outboard.sial.source import Source
from outboard.sial.tree import Declaration, Statement


@functools.cache
def _parser() -> tuple[Lark, Builder]:
    grammar = resources.files("outboard.sial").joinpath("grammar.lark").read_text("utf-8")
    words = " ".join(sorted(word.upper() for word in tokens.RESERVED))
    builder = Builder()
    parser = Lark(
        f"{grammar}\n%declare {words}\n",
        parser="lalr",
        lexer="basic",  # the contextual one would take reserved words for names
        start=["line", "unreadable"],
        lexer_callbacks={"ID": tokens.fold},
        transformer=builder,
        maybe_placeholders=False,
    )
    return parser, builder


def parse(source: Source, diagnostics: Diagnostics) -> list[Parsed]:
    """Returns the lines of `source` that are not empty, each as a node."""
    parser, builder = _parser()
    builder.source, builder.diagnostics = source, diagnostics
    return [_parse_line(parser, builder, line) for line in _lines(parser, source.text)]


def _lines(parser: Lark, text: str) -> Iterator[list[Token]]:
    line: list[Token] = []
    for token in parser.lex(text):
        if token.type != "EOL":
            line.append(token)
        elif line:
            yield line
            line = []
    if line:
        yield line


def _parse_line(parser: Lark, builder: Builder, line: list[Token]) -> Parsed:
    before = builder.diagnostics.errors
    at = 1
    if Misread(line, at).foreign:
        _unexpected(builder, Misread(line, at), set())
    elif not _refused(builder, line):
        at = 0
        state: Any = parser.parse_interactive(start="line")
        try:
            for token in line:
                state.feed_token(token)
                at += 1
            node = state.feed_eof(line[-1])
            if builder.diagnostics.errors > before and isinstance(node, Declaration | Statement):
                node.broken = True
            assert isinstance(node, Parsed)
            return node
        except UnexpectedToken:
            _unexpected(builder, Misread(line, at), state.accepts())
        except TooDeepError:
            pass
    return _unreadable(builder, Misread(line, at))


def _refused(builder: Builder, line: list[Token]) -> bool:
    """Reports what the grammar need not see. Turns words of an older dialect into today's."""
    for token in line:
        if token.type == "BAD_CHARACTER":
            builder.diagnostics.add(
                "S001",
                builder.place(token),
                f"{_shown(token)} begins no token (outside of comments and strings SIAL has "
                f"letters, digits and operators) {of_character(token)}",
            )
            return True
        if token.type == "OPEN_TEXT":
            builder.diagnostics.add(
                "S002",
                builder.place(token),
                'the string does not end in its line (a string ends with `"`) add the quote',
            )
            return True
    first = line[0]
    if first.type == "PREQUEST":
        builder.diagnostics.add(
            "S008",
            builder.place(first),
            "`prequest` does not exist (the runtime fetches blocks ahead by itself) remove it or "
            "write `request`",
        )
        return True
    if first in tokens.OLDER_WORDS and len(line) == 1:
        word = tokens.OLDER_WORDS[str(first)]
        builder.older(first, f"`{first}`", f"`{word}`")
        line[0] = first.update(type=word.upper(), value=word)
    return False


def _shown(character: str) -> str:
    return f"`{character}`" if character.isprintable() else f"the character U+{ord(character):04X}"


def _unexpected(builder: Builder, misread: Misread, accepted: set[str]) -> None:
    line, at = misread.line, misread.at
    token = line[at] if at < len(line) else None
    if token is None:
        last = line[-1]
        assert last.end_pos is not None
        place = builder.source.place(last.end_pos)
    else:
        place = builder.place(token)
    if misread.begins_nothing or (at == 0 and line[0].type == "ID"):
        why = f"`{line[0]}` begins no statement"
    elif token is not None and token.lower() in tokens.RESERVED and "ID" in accepted:
        why = f"`{token}` is a reserved word and no name"
    elif could := tokens.expected(accepted):
        why = f"expected {could}"
    else:
        why = "no statement goes on like this"
    what = "the line ends too early" if token is None else f"unexpected `{token}`"
    builder.diagnostics.add("S003", place, f"{what} ({why}) {misread.advice()}".rstrip())


def _unreadable(builder: Builder, misread: Misread) -> Unreadable:
    first, *others = misread.line
    node = Unreadable(misread.word, builder.place(first))
    # `double precision x` declares x.
    names = [token for token in others if token.type == "ID" and token != "precision"]
    if names:
        node.name = builder.make_name(names[0])
    return node
