"""Emits the static Descriptor array of src/routines/descriptor.hpp."""

from __future__ import annotations

import emit
import expressions
import table

_HEAD = """
#include <algorithm>

#include "routines/descriptor.hpp"
#include "routines/expression.hpp"
#include "routines/order.hpp"

namespace ob::routines {
namespace {

using namespace expression;
"""


def _rename(routine: table.Routine, real: bool) -> expressions.Rename:
    """Names become members of the argument array `a`."""

    def rename(name: str) -> str:
        argument = routine.argument(name)
        member = {"flag": "flag", "dim": "dim"}.get(argument.role, "scalar")
        text = f"a[{argument.index}].{member}"
        return f"static_cast<double>({text})" if real and argument.role == "dim" else text

    return rename


def _translate(routine: table.Routine, text: str, wanted: str) -> str:
    return expressions.translate(text, routine.scope(), _rename(routine, wanted == "real"), wanted)


def _legal(routine: table.Routine) -> list[str]:
    tests = []
    for flag in routine.flags:
        if flag.values == flag.complex_values:
            values = f'"{flag.values}"'
        else:
            values = f'kComplex ? "{flag.complex_values}" : "{flag.values}"'
        tests.append(f"one_of(a[{flag.index}].flag, {values})")
    tests += [f"a[{x.index}].dim >= 0" for x in routine.arguments if x.role == "dim"]
    for matrix in (x for x in routine.arguments if x.role == "matrix"):
        rows = _translate(routine, matrix.shape[0], "integer")
        tests.append(f"ld[{matrix.index}] >= std::max(std::int64_t{{1}}, {rows})")
    if routine.legal:
        tests.append(_translate(routine, routine.legal, "truth"))
    joined = " &&\n         ".join(tests)
    return [
        "template <bool kComplex>",
        f"bool {routine.name}_legal(const Argument* a, [[maybe_unused]] const std::int64_t* ld) {{",
        f"  return {joined};",
        "}",
    ]


def _operand(routine: table.Routine, argument: table.Argument) -> str:
    size = "kElementBytes" if argument.role == "matrix" else "8"
    read = {"in": "true", "out": "false", "inout": "true"}[argument.use]
    if argument.read_if:
        read = _translate(routine, argument.read_if, "truth")
    written = "false" if argument.use == "in" else "true"
    triangle = "Triangle::full"
    if argument.triangle:
        uplo = f"a[{routine.argument(argument.triangle).index}].flag"
        diag = f"a[{routine.argument(argument.unit).index}].flag" if argument.unit else "'N'"
        triangle = f"triangle({uplo}, {diag})"
    shape = [_translate(routine, text, "integer") for text in argument.shape]
    shape += ["1"] * (2 - len(shape))
    return (
        f"  add(result, {argument.index}, {read}, {written}, {size}, {triangle},\n"
        f"      {shape[0]}, {shape[1]});"
    )


def _functions(routine: table.Routine) -> list[str]:
    name = routine.name
    lines = ["", f"// {name}: {routine.summary}", *_legal(routine), ""]
    trivial = _translate(routine, routine.trivial, "truth")
    lines += [f"bool {name}_trivial(const Argument* a) {{ return {trivial}; }}", ""]
    lines += [
        "template <std::uint32_t kElementBytes>",
        f"Operands {name}_operands(const Argument* a) {{",
    ]
    lines += ["  Operands result;", *[_operand(routine, m) for m in routine.memory]]
    lines += ["  return result;", "}", ""]
    flops = _translate(routine, routine.flops, "real")
    lines += ["template <bool kComplex>", f"double {name}_flops(const Argument* a) {{"]
    lines += [f"  return (kComplex ? 4 : 1) * {flops};", "}", ""]
    kinds = ", ".join(f"Kind::{a.role}" for a in routine.arguments)
    names = ", ".join(f'"{a.name}"' for a in routine.arguments)
    lines += [f"constexpr Kind k{emit.camel(name)}Kinds[] = {{{kinds}}};"]
    lines += [f"constexpr std::string_view k{emit.camel(name)}Names[] = {{{names}}};"]
    return lines


def _entry(routine: table.Routine, precision: str) -> str:
    base, name = routine.name, precision + routine.name
    is_complex = "true" if precision in "cz" else "false"
    return (
        f'    {{0x{table.fnv1a(name):08x}u, "{name}", "{base}", Precision::{precision},'
        f" Library::{routine.library},\n     k{emit.camel(base)}Kinds, k{emit.camel(base)}Names,"
        f" {base}_legal<{is_complex}>, {base}_trivial,\n"
        f"     {base}_operands<element_bytes(Precision::{precision})>,"
        f" {base}_flops<{is_complex}>}},"
    )


def _order(names: list[str], key: dict[str, int] | None) -> str:
    def sort_key(index: int) -> tuple[int, str]:
        return (key[names[index]], "") if key else (0, names[index])

    return ", ".join(str(i) for i in sorted(range(len(names)), key=sort_key))


def emit_descriptors(routines: list[table.Routine]) -> str:
    lines = [emit.notice(__file__) + _HEAD.rstrip()]
    for routine in routines:
        lines += _functions(routine)
    names = [p + r.name for r in routines for p in r.precisions]
    lines += ["", "constexpr Descriptor kAll[] = {"]
    lines += [_entry(r, p) for r in routines for p in r.precisions]
    ids = {name: table.fnv1a(name) for name in names}
    lines += [
        "};", "",
        f"constexpr std::uint16_t kById[] = {{{_order(names, ids)}}};",
        f"constexpr std::uint16_t kByName[] = {{{_order(names, None)}}};",
        "", "}  // namespace", "",
        "std::span<const Descriptor> all() noexcept { return kAll; }", "",
        "namespace detail {",
        "std::span<const std::uint16_t> order_by_id() noexcept { return kById; }",
        "std::span<const std::uint16_t> order_by_name() noexcept { return kByName; }",
        "}  // namespace detail", "",
        "}  // namespace ob::routines", "",
    ]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    emit.main(__file__, emit_descriptors)
