"""Emits the exported BLAS and LAPACK entry points of the drop-in library (interpose/entry.hpp)."""

from __future__ import annotations

import ast
import dataclasses

import batches
import emit
import expressions
import lean
import names
import parameters
import signatures
import table
from arguments import Argument
from parameters import Parameter
from signatures import Signature

_HEAD = """
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "interpose/entry.hpp"
#include "interpose/gemm_batch.hpp"
#include "interpose/lean_entry.hpp"

// Fast path: a call too small to be remote jumps to the original. Every register and stack slot is
// unchanged, also the hidden lengths. An alias first checks that the function behind the name is
// the BLAS or LAPACK one. Until then it reads no argument, and X0..X7 keep the floating-point
// registers, because the signature of that function is unknown.
//
// OB_LEAN_ENTRIES (x86-64, optimised; src/interpose/CMakeLists.txt): an entry declares only the
// arguments that come in registers (and those it reads). It ends with a jump on both paths, so
// arguments on the stack stay where they are. If they were declared, compilers would copy each of
// them to itself, which costs more than the rest of the entry. The slow path is one body for all
// entries (interpose/lean_entry.hpp).

using namespace ob;
using namespace ob::interpose;

"""


def flag_class(argument: Argument) -> str:
    if argument.of == "trans":
        return "t" if "T" in argument.values + argument.complex_values else "h"
    return argument.of[0] if argument.of else ""


def flops(routine: table.Routine, name: names.Name, precision: str) -> str:
    """Returns the operation count, computed from the arguments as the entry gets them."""
    integer = "std::int64_t" if name.integers == "ilp64" else "std::int32_t"

    def rename(argument_name: str) -> str:
        argument = routine.argument(argument_name)
        if argument.kind == "dim":
            return f"dim<{integer}>({argument_name})"
        if name.abi == "cblas":
            return f"cblas_flag({argument_name}, '{flag_class(argument)}')"
        return f"flag({argument_name})"

    text = expressions.translate(routine.flops, routine.scope(), rename, "real")
    return f"4 * {text}" if precision in "cz" else text


def lengths_function(routine: table.Routine) -> list[str]:
    """Returns the function that tests if the caller's workspace is as long as documented."""
    sized = [w for w in routine.work if w.query]
    if not sized:
        return []

    def rename(name: str) -> str:
        argument = routine.argument(name)
        return f"a[{argument.index}].{'flag' if argument.is_flag else 'dim'}"

    tests = [
        f"lengths[{i}] >= {expressions.translate(w.size, routine.scope(), rename, 'integer')}"
        for i, w in enumerate(sized)
    ]
    return [
        f"bool {routine.key}_lengths_suffice([[maybe_unused]] const Argument* a,"
        " const std::int64_t* lengths) {",
        f"  return {' && '.join(tests)};",
        "}",
    ]


def row_constant(routine: table.Routine, first: int) -> list[str]:
    def mask(chosen: tuple[str, ...]) -> int:
        return sum(1 << routine.argument(name).index for name in chosen)

    def truth(value: bool) -> str:
        return str(value).lower()

    rule = routine.row_major
    camel = emit.camel(routine.key)
    flags = ", ".join(f"'{c}'" if (c := flag_class(a)) else "0" for a in routine.normal)
    pairs = [f"{{{routine.argument(a).index}, {routine.argument(b).index}}}" for a, b in rule.swap]
    swaps = f"{{{{{', '.join(pairs)}}}}}" if pairs else "{}"
    has_lengths = any(w.query for w in routine.work)
    lengths = f"{routine.key}_lengths_suffice" if has_lengths else "nullptr"
    is_index = routine.result is not None and routine.result.type == "integer"
    return [
        *lengths_function(routine),
        f"constexpr std::int8_t k{camel}Slots[] = {{{', '.join(parameters.slots(routine))}}};",
        f'[[gnu::used]] constexpr EntryRow k{camel} asm("row_{routine.key}"){{'
        f"{first}, k{camel}Slots, {lengths},"
        f" {truth(parameters.has_layout(routine))}, {truth(rule.local)}, {truth(is_index)},",
        f"    {{{flags}}},",
        f"    {swaps}, {len(pairs)}, {mask(rule.flip):#x}, {mask(rule.transpose):#x}}};",
    ]


@dataclasses.dataclass(frozen=True)
class Entry:
    """One exported function, with the data for all of its texts."""

    routine: table.Routine
    precision: str
    name: names.Name

    @property
    def symbol(self) -> str:
        return f"s_{self.name.symbol}"

    @property
    def result(self) -> str:
        return parameters.value_type(self.routine, self.precision, self.name.abi)

    def arguments(self) -> list[Parameter]:
        if self.name.abi == "fortran":
            return parameters.fortran(self.routine)
        return parameters.c(self.routine, self.precision, self.name.abi)

    def parameters(self) -> list[Parameter]:
        """Returns the arguments and the parameters that follow them."""
        result = self.arguments()
        if self.name.abi == "fortran":
            result += [
                Parameter(f"length{i}", "std::size_t") for i in range(len(self.routine.texts))
            ]
        if self.name.alias_of:
            result += [Parameter(f"X{i}", "double") for i in range(8)]
        return result

    @property
    def signature(self) -> Signature:
        return signatures.of_entry(self.routine, self.precision, self.name.abi)

    def record(self) -> lean.Record:
        return lean.Record(
            self.name,
            row=f"row_{self.routine.key}",
            position=self.routine.precisions.index(self.precision),
            signature=self.signature,
            operations=f"operations_{self.routine.names()[self.precision]}",
        )


def declare(chosen: list[Parameter]) -> str:
    return ", ".join(f"{p.type} {p.name}" for p in chosen)


