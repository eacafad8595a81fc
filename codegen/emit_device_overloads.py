"""Emits include/outboard/device_routines.hpp: C++ overloads for the routines of the device API."""

from __future__ import annotations

import emit
import shapes
import table
from arguments import Argument
from emit_device_routines import distance

_HEAD = """
#ifndef OUTBOARD_DEVICE_ROUTINES_HPP
#define OUTBOARD_DEVICE_ROUTINES_HPP

// The routines of Queue::call() as overloads for all precisions. Names are those of the routines
// without the letter of the precision, which follows from the first operand. Arguments are those of
// the Fortran interface without workspaces, their lengths and leading dimensions: an operand is a
// Matrix, a Vector or a MatrixView, which knows its leading dimension. A vector with an increment
// is followed by it. Pivots, info and integer results have elements of std::int64_t. Where all
// dimensions follow from the shapes of matrices, an overload leaves them out.
// Throws: Error; std::invalid_argument for shapes that do not fit. The compiler refuses operands of
// other elements.

#include <outboard/device.hpp>

namespace outboard {
namespace detail {

template <class T>
const MatrixView<T>& view(const MatrixView<T>& made) noexcept {
  return made;
}
template <class T>
MatrixView<T> view(const Matrix<T>& matrix) noexcept {
  return matrix.view();
}

template <class T>
T element_of(const MatrixView<T>&);
template <class T>
T element_of(const Matrix<T>&);
/// The elements of an operand.
template <class Operand>
using Element = decltype(element_of(std::declval<const Operand&>()));

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

/// The name of a routine in the precision of T; nullptr if T has none.
template <class T>
constexpr const char* name_for(const char* s, const char* d, const char* c, const char* z) {
  if (std::is_same_v<T, float>) return s;
  if (std::is_same_v<T, double>) return d;
  if (std::is_same_v<T, std::complex<float>>) return c;
  if (std::is_same_v<T, std::complex<double>>) return z;
  return nullptr;
}

/// True if T is the element type of one of these precisions, such as "cz".
template <class T>
constexpr bool computes(const char* precisions) {
  const char* const letter = name_for<T>("s", "d", "c", "z");
  for (; *precisions != 0; ++precisions) {
    if (letter != nullptr && *precisions == *letter) return true;
  }
  return false;
}
template <bool kCondition>
using If = std::enable_if_t<kCondition, int>;

inline bool is(char flag, char value) noexcept {
  return flag == value || flag == value - 'A' + 'a';
}
inline void check_shape(const char* name, std::int64_t has_rows, std::int64_t has_cols,
                        std::int64_t rows, std::int64_t cols) {
  if (has_rows == rows && has_cols == cols) return;
  throw std::invalid_argument("the matrix " + std::string(name) + " is " +
                              std::to_string(has_rows) + " x " + std::to_string(has_cols) +
                              ", and the routine needs " + std::to_string(rows) + " x " +
                              std::to_string(cols) + "; pass a block, or another matrix");
}

template <class Operand>
ob_operand place_of(const Operand& operand, std::int64_t distance) noexcept {
  ob_operand made{};
  made.value.place = view(operand).place;
  made.ld = distance;
  return made;
}
template <class Operand>
ob_operand matrix_of(const Operand& operand) noexcept {
  return place_of(operand, view(operand).ld);
}

}  // namespace detail
"""

_TAIL = """
}  // namespace outboard

#endif
"""

# Type of a row -> the elements in C++.
_ELEMENTS = {
    "element": "T",
    "real": "detail::Real<T>",
    "double": "double",
    "integer": "std::int64_t",
    "logical": "std::int64_t",
}


def _element(argument: Argument) -> str:
    if argument.kind in ("index_vector", "info"):
        return "std::int64_t"
    if argument.kind == "character":
        return "char"
    return _ELEMENTS[argument.type]


def _stem(routine: table.Routine, precision: str) -> str:
    """Returns the name of the overload: that of the routine without the letter of its precision."""
    name = routine.names()[precision]
    return name[1:] if name[0] == precision else routine.name


def _parameter(argument: Argument) -> str:
    name = argument.name
    if argument.kind == "flag":
        return f"char {name}"
    if argument.kind == "dim":
        return f"std::int64_t {name}"
    if argument.kind == "scalar":
        return f"const typename detail::Exactly<T>::type& {name}"
    if argument.kind == "real_scalar":
        return f"detail::Real<T> {name}"
    operand = f"const {emit.camel(name)}Operand& {name}"
    is_strided = argument.kind == "strided"
    return operand + (f", std::int64_t {distance(argument)}" if is_strided else "")


