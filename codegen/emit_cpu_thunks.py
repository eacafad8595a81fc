"""Emits src/backend/cpu/thunk.hpp: calls from the normal form to Fortran symbols (LP64)."""

from __future__ import annotations

import dataclasses

import emit
import expressions
import table
from arguments import Argument

_HEAD = """
#include <complex>
#include <cstddef>

#include "backend/cpu/thunk.hpp"
#include "routines/expression.hpp"
#include "routines/thunk_support.hpp"

// The library writes operands through pointers taken from Argument::host.data. It does not change
// scalars, flags and dimensions, which are passed by address. Hidden lengths of CHARACTER arguments
// come last (gfortran's rule); all are 1. Names of rows are lower-case, so A never hides one.

namespace ob::cpu {
namespace {

using namespace expression;
using namespace thunk_support;
"""

# Type of a row -> C++ type in a thunk of element type T. Fortran's LOGICAL is as wide as INTEGER.
_TYPES = {
    "element": "T",
    "real": "real_t<T>",
    "double": "double",
    "integer": "Integer",
    "logical": "Integer",
}


@dataclasses.dataclass
class _Piece:
    """The parts that one argument adds to a thunk."""

    declarations: list[str]
    types: list[str]
    values: list[str]


def _rename(routine: table.Routine) -> expressions.Rename:
    def rename(name: str) -> str:
        argument = routine.argument(name)
        return f"A[{argument.index}].{'flag' if argument.is_flag else 'dim'}"

    return rename


def _integer(routine: table.Routine, text: str) -> str:
    return expressions.translate(text, routine.scope(), _rename(routine), "integer")


def _value(argument: Argument) -> _Piece:
    """Returns the parts for flags, dimensions and scalars."""
    name, at = argument.name, f"A[{argument.index}]"
    if argument.kind == "flag":
        return _Piece([], ["const char*"], [f"&{at}.flag"])
    if argument.kind == "dim":
        declaration = f"const Integer {name} = narrow({at}.dim);"
        return _Piece([declaration], ["const Integer*"], [f"&{name}"])
    kind = "T" if argument.kind == "scalar" else "real_t<T>"
    declaration = f"const {kind} {name} = scalar<{kind}>({at});"
    return _Piece([declaration], [f"const {kind}*"], [f"&{name}"])


def _operand(routine: table.Routine, argument: Argument) -> _Piece:
    name, data = argument.name, f"A[{argument.index}].host.data"
    if argument.has_ld:
        declaration = f"const Integer ld_{name} = narrow(A[{argument.index}].host.ld);"
        values = [f"static_cast<T*>({data})", f"&ld_{name}"]
        return _Piece([declaration], ["T*", "const Integer*"], values)
    if argument.kind == "vector":
        of = _TYPES[argument.type]
        return _Piece([], [f"{of}*"], [f"static_cast<{of}*>({data})"])
    if argument.kind == "character":
        return _Piece([f"CharacterOut {name}({data});"], ["char*"], [f"{name}.get()"])
    if argument.kind == "info":
        return _Piece([f"InfoOut {name}({data});"], ["Integer*"], [f"{name}.get()"])
    count = _integer(routine, argument.shape[0])
    declaration = f"PrivateIntegers {name}({data}, {count});"
    return _Piece([declaration], ["Integer*"], [f"{name}.get()"])


def _work(routine: table.Routine, argument: Argument) -> _Piece:
    of = _TYPES[argument.type]
    declaration = f"Workspace<{of}> {argument.name}({_integer(routine, argument.size)});"
    piece = _Piece([declaration], [f"{of}*"], [f"{argument.name}.get()"])
    if argument.query:
        piece.types.append("const Integer*")
        piece.values.append(f"{argument.name}.length()")
    return piece


def _piece(routine: table.Routine, argument: Argument) -> _Piece:
    if argument.role == "callback":
        return _Piece([], ["void*"], ["nullptr"])
    if argument.role == "work":
        return _work(routine, argument)
    if argument.is_memory:
        return _operand(routine, argument)
    return _value(argument)


def _body(routine: table.Routine, call: str) -> list[str]:
    """Returns the call itself, with the lines that its result or its workspace needs."""
    if routine.result:
        return [f"store(A[{routine.result.index}].host.data, {call});", "return true;"]
    integers = [a for a in routine.memory if a.kind == "index_vector"]
    lines = [f"if (!{a.name}.ok()) return false;" for a in integers]
    results = [f"{a.name}.copy_out();" for a in integers if a.use != "in"]
    if not routine.work:
        return [*lines, f"{call};", *results, "return true;"]
    lines += [f"const auto call = [&] {{ {call}; }};"]
    if any(w.query for w in routine.work):
        lines.append("call();  // all lengths are -1: the routine returns its best lengths")
    allocated = " && ".join(f"{w.name}.allocate()" for w in routine.work)
    lines += [f"if (!({allocated})) return false;", "call();"]
    lines += [
        f"store(A[{w.index}].host.data, {w.name}.first());" for w in routine.work if w.is_memory
    ]
    return [*lines, *results, "return true;"]


def _thunk(routine: table.Routine) -> list[str]:
    pieces = [_piece(routine, a) for a in routine.arguments if a.role != "result"]
    types = [t for p in pieces for t in p.types] + ["std::size_t"] * len(routine.texts)
    values = [v for p in pieces for v in p.values] + ["std::size_t{1}"] * len(routine.texts)
    returned = _TYPES[routine.result.type] if routine.result else "void"
    call = f"reinterpret_cast<Function>(function)({', '.join(values)})"
    return [
        "",
        "template <class T>",
        f"bool {routine.key}(void* function, const Argument* A) {{",
        *[f"  {d}" for p in pieces for d in p.declarations],
        f"  using Function = {returned} (*)({', '.join(types)});",
        *[f"  {line}" for line in _body(routine, call)],
        "}",
    ]


def emit_thunks(routines: list[table.Routine]) -> str:
    lines = [emit.notice(__file__) + _HEAD.rstrip()]
    for routine in routines:
        lines += _thunk(routine)
    lines += ["", "constexpr ThunkEntry kThunks[] = {"]
    for routine in routines:
        for precision, name in routine.names().items():
            call = f"{routine.key}<{emit.CPP_TYPES[precision]}>"
            lines.append(f'    {{0x{table.fnv1a(name):08x}u, "{name}_", {call}}},')
    lines += [
        "};", "", "}  // namespace", "",
        "std::span<const ThunkEntry> thunks() noexcept { return kThunks; }", "",
        "}  // namespace ob::cpu", "",
    ]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    emit.main(__file__, emit_thunks)
