"""Emits src/backend/cpu/thunk.hpp: calls from the normal form to Fortran symbols (LP64)."""

from __future__ import annotations

import emit
import expressions
import table

_HEAD = """
#include <complex>
#include <cstddef>

#include "backend/cpu/thunk.hpp"
#include "routines/thunk_support.hpp"

// The library writes matrices through pointers taken from Argument::host.data; scalars, flags and
// dimensions are passed by address and left alone. Hidden lengths of CHARACTER arguments come last
// (gfortran's rule), all 1.

namespace ob::cpu {
namespace {

using namespace thunk_support;
"""


def _argument(
    routine: table.Routine, argument: table.Argument
) -> tuple[list[str], list[str], list[str]]:
    """Declarations, parameter types and passed values of one argument."""
    name, at = argument.name, f"a[{argument.index}]"
    if argument.role == "flag":
        return [], ["const char*"], [f"&{at}.flag"]
    if argument.role == "dim":
        return [f"const Integer {name} = narrow({at}.dim);"], ["const Integer*"], [f"&{name}"]
    if argument.role == "scalar":
        return [f"const T {name} = scalar<T>({at});"], ["const T*"], [f"&{name}"]
    if argument.role == "real_scalar":
        real = "real_t<T>"
        return [f"const {real} {name} = scalar<{real}>({at});"], [f"const {real}*"], [f"&{name}"]
    if argument.role == "matrix":
        declaration = f"const Integer ld_{name} = narrow({at}.host.ld);"
        return (
            [declaration],
            ["T*", "const Integer*"],
            [f"static_cast<T*>({at}.host.data)", f"&ld_{name}"],
        )
    if argument.role == "info":
        return [f"InfoOut {name}({at}.host.data);"], ["Integer*"], [f"{name}.get()"]
    kind = {"in": "IndexIn", "out": "IndexOut"}[argument.use]
    rename = _rename(routine)
    count = expressions.translate(argument.shape[0], routine.scope(), rename, "integer")
    return [f"{kind} {name}({at}.host.data, {count});"], ["Integer*"], [f"{name}.get()"]


def _rename(routine: table.Routine) -> expressions.Rename:
    def rename(name: str) -> str:
        argument = routine.argument(name)
        return f"a[{argument.index}].{'flag' if argument.role == 'flag' else 'dim'}"

    return rename


def _thunk(routine: table.Routine) -> list[str]:
    declarations: list[str] = []
    types: list[str] = []
    values: list[str] = []
    for argument in routine.arguments:
        declared, parameters, passed = _argument(routine, argument)
        declarations += declared
        types += parameters
        values += passed
    lengths = len(routine.flags)
    types += ["std::size_t"] * lengths
    values += ["std::size_t{1}"] * lengths
    return [
        "",
        "template <class T>",
        f"void {routine.name}(void* function, const Argument* a) {{",
        *[f"  {d}" for d in declarations],
        f"  using Function = void (*)({', '.join(types)});",
        "  reinterpret_cast<Function>(function)(",
        f"      {', '.join(values)});",
        "}",
    ]


def emit_thunks(routines: list[table.Routine]) -> str:
    lines = [emit.notice(__file__) + _HEAD.rstrip()]
    for routine in routines:
        lines += _thunk(routine)
    lines += ["", "constexpr ThunkEntry kThunks[] = {"]
    for routine in routines:
        for precision, name in routine.names().items():
            call = f"{routine.name}<{emit.CPP_TYPES[precision]}>"
            lines.append(f'    {{0x{table.fnv1a(name):08x}u, "{name}_", {call}}},')
    lines += [
        "};", "", "}  // namespace", "",
        "std::span<const ThunkEntry> thunks() noexcept { return kThunks; }", "",
        "}  // namespace ob::cpu", "",
    ]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    emit.main(__file__, emit_thunks)
