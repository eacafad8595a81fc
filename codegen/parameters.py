"""The parameters of an entry point in each calling convention, in order."""

from __future__ import annotations

import dataclasses

import table
from arguments import Argument

# The C types of by-value arguments. Integers and characters come in 64-bit registers.
_REALS = {"s": "float", "d": "double", "c": "float", "z": "double"}


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of an entry point."""

    name: str
    type: str


def fortran(routine: table.Routine) -> list[Parameter]:
    """Returns all parameters by reference, without hidden lengths."""
    result = []
    for argument in routine.arguments:
        if argument.role == "result":
            continue
        result.append(Parameter(argument.name, "void*"))
        if argument.has_ld:
            result.append(Parameter(f"ld{argument.name}", "void*"))
        if argument.query:
            result.append(Parameter(f"l{argument.name}", "void*"))
    return result


def _c_type(argument: Argument, precision: str, abi: str) -> str:
    if argument.kind == "flag":
        return "int" if abi == "cblas" else "char"
    if argument.kind == "dim":
        return "std::int64_t"
    if argument.role == "real_scalar" or (argument.role == "scalar" and precision in "sd"):
        return _REALS[precision]
    return "void*"


def has_layout(routine: table.Routine) -> bool:
    return routine.level > 1


def value_by_address(routine: table.Routine, precision: str) -> bool:
    """Returns true if CBLAS returns the value, which is complex, through a pointer."""
    result = routine.result
    return result is not None and precision in "cz" and result.type == "element"


def c(routine: table.Routine, precision: str, abi: str) -> list[Parameter]:
    """Returns the parameters of CBLAS (abi cblas), LAPACKE's high-level form (lapacke) and its
    middle one (lapacke_work)."""
    result = [Parameter("layout", "int")] if has_layout(routine) else []
    for argument in routine.arguments:
        if argument.role == "info":
            continue
        if argument.role == "result" and not value_by_address(routine, precision):
            continue
        if argument.role == "work" and abi == "lapacke":
            if argument.lapacke:
                result.append(Parameter(argument.name, "void*"))
            continue
        result.append(Parameter(argument.name, _c_type(argument, precision, abi)))
        if argument.has_ld:
            result.append(Parameter(f"ld{argument.name}", "std::int64_t"))
        if argument.query:
            result.append(Parameter(f"l{argument.name}", "std::int64_t"))
    return result


def value_type(routine: table.Routine, precision: str, abi: str) -> str:
    """Returns the C++ type of the entry's value."""
    if abi.startswith("lapacke"):
        return "std::int64_t"
    result = routine.result
    if result is None or (abi == "cblas" and value_by_address(routine, precision)):
        return "void"
    if result.type == "integer":
        return "std::int64_t"  # LP64 callers read its lower half
    if result.type == "double":
        return "double"
    real = _REALS[precision]
    return f"std::complex<{real}>" if value_by_address(routine, precision) else real


def slots(routine: table.Routine) -> list[str]:
    """Returns EntryRow::slots."""
    result = []
    for argument in routine.arguments:
        if argument.index >= 0:
            result.append(str(argument.index))
        elif argument.role == "callback":
            result.append("slot::kCallback")
        else:
            result.append("slot::kWorkResult" if argument.lapacke else "slot::kWork")
        if argument.query:
            result.append("slot::kLength")
    return result