def _operand(argument: Argument) -> str:
    name = argument.name
    if argument.kind == "flag":
        return f"flag({name})"
    if argument.kind == "dim":
        return f"integer({name})"
    if argument.kind == "scalar":
        return f"{name}_scalar.operand()"
    if argument.kind == "real_scalar":
        return f"scalar(static_cast<double>({name}))"
    if argument.kind == "matrix":
        return f"detail::matrix_of({name})"
    return f"detail::place_of({name}, {distance(argument) or 0})"


def _first(routine: table.Routine) -> Argument:
    """Returns the operand that tells the precision."""
    return next(a for a in routine.memory if _element(a) == "T")


def _head(
    routine: table.Routine, stem: str, precisions: list[str], parameters: list[Argument]
) -> list[str]:
    """Returns the template's head, and the function's."""
    templates = [f"class {emit.camel(a.name)}Operand" for a in parameters if a.is_memory]
    templates += [
        f"class T = detail::Element<{emit.camel(_first(routine).name)}Operand>",
        f'detail::If<detail::computes<T>("{"".join(precisions)}")> = 0',
    ]
    lines = ["", *emit.commented(routine.summary, "/// "), "template <"]
    lines += [*emit.wrapped(templates, ">"), f"void {stem}("]
    return lines + emit.wrapped(["const Queue& queue", *map(_parameter, parameters)], ") {")


def _chosen(choice: shapes.Choice, place: bool) -> str:
    """Returns an expression; places ("a.0") are rows and columns of operands."""

    def value(text: str) -> str:
        if not place:
            return text
        name, axis = text.split(".")
        return f"detail::view({name}).{'rows' if axis == '0' else 'cols'}"

    if not choice.flag:
        return value(choice.first)
    flag = f"detail::is({choice.flag}, '{choice.value}')"
    return f"{flag} ? {value(choice.first)} : {value(choice.second)}"


def _deducing(routine: table.Routine, stem: str, precisions: list[str]) -> list[str]:
    """Returns the overload without dimensions; none if they do not follow from shapes."""
    sources, extents = shapes.sources(routine), shapes.extents(routine)
    if sources is None or extents is None or stem == "gemm":  # outboard/device.hpp has gemm
        return []
    parameters = [a for a in routine.normal if a.kind != "dim"]
    lines = _head(routine, stem, precisions, parameters)
    for dim, source in sources.items():
        lines += [f"  const std::int64_t {dim} = {_chosen(source, True)};"]
    for name in dict.fromkeys(name for name, _ in extents):
        needed = [_chosen(extents[name, axis], False) for axis in (0, 1)]
        has = [f"detail::view({name}).{axis}" for axis in ("rows", "cols")]
        lines += [f'  detail::check_shape("{name}",', *emit.wrapped([*has, *needed], ");", 22)]
    values = ["queue"]
    for a in routine.normal:
        values += [a.name, distance(a)] if a.kind == "strided" else [a.name]
    return [*lines, f"  {stem}(", *emit.wrapped(values, ");"), "}"]


def _overload(routine: table.Routine, stem: str, precisions: list[str]) -> list[str]:
    first = _first(routine)
    operands = [a for a in routine.normal if a.is_memory]
    names = routine.names()
    chosen = ", ".join(f'"{names[p]}"' if p in precisions else "nullptr" for p in "sdcz")
    lines = _head(routine, stem, precisions, routine.normal)
    for a in operands:
        if a is not first:
            lines += [
                f"  static_assert(std::is_same_v<detail::Element<{emit.camel(a.name)}Operand>,"
                f" {_element(a)}>,",
                f'                "{a.name} has elements of another type");',
            ]
    lines += [
        f"  const detail::Scalar<T> {a.name}_scalar({a.name});"
        for a in routine.normal
        if a.kind == "scalar"
    ]
    lines += [f"  queue.call(detail::name_for<T>({chosen}),", "             {"]
    lines += emit.wrapped([_operand(a) for a in routine.normal], "});", indent=14)
    return [*lines, "}"]


def emit_header(routines: list[table.Routine]) -> str:
    lines: list[str] = []
    for routine in routines:
        stems: dict[str, list[str]] = {}
        for precision in routine.precisions:
            stems.setdefault(_stem(routine, precision), []).append(precision)
        for stem, precisions in stems.items():
            lines += _overload(routine, stem, precisions)
            lines += _deducing(routine, stem, precisions)
    return emit.notice(__file__) + _HEAD + "\n".join(lines) + "\n" + _TAIL


if __name__ == "__main__":
    emit.main(__file__, emit_header)
