"""Writes the names of routines as patterns for people: `cblas_<name>64_` means that of every
routine."""

from __future__ import annotations

import names
import table

HEAD = ("interface", "integers", "names", "routines")
TEXT = (
    "`<name>` is a routine of the columns s, d, c and z below, `<NAME>` the same in capitals.",
    "LP64: integers have 32 bits; ILP64: 64. Plain names have those of the library behind them,",
    "which is asked.",
    "",
)

_INTERFACES = {
    "fortran": "Fortran",
    "cblas": "CBLAS",
    "lapacke": "LAPACKE",
    "lapacke_work": "LAPACKE",
}
_INTEGERS = {"unasked": "the library's", "lp64": "32-bit", "ilp64": "64-bit"}
_WIDTHS = {"unasked": ("LP64", "ILP64"), "lp64": ("LP64",), "ilp64": ("ILP64",)}


def _all(routine: table.Routine, precision: str) -> list[names.Name]:
    return names.names(routine, precision) + names.batch_names(routine, precision)


def widths(routine: table.Routine) -> dict[str, str]:
    """Returns interface (fortran, c) -> the integers that callers may have."""
    found: dict[str, set[str]] = {"fortran": set(), "c": set()}
    for name in names.names(routine, routine.precisions[0]):
        interface = "fortran" if name.abi == "fortran" else "c"
        found[interface] |= set(_WIDTHS[name.integers])
    return {key: " ".join(sorted(value, reverse=True)) for key, value in found.items()}


def count(routines: list[table.Routine]) -> int:
    """Returns the number of names that the drop-in library exports for these rows."""
    return len(names.all_names(routines))


def _pattern(name: names.Name, routine: str) -> str:
    return name.symbol.replace(routine, "<name>").replace(routine.upper(), "<NAME>")


def _who(having: set[str], everybody: set[str]) -> str:
    """Returns, in few words, the routines that have a name of some pattern."""
    others = everybody - having
    if not others:
        return "all"
    if len(others) < len(having):
        return "all but " + " ".join(sorted(others))
    return " ".join(sorted(having))


def interfaces(routines: list[table.Routine]) -> list[list[str]]:
    """Returns patterns by interface and integers, with the routines that have them."""
    having: dict[tuple[str, str, str], set[str]] = {}
    everybody: dict[str, set[str]] = {}  # the routines of an interface
    for routine in routines:
        for precision, name in routine.names().items():
            for symbol in _all(routine, precision):
                interface = _INTERFACES[symbol.abi]
                key = (interface, symbol.integers, _pattern(symbol, name))
                having.setdefault(key, set()).add(name)
                everybody.setdefault(interface, set()).add(name)
    lines: dict[tuple[str, str, str], list[str]] = {}
    for (interface, integers, pattern), who in having.items():
        routine_names = _who(who, everybody[interface])
        lines.setdefault((interface, integers, routine_names), []).append(f"`{pattern}`")
    return [
        [interface, _INTEGERS[integers], " ".join(patterns), who]
        for (interface, integers, who), patterns in sorted(
            lines.items(),
            key=lambda item: (list(_INTERFACES.values()).index(item[0][0]), item[0][2]),
        )
    ]
