"""Emits include/outboard/device_routines.f90: a Fortran function for each routine of the device
API."""

from __future__ import annotations

import emit
import table
from arguments import Argument
from emit_device_routines import Makers, distance, operand

# Without the pattern of emit.notice(): a preprocessor takes it for the start of a comment.
_HEAD = """! Emitted by codegen/emit_device_fortran.py from the tables of routines; edit those.

! The routines of ob_call() as functions, which return what ob_call() returns. Their arguments are
! those of the Fortran interface without workspaces and their lengths; operands are places on the
! device. Pivots, info and integer results are 64-bit integers there. A program compiles this file
! after outboard/device.f90.
!
!   use outboard_device_routines
!   call ob_check(ob_dgemm(queue, 'N', 'T', m, n, k, 1d0, a, lda, b, ldb, 0d0, c, ldc))
module outboard_device_routines
  use outboard_device
  implicit none
  public

contains
"""


def _type(argument: Argument, precision: str) -> str:
    if argument.kind == "flag":
        return "character, intent(in)"
    if argument.kind == "dim":
        return "integer, intent(in)"
    if argument.kind == "scalar" and precision in "cz":
        return "complex(c_double_complex), intent(in), target"
    if argument.kind in ("scalar", "real_scalar"):
        return "real(c_double), intent(in)"
    return "type(ob_place), intent(in)"


_MAKERS = Makers("ob_flag", "ob_integer", "ob_real", "ob_complex", "ob_matrix")


def _wrapped(items: list[str], end: str) -> list[str]:
    lines = emit.wrapped(items, end, indent=8, width=98)
    return [f"{line} &" for line in lines[:-1]] + lines[-1:]


def _function(routine: table.Routine, precision: str) -> list[str]:
    name = routine.names()[precision]
    declared = ["type(ob_queue), intent(in) :: queue"]
    parameters = ["queue"]
    for argument in routine.normal:
        parameters.append(argument.name)
        declared.append(f"{_type(argument, precision)} :: {argument.name}")
        if ld := distance(argument):
            parameters.append(ld)
            declared.append(f"integer, intent(in) :: {ld}")
    count = len(routine.normal)
    lines = ["", *emit.commented(routine.summary, "  ! "), f"  function ob_{name}( &"]
    lines += _wrapped(parameters, ") result(status)")
    lines += [f"    {line}" for line in declared]
    lines += ["    integer(c_int32_t) :: status", f"    type(ob_operand) :: operands({count})"]
    for i, argument in enumerate(routine.normal):
        lines.append(f"    operands({i + 1}) = {operand(argument, precision, _MAKERS)}")
    call = f"'{name}' // c_null_char, operands, {count}_c_size_t"
    return [*lines, f"    status = ob_call(queue, {call})", "  end function"]


def emit_module(routines: list[table.Routine]) -> str:
    functions = [line for r in routines for p in r.precisions for line in _function(r, p)]
    return _HEAD + "\n".join(functions) + "\nend module\n"


if __name__ == "__main__":
    emit.main(__file__, emit_module)
