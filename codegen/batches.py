"""Emits the entries of CBLAS's batches of a routine (interpose/gemm_batch.hpp)."""

from __future__ import annotations

import emit
import names
import parameters
import signatures
import table
from parameters import Parameter
from signatures import Signature


def _grouped(routine: table.Routine) -> list[Parameter]:
    """Returns parameters: each array has one element per group, and arrays of operands have one per
    call. Source: MKL's reference manual, cblas_?gemm_batch; OpenBLAS's cblas.h has the same."""
    single = parameters.c(routine, "d", "cblas")[1:]
    arrays = [Parameter(p.name, "void*") for p in single]
    counts = [Parameter("group_count", "std::int64_t"), Parameter("group_size", "void*")]
    return [Parameter("layout", "int"), *arrays, *counts]


def _strided(routine: table.Routine, precision: str) -> list[Parameter]:
    """Returns the arguments of one call. The distance between the operands of two calls follows
    their leading dimension. Source: as above, cblas_?gemm_batch_strided."""
    result = []
    for p in parameters.c(routine, precision, "cblas"):
        result.append(p)
        if p.name.startswith("ld"):
            result.append(Parameter(f"stride{p.name[2:]}", "std::int64_t"))
    return [*result, Parameter("batch_size", "std::int64_t")]


def _signature(got: list[Parameter]) -> Signature:
    return Signature(signatures.letters(got), signatures.LETTERS["void"])


def signatures_of(routine: table.Routine) -> list[Signature]:
    """Returns the signatures of all batches of a routine."""
    if not routine.batched:
        return []
    strided = [_signature(_strided(routine, precision)) for precision in routine.precisions]
    return [_signature(_grouped(routine)), *strided]


def _entry(routine: table.Routine, precision: str, name: names.Name) -> list[str]:
    is_strided = "_strided" in name.symbol
    got = _strided(routine, precision) if is_strided else _grouped(routine)
    symbol, passed = name.symbol, ", ".join(p.name for p in got)
    position = routine.precisions.index(precision)
    return [
        "",
        f'constinit Symbol s_{symbol}{{"{symbol}"}};',
        f"OB_ENTRY void {symbol}({', '.join(f'{p.type} {p.name}' for p in got)}) {{",
        "  const void* const caller = __builtin_return_address(0);",
        "  if (is_small(std::numeric_limits<double>::max())) [[likely]] {",
        f"    void* const function = original(s_{symbol}, caller);",
        f"    return reinterpret_cast<decltype(&{symbol})>(function)({passed});",
        "  }",
        f"  const Raw raw[] = {{{passed}}};",
        f"  const Entry entry{{s_{symbol}, k{emit.camel(routine.key)}, {position}, Abi::cblas,"
        f" Integers::{name.integers}, {_signature(got).invoke}}};",
        f"  take_{'strided' if is_strided else 'grouped'}_batch(entry, raw, caller);",
        "}",
    ]


def emit_batches(routine: table.Routine) -> list[str]:
    lines: list[str] = []
    for precision in routine.precisions:
        for name in names.batch_names(routine, precision):
            lines += _entry(routine, precision, name)
    return lines
