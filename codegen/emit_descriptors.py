"""Emits the static Descriptor array of src/routines/descriptor.hpp."""

from __future__ import annotations

import emit
import expressions
import table
from arguments import Argument

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
    """Returns a function that turns names into members of the argument array `a`."""

    def rename(name: str) -> str:
        argument = routine.argument(name)
        member = argument.kind if argument.kind in ("flag", "dim") else "scalar"
        text = f"a[{argument.index}].{member}"
        return f"static_cast<double>({text})" if real and member == "dim" else text

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
    for vector in (x for x in routine.arguments if x.role == "strided"):
        tests.append(f"ld[{vector.index}] {'>' if vector.positive else '!='} 0")
    if routine.legal:
        tests.append(_translate(routine, routine.legal, "truth"))
    joined = " &&\n         ".join(tests) if tests else "true"
    return [
        "template <bool kComplex>",
        f"bool {routine.key}_legal([[maybe_unused]] const Argument* a,"
        " [[maybe_unused]] const std::int64_t* ld) {",
        f"  return {joined};",
        "}",
    ]


def _element_bytes(argument: Argument) -> str:
    if argument.kind in ("index_vector", "info"):
        return "8"
    if argument.kind == "character":
        return "1"
    sizes = {"real": "real_bytes(kPrecision)", "double": "8", "integer": "8"}
    return sizes.get(argument.type, "element_bytes(kPrecision)")


def _word_bytes(argument: Argument) -> str:
    """Returns the size of the words that a receiver of the other byte order swaps. A complex
    element has two words."""
    size = _element_bytes(argument)
    return "real_bytes(kPrecision)" if size == "element_bytes(kPrecision)" else size


def _triangle(routine: table.Routine, argument: Argument) -> str:
    if not argument.triangle:
        return "Triangle::full"
    uplo = f"a[{routine.argument(argument.triangle).index}].flag"
    diag = f"a[{routine.argument(argument.unit).index}].flag" if argument.unit else "'N'"
    return f"triangle({uplo}, {diag})"


def _operand(routine: table.Routine, argument: Argument) -> str:
    read = {"in": "true", "out": "false", "inout": "true", "consumed": "true"}[argument.use]
    written = {"in": "false", "consumed": "false"}.get(argument.use, "true")
    consumed = "false"
    if argument.read_if:
        read = _translate(routine, argument.read_if, "truth")
    if argument.written_if:
        written = _translate(routine, argument.written_if, "truth")
    if argument.use == "consumed":
        consumed = f"!{written}" if argument.written_if else "true"
    triangle = _triangle(routine, argument)
    shape = [_translate(routine, text, "integer") for text in argument.shape]
    if argument.kind == "strided":
        shape.insert(0, "1")
    rows, cols = [f"extent({text})" for text in [*shape, "1"][:2]]
    return (
        f"  add(result, {{.argument = {argument.index}, .read = {read}, .written = {written},"
        f" .consumed = {consumed},\n"
        f"               .element_bytes = {_element_bytes(argument)},\n"
        f"               .word_bytes = {_word_bytes(argument)}, .triangle = {triangle},\n"
        f"               .written_triangle = "
        f"{'Triangle::full' if argument.written_full else triangle},\n"
        f"               .rows = {rows}, .cols = {cols}}});"
    )


def _values(argument: Argument, precision: str) -> str:
    if argument.kind == "flag":
        return argument.values_of(precision)
    if argument.kind == "index_vector" and argument.use != "out":
        return argument.indices
    if argument.finite:
        return "finite"
    return ""


def _functions(routine: table.Routine) -> list[str]:
    name = routine.key
    lines = ["", f"// {name}: {routine.summary}", *_legal(routine), ""]
    trivial = _translate(routine, routine.trivial, "truth")
    lines += [
        f"bool {name}_trivial([[maybe_unused]] const Argument* a) {{ return {trivial}; }}",
        "",
        "template <Precision kPrecision>",
        f"Operands {name}_operands([[maybe_unused]] const Argument* a) {{",
        "  Operands result;",
        *[_operand(routine, m) for m in routine.memory],
        "  return result;",
        "}",
        "",
    ]
    flops = _translate(routine, routine.flops, "real")
    lines += [
        "template <bool kComplex>",
        f"double {name}_flops([[maybe_unused]] const Argument* a) {{",
        f"  return (kComplex ? 4 : 1) * {flops};",
        "}",
        "",
    ]
    camel = emit.camel(name)
    kinds = ", ".join(f"Kind::{a.kind}" for a in routine.normal)
    names = ", ".join(f'"{a.name}"' for a in routine.normal)
    lines += [f"constexpr Kind k{camel}Kinds[] = {{{kinds}}};"]
    lines += [f"constexpr std::string_view k{camel}Names[] = {{{names}}};"]
    for suffix, precision in (("", "s"), ("Complex", "c")):
        values = ", ".join(f'"{_values(a, precision)}"' for a in routine.normal)
        lines += [
            f"[[maybe_unused]] constexpr std::string_view k{camel}Values{suffix}[] = {{{values}}};"
        ]
    return lines


def _entry(routine: table.Routine, precision: str) -> str:
    key, name = routine.key, routine.names()[precision]
    is_complex = precision in "cz"
    camel, complex_text = emit.camel(key), str(is_complex).lower()
    return (
        f'    {{0x{table.fnv1a(name):08x}u, "{name}", "{routine.name}", Precision::{precision},'
        f" Library::{routine.library},\n     {routine.level}, {str(routine.rerun).lower()},"
        f" {routine.efficiency},"
        f" k{camel}Kinds, k{camel}Names, k{camel}Values{'Complex' if is_complex else ''},\n"
        f"     {key}_legal<{complex_text}>, {key}_trivial, {key}_operands<Precision::{precision}>,"
        f" {key}_flops<{complex_text}>}},"
    )


def _order(names: list[str], key: dict[str, int] | None) -> str:
    def sort_key(index: int) -> tuple[int, str]:
        return (key[names[index]], "") if key else (0, names[index])

    return ", ".join(str(i) for i in sorted(range(len(names)), key=sort_key))


def emit_descriptors(routines: list[table.Routine]) -> str:
    routines = sorted(routines, key=lambda r: r.library == "block")  # all() is the first part
    lines = [emit.notice(__file__) + _HEAD.rstrip()]
    for routine in routines:
        lines += _functions(routine)
    names = [r.names()[p] for r in routines for p in r.precisions]
    lines += ["", "constexpr Descriptor kAll[] = {"]
    lines += [_entry(r, p) for r in routines for p in r.precisions]
    ids = {name: table.fnv1a(name) for name in names}
    called = sum(len(r.precisions) for r in routines if r.library != "block")
    lines += [
        "};", "",
        f"constexpr std::uint16_t kById[] = {{{_order(names, ids)}}};",
        f"constexpr std::uint16_t kByName[] = {{{_order(names, None)}}};",
        "", "}  // namespace", "",
        "std::span<const Descriptor> all() noexcept {",
        f"  return std::span(kAll).first({called});",
        "}", "",
        "std::span<const Descriptor> device_operations() noexcept {",
        f"  return std::span(kAll).subspan({called});",
        "}", "",
        "namespace detail {",
        "std::span<const Descriptor> all_rows() noexcept { return kAll; }",
        "std::span<const std::uint16_t> order_by_id() noexcept { return kById; }",
        "std::span<const std::uint16_t> order_by_name() noexcept { return kByName; }",
        "}  // namespace detail", "",
        "}  // namespace ob::routines", "",
    ]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    emit.main(__file__, emit_descriptors)
