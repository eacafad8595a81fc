"""Emits include/outboard/device_routines.h: a C function for each routine of the device API."""

from __future__ import annotations

from typing import NamedTuple

import emit
import table
from arguments import Argument

_HEAD = """
#ifndef OUTBOARD_DEVICE_ROUTINES_H
#define OUTBOARD_DEVICE_ROUTINES_H

/* The routines of ob_call() as functions. Their arguments are those of the Fortran interface
   without workspaces and their lengths: dimensions by value, and operands as places with their
   leading dimensions or increments. Complex scalars are pairs: real part, imaginary part. Pivots,
   info and integer results are int64 in memory of the device. A function returns what ob_call()
   returns. */

#include <outboard/device.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline ob_operand ob_as_flag(char value) {
  ob_operand operand;
  operand.value.integer = 0;
  operand.value.flag = value;
  operand.ld = 0;
  return operand;
}
static inline ob_operand ob_as_integer(int64_t value) {
  ob_operand operand;
  operand.value.integer = value;
  operand.ld = 0;
  return operand;
}
static inline ob_operand ob_as_real(double value) {
  ob_operand operand;
  operand.value.real = value;
  operand.ld = 0;
  return operand;
}
static inline ob_operand ob_as_pair(const double* value) {
  ob_operand operand;
  operand.value.pair = value;
  operand.ld = 0;
  return operand;
}
static inline ob_operand ob_as_place(ob_place value, int64_t ld) {
  ob_operand operand;
  operand.value.place = value;
  operand.ld = ld;
  return operand;
}
"""

_TAIL = """
#ifdef __cplusplus
}
#endif

#endif
"""


def distance(argument: Argument) -> str:
    """Returns the name of the leading dimension or increment of an operand; empty if none."""
    if not argument.has_ld:
        return ""
    return ("ld" if argument.kind == "matrix" else "inc") + argument.name


def _parameter(argument: Argument, precision: str) -> str:
    name = argument.name
    if argument.kind == "flag":
        return f"char {name}"
    if argument.kind == "dim":
        return f"int64_t {name}"
    if argument.kind == "scalar" and precision in "cz":
        return f"const double {name}[2]"
    if argument.kind in ("scalar", "real_scalar"):
        return f"double {name}"
    ld = distance(argument)
    return f"ob_place {name}" + (f", int64_t {ld}" if ld else "")


class Makers(NamedTuple):
    """The functions of a language that make operands of ob_call()."""

    flag: str
    integer: str
    real: str
    complex: str
    place: str  # takes a distance, too


def operand(argument: Argument, precision: str, makers: Makers) -> str:
    """Returns the expression that makes an operand of a function's argument."""
    name = argument.name
    if argument.kind == "flag":
        return f"{makers.flag}({name})"
    if argument.kind == "dim":
        return f"{makers.integer}({name})"
    if argument.kind == "scalar" and precision in "cz":
        return f"{makers.complex}({name})"
    if argument.kind in ("scalar", "real_scalar"):
        return f"{makers.real}({name})"
    return f"{makers.place}({name}, {distance(argument) or 0})"


_MAKERS = Makers("ob_as_flag", "ob_as_integer", "ob_as_real", "ob_as_pair", "ob_as_place")


def _function(routine: table.Routine, precision: str) -> list[str]:
    name = routine.names()[precision]
    parameters = ["ob_queue queue", *(_parameter(a, precision) for a in routine.normal)]
    lines = ["", *emit.commented(routine.summary, "/* ", " */")]
    lines += [f"static inline ob_status ob_{name}("]
    lines += emit.wrapped(parameters, ") {")
    lines += [f"  ob_operand operands[{len(routine.normal)}];"]
    for i, argument in enumerate(routine.normal):
        lines.append(f"  operands[{i}] = {operand(argument, precision, _MAKERS)};")
    lines += [f'  return ob_call(queue, "{name}", operands, {len(routine.normal)});', "}"]
    return lines


def emit_header(routines: list[table.Routine]) -> str:
    lines = [line for r in routines for p in r.precisions for line in _function(r, p)]
    return emit.notice(__file__) + _HEAD + "\n".join(lines) + "\n" + _TAIL


if __name__ == "__main__":
    emit.main(__file__, emit_header)
