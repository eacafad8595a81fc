"""The names under which libraries export a routine, and the ABI that each name means."""

from __future__ import annotations

import dataclasses

import table


@dataclasses.dataclass(frozen=True)
class Name:
    """One exported symbol."""

    symbol: str
    abi: str  # fortran, cblas, lapacke, lapacke_work: ob::interpose::Abi
    integers: str  # lp64, ilp64, or unasked: depends on the library behind the name
    alias_of: str = ""  # the Fortran name that a genuine provider of this alias also has


# (prefix, suffix, integers): plain names; OpenBLAS wheels and Julia; reference LAPACK 3.12 and MKL;
# SciPy's wheels; NumPy 2's.
_AFFIXES = (
    ("", "", "unasked"),
    ("", "64_", "ilp64"),
    ("", "_64", "ilp64"),
    ("scipy_", "", "lp64"),
    ("scipy_", "64_", "ilp64"),
)


def fortran_names(name: str) -> list[Name]:
    fixed = [
        Name(f"{prefix}{name}_{suffix}", "fortran", integers)
        for prefix, suffix, integers in _AFFIXES
        if suffix != "_64"  # would be dgemm__64; "dgemm_64_" is both families' Fortran name
    ]
    aliases = (name, name.upper(), f"{name.upper()}_")  # MKL, AOCL-BLIS, FlexiBLAS
    return fixed + [Name(alias, "fortran", "unasked", f"{name}_") for alias in aliases]


def c_names(stem: str, abi: str) -> list[Name]:
    return [Name(f"{prefix}{stem}{suffix}", abi, integers) for prefix, suffix, integers in _AFFIXES]


def names(routine: table.Routine, precision: str) -> list[Name]:
    """Returns all names of a routine in one precision."""
    name = routine.names()[precision]
    if routine.library == "blas":
        # Compilers do not agree on the registers in which C returns a complex value.
        by_address = routine.result and precision in "cz" and routine.result.type == "element"
        stem = f"cblas_{name}_sub" if by_address else f"cblas_{name}"
        return fortran_names(name) + c_names(stem, "cblas")
    return (
        fortran_names(name)
        + c_names(f"LAPACKE_{name}", "lapacke")
        + c_names(f"LAPACKE_{name}_work", "lapacke_work")
    )


def batch_names(routine: table.Routine, precision: str) -> list[Name]:
    """Returns the names for groups of calls, and for calls whose operands lie at equal
    distances."""
    if not routine.batched:
        return []
    stem = f"cblas_{routine.names()[precision]}_batch"
    return c_names(stem, "cblas") + c_names(f"{stem}_strided", "cblas")


def all_names(routines: list[table.Routine]) -> list[Name]:
    return [n for r in routines for p in r.precisions for n in names(r, p) + batch_names(r, p)]
