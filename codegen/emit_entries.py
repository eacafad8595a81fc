"""Emits the exported BLAS and LAPACK entry points of the drop-in library (interpose/entry.hpp)."""

from __future__ import annotations

import ast
import dataclasses

import emit
import expressions
import names
import table

_HEAD = """
#include <cstddef>
#include <cstdint>

#include "interpose/entry.hpp"

// Fast path: too small to go out, so the original is jumped to with every register and stack slot
// as it came, hidden lengths included. Aliases first make sure that the function behind the name is
// the BLAS or LAPACK one; until then nothing is read, and x0..x7 keep the floating-point registers
// of a function we know nothing about.
//
// OB_LEAN_ENTRIES (x86-64, optimised; src/interpose/CMakeLists.txt): an entry declares only the
// arguments that come in registers (and those it reads). Both ways out of it are jumps, so those on
// the stack stay where they are; declared, compilers copy each of them to itself, which costs more
// than all the rest.

using namespace ob;
using namespace ob::interpose;

"""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of an entry point, and the table's argument it carries (None: the layout)."""

    name: str
    type: str
    argument: table.Argument | None = None
    is_ld: bool = False


def fortran_parameters(routine: table.Routine) -> list[Parameter]:
    result = []
    for argument in routine.arguments:
        result.append(Parameter(argument.name, "void*", argument))
        if argument.role == "matrix":
            result.append(Parameter(f"ld{argument.name}", "void*", argument, is_ld=True))
    return result


def c_parameters(routine: table.Routine, precision: str, abi: str) -> list[Parameter]:
    real = "float" if precision in "sc" else "double"
    types = {
        "flag": "int" if abi == "cblas" else "char",
        "dim": "std::int64_t",
        "scalar": "void*" if precision in "cz" else real,
        "real_scalar": real,
        "matrix": "void*",
        "index_vector": "void*",
    }
    result = [Parameter("layout", "int")]
    for argument in routine.arguments:
        if argument.role == "info":
            continue
        result.append(Parameter(argument.name, types[argument.role], argument))
        if argument.role == "matrix":
            result.append(Parameter(f"ld{argument.name}", "std::int64_t", argument, is_ld=True))
    return result


def flag_class(argument: table.Argument) -> str:
    if argument.of == "trans":
        return "t" if "T" in argument.values else "h"
    return argument.of[0] if argument.of else ""


def flops(routine: table.Routine, name: names.Name, precision: str) -> str:
    """The operation count from the arguments as they came."""
    integer = "std::int64_t" if name.integers == "ilp64" else "std::int32_t"

    def rename(argument_name: str) -> str:
        argument = routine.argument(argument_name)
        if argument.role == "dim":
            return f"dim<{integer}>({argument_name})"
        if name.abi == "cblas":
            return f"cblas_flag({argument_name}, '{flag_class(argument)}')"
        return f"flag({argument_name})"

    text = expressions.translate(routine.flops, routine.scope(), rename, "real")
    return f"4 * {text}" if precision in "cz" else text


def row_constant(routine: table.Routine, first: int) -> str:
    def mask(chosen: tuple[str, ...]) -> int:
        return sum(1 << routine.argument(name).index for name in chosen)

    rule = routine.row_major
    flags = ", ".join(f"'{c}'" if (c := flag_class(a)) else "0" for a in routine.arguments)
    pairs = [f"{{{routine.argument(a).index}, {routine.argument(b).index}}}" for a, b in rule.swap]
    swaps = f"{{{{{', '.join(pairs)}}}}}" if pairs else "{}"
    return (
        f"constexpr EntryRow k{emit.camel(routine.name)}{{{first}, {{{flags}}},\n"
        f"    {swaps}, {len(pairs)}, {mask(rule.flip):#x}, {mask(rule.transpose):#x}}};"
    )


def invoke_name(routine: table.Routine, precision: str, abi: str) -> str:
    return f"invoke_{abi.removesuffix('_work')}_{precision}{routine.name}"


def invoke_function(routine: table.Routine, precision: str, abi: str) -> list[str]:
    """The function that calls a C original with arguments as they came."""
    members = {
        "void*": "pointer", "float": "single_value", "double": "double_value",
        "std::int64_t": "integer", "int": "integer", "char": "integer",
    }  # fmt: skip
    parameters = c_parameters(routine, precision, abi)
    passed = []
    for index, p in enumerate(parameters):
        text = f"r[{index}].{members[p.type]}"
        passed.append(f"static_cast<{p.type}>({text})" if p.type in ("int", "char") else text)
    result = "void" if abi == "cblas" else "std::int64_t"
    call = f"reinterpret_cast<Function>(f)({', '.join(passed)});"
    end = [f"  {call}", "  return 0;"] if abi == "cblas" else [f"  return {call}"]
    types = ", ".join(p.type for p in parameters)
    return [
        f"std::int64_t {invoke_name(routine, precision, abi)}(void* f, const Raw* r) {{",
        f"  using Function = {result} (*)({types});",
        *end,
        "}",
    ]


