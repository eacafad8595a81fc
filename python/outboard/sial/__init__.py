"""The compiler of SIAL, the language of programs over blocks (docs/sial/language.md).

Each phase is a module, and passes its result to the next one: modules (files and imports) -> parse
(lexer, grammar, lines) -> structure (nested statements) -> names -> expressions and blocks (types)
-> binding, parallel, flow (rules through calls) -> emit (byte code).
"""