def counted(routine: table.Routine) -> set[str]:
    """Returns the names that the operation count reads."""
    return {n.id for n in ast.walk(ast.parse(routine.flops)) if isinstance(n, ast.Name)}


def in_registers(routine: table.Routine, everything: list[Parameter]) -> list[Parameter]:
    """Returns the parameters that x86-64 passes in registers (six integers or pointers, eight
    floating-point numbers), and those on the stack that the operation count needs."""
    used = counted(routine)
    last = max((i for i, p in enumerate(everything) if p.name in used), default=-1)
    result = []
    left = {True: 8, False: 6}
    for index, parameter in enumerate(everything):
        floating = parameter.type in ("float", "double")
        if left[floating] > 0 or index <= last:
            result.append(parameter)
        left[floating] -= 1
    return result


def slow_body(e: Entry) -> list[str]:
    row = f"k{emit.camel(e.routine.key)}"
    position = e.routine.precisions.index(e.precision)
    lines = [
        f"  const Raw raw[] = {{{', '.join(p.name for p in e.arguments())}}};",
        f"  const Entry entry{{{e.symbol}, {row}, {position}, Abi::{e.name.abi},"
        f" Integers::{e.name.integers}, {e.signature.invoke}}};",
    ]
    if e.name.abi.startswith("lapacke"):
        return [*lines, "  return take_call(entry, raw, caller);"]
    if e.result == "void":
        return [*lines, "  take_call(entry, raw, caller);"]
    return [
        *lines,
        f"  {e.result} value{{}};",
        "  take_call(entry, raw, caller, &value);",
        "  return value;",
    ]


def fast_body(e: Entry, chosen: list[Parameter]) -> list[str]:
    passed = ", ".join(p.name for p in chosen)
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


def lean_body(e: Entry, chosen: list[Parameter]) -> list[str]:
    """Returns a body that calls nothing, so that it needs no stack."""
    passed = ", ".join(p.name for p in chosen)
    symbol = e.name.symbol
    small = f"is_small({flops(e.routine, e.name, e.precision)})"
    jump = f"return reinterpret_cast<decltype(&{symbol})>(function)({passed});"
    slow = f"  return slow_{symbol}({passed});"
    if e.name.alias_of:
        return [
            "  void* function = nullptr;",
            f"  const Alias alias = known_alias({e.symbol}, caller, function);",
            f"  if (alias == Alias::yes) [[likely]] {{ if ({small}) [[likely]] {jump} }}",
            f"  else if (alias == Alias::no) {jump}",
            f"  else return find_{symbol}({passed});",
            slow,
        ]
    return [
        f"  if ({small}) [[likely]] {{",
        f"    void* const function = known_original({e.symbol}, caller);",
        f"    if (function == nullptr) [[unlikely]] return find_{symbol}({passed});",
        f"    {jump}",
        "  }",
        slow,
    ]


def operations_function(routine: table.Routine, precision: str) -> list[str]:
    """Returns the function that computes the operation count of a call by a Fortran name."""
    got = parameters.fortran(routine)
    name = names.Name("", "fortran", "unasked")
    used = counted(routine)
    reads = [
        f"  void* const {p.name} = r[{i}].pointer;" for i, p in enumerate(got) if p.name in used
    ]
    return [
        f"[[gnu::used]] static double operations_{routine.names()[precision]}"
        "([[maybe_unused]] const Raw* r) {",
        *reads,
        f"  return {flops(routine, name, precision)};",
        "}",
    ]


def entry(e: Entry) -> list[str]:
    everything = e.parameters()
    registers = in_registers(e.routine, everything)
    symbol, caller = e.name.symbol, "  const void* const caller = __builtin_return_address(0);"
    return [
        "",
        f'constinit Symbol {e.symbol}{{"{symbol}"}};',
        "#if OB_LEAN_ENTRIES",
        f"OB_ELSEWHERE {e.result} slow_{symbol}({declare(registers)});",
        f"OB_ELSEWHERE {e.result} find_{symbol}({declare(registers)});",
        f"OB_ENTRY {e.result} {symbol}({declare(registers)}) {{",
        caller,
        *lean_body(e, registers),
        "}",
        "#else",
        f"OB_ENTRY {e.result} {symbol}({declare(everything)}) {{",
        caller,
        *fast_body(e, everything),
        *slow_body(e),
        "}",
        "#endif",
    ]


def emit_entries(routines: list[table.Routine], file: str) -> str:
    """Returns the entries of the rows of one file. The numbers of rows depend on all of them."""
    lines = [emit.notice(__file__) + _HEAD.rstrip(), "", "namespace {", ""]
    first = 0
    for routine in routines:
        if routine.file == file:
            lines += [*row_constant(routine, first), ""]
        first += len(routine.precisions)
    lines += ["}  // namespace", ""]
    rows = [r for r in routines if r.file == file]
    entries = [Entry(r, p, n) for r in rows for p in r.precisions for n in names.names(r, p)]
    lines += signatures.invoke_functions(
        [e.signature for e in entries] + [s for r in rows for s in batches.signatures_of(r)]
    )
    for e in entries:
        lines += entry(e)
    for routine in rows:
        lines += batches.emit_batches(routine)
    lines += ["", "#if OB_LEAN_ENTRIES", *lean.assertions(), 'extern "C" {']
    for routine in rows:
        for precision in routine.precisions:
            lines += operations_function(routine, precision)
    lines += ['}  // extern "C"', *lean.assembly([e.record() for e in entries]), "#endif"]
    return "\n".join([*lines, ""])


def main() -> None:
    parser = emit.parser(__file__)
    parser.add_argument("--file", required=True, help="stem of the table whose rows are emitted")
    emit.run(parser, lambda routines, options: emit_entries(routines, options.file))


if __name__ == "__main__":
    main()