@dataclasses.dataclass(frozen=True)
class Entry:
    """One exported function, with all that its texts need."""

    routine: table.Routine
    precision: str
    name: names.Name

    @property
    def symbol(self) -> str:
        return f"s_{self.name.symbol}"

    @property
    def result(self) -> str:
        return "std::int64_t" if self.name.abi.startswith("lapacke") else "void"

    def arguments(self) -> list[Parameter]:
        if self.name.abi == "fortran":
            return fortran_parameters(self.routine)
        return c_parameters(self.routine, self.precision, self.name.abi)

    def parameters(self) -> list[Parameter]:
        """The arguments and what comes after them."""
        result = self.arguments()
        if self.name.abi == "fortran":
            result += [
                Parameter(f"length{i}", "std::size_t") for i in range(len(self.routine.flags))
            ]
        if self.name.alias_of:
            result += [Parameter(f"x{i}", "double") for i in range(8)]
        return result

    def invoke(self) -> str:
        if self.name.abi == "fortran":
            return f"invoke_fortran<{len(self.arguments())}, {len(self.routine.flags)}>"
        return invoke_name(self.routine, self.precision, self.name.abi)


def declare(parameters: list[Parameter]) -> str:
    return ", ".join(f"{p.type} {p.name}" for p in parameters)


def lean(routine: table.Routine, parameters: list[Parameter]) -> list[Parameter]:
    """Those that x86-64 passes in registers (six integers or pointers, eight floating-point
    numbers), and those on the stack as far as the operation count reads."""
    counted = {n.id for n in ast.walk(ast.parse(routine.flops)) if isinstance(n, ast.Name)}
    last = max(i for i, p in enumerate(parameters) if p.name in counted)
    result = []
    left = {True: 8, False: 6}
    for index, parameter in enumerate(parameters):
        floating = parameter.type in ("float", "double")
        if left[floating] > 0 or index <= last:
            result.append(parameter)
        left[floating] -= 1
    return result


def slow_body(e: Entry) -> list[str]:
    row = f"k{emit.camel(e.routine.name)}"
    position = e.routine.precisions.index(e.precision)
    call = "take_call(entry, raw, caller)"
    return [
        f"  const Raw raw[] = {{{', '.join(p.name for p in e.arguments())}}};",
        f"  const Entry entry{{{e.symbol}, {row}, {position}, Abi::{e.name.abi},"
        f" Integers::{e.name.integers}, {e.invoke()}}};",
        f"  {call if e.result == 'void' else 'return ' + call};",
    ]


def fast_body(e: Entry, parameters: list[Parameter]) -> list[str]:
    passed = ", ".join(p.name for p in parameters)
    forward = f"return reinterpret_cast<decltype(&{e.name.symbol})>(function)({passed});"
    small = f"is_small({flops(e.routine, e.name, e.precision)})"
    find = f"void* const function = original({e.symbol}, caller);"
    if not e.name.alias_of:
        return [f"  if ({small}) [[likely]] {{", f"    {find}", f"    {forward}", "  }"]
    return [
        f"  {find}",
        f'  if (!is_alias({e.symbol}, function, "{e.name.alias_of}")) {forward}',
        f"  if ({small}) [[likely]] {forward}",
    ]


def entry(e: Entry) -> list[str]:
    everything = e.parameters()
    registers = lean(e.routine, everything)
    symbol, caller = e.name.symbol, "  const void* const caller = __builtin_return_address(0);"
    passed = ", ".join(p.name for p in registers)
    return [
        "",
        f'constinit Symbol {e.symbol}{{"{symbol}"}};',
        "#if OB_LEAN_ENTRIES",
        f"OB_SLOW {e.result} slow_{symbol}({declare(e.arguments())}) {{",
        caller,
        *slow_body(e),
        "}",
        f"OB_ENTRY {e.result} {symbol}({declare(registers)}) {{",
        caller,
        *fast_body(e, registers),
        f"  return opaque<decltype(&{symbol})>(&slow_{symbol})({passed});",
        "}",
        "#else",
        f"OB_ENTRY {e.result} {symbol}({declare(everything)}) {{",
        caller,
        *fast_body(e, everything),
        *slow_body(e),
        "}",
        "#endif",
    ]


def emit_entries(routines: list[table.Routine]) -> str:
    lines = [emit.notice(__file__) + _HEAD.rstrip(), "", "namespace {", ""]
    first = 0
    for routine in routines:
        lines.append(row_constant(routine, first))
        first += len(routine.precisions)
        abi = "cblas" if routine.library == "blas" else "lapacke"
        for precision in routine.precisions:
            lines += ["", *invoke_function(routine, precision, abi)]
        lines.append("")
    lines += ["}  // namespace"]
    for routine in routines:
        for precision in routine.precisions:
            for name in names.names(routine, precision):
                lines += entry(Entry(routine, precision, name))
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    emit.main(__file__, emit_entries)
