"""Emits the FFTW entry points of the drop-in library from routines/fftw.toml.

    emit_fftw.py --output-dir DIR routines/fftw.toml [more rows...]

It writes DIR/fftw_entries.cpp and DIR/fftw_exports.txt (the exported names, one in each line).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import fftw_table
from fftw_table import Library, Routine, Table

HEADER = """\
// Emitted by codegen/emit_fftw.py from routines/fftw.toml. Do not edit.

#include <cstddef>

#include "interpose/fftw_entry.hpp"
#include "interpose/fftw_fortran.hpp"

namespace {

using namespace ob;
using namespace ob::interpose;

"""

SIGN_WITHOUT_ONE = {"c2c": "-1", "r2c": "-1", "c2r": "1", "r2r": "-1"}

# The C type of each role, as the C interface passes it.
C_TYPES = {
    **dict.fromkeys(
        ("rank", "n0", "n1", "n2", "howmany", "istride", "idist", "ostride", "odist", "sign"), "int"
    ),
    **dict.fromkeys(("n", "inembed", "onembed", "kind"), "const int*"),
    **dict.fromkeys(("is", "os", "h_n", "h_is", "h_os"), "const int*"),
    **dict.fromkeys(fftw_table.ONE_KIND_EACH, "int"),  # enumerators pass as integers
    "howmany_rank": "int",
    "flags": "unsigned",
    **dict.fromkeys(("dims", "howmany_dims"), "const FftwIodim<int>*"),
    **dict.fromkeys(("dims64", "howmany_dims64"), "const FftwIodim<std::ptrdiff_t>*"),
    **dict.fromkeys(("in", "out", "ri", "ii", "ro", "io"), "void*"),
}
ARRAYS = ("in", "out", "ri", "ii", "ro", "io")
PLAN_TYPES = {"execute": "const void*", "execute_new": "const void*", "destroy": "void*"}


def library_constant(library: Library) -> str:
    return f"k_{library.prefix}library"


def parameter_type(routine: Routine, role: str) -> str:
    """Returns the type of one parameter in the routine's ABI."""
    if routine.abi == "fortran":
        if role == "plan":
            return "void**"
        kind = C_TYPES[role]
        if kind.endswith("*"):
            return kind
        return "int*" if role == "flags" else f"const {kind}*"
    return PLAN_TYPES[routine.action] if role == "plan" else C_TYPES[role]


def arrays_expression(routine: Routine) -> str:
    """Returns the FftwArrays of a function's arguments."""
    has = routine.arrays
    order = ("ri" if "ri" in has else "in", "ro" if "ro" in has else "out", "ii", "io")
    if not routine.split:
        return "{in, out}"
    return "{" + ", ".join(a if a in has else "nullptr" for a in order) + "}"


def shape_expression(routine: Routine, call: str) -> str:
    """Returns the call that converts a maker's lengths and strides to the normal form."""
    if routine.form in ("1d", "2d", "3d"):
        return f"basic_problem({call}, {routine.form[0]}, lengths)"
    if routine.form == "basic":
        return f"basic_problem({call}, rank, n)"
    if routine.form == "many":
        layout = "{inembed, istride, idist}, {onembed, ostride, odist}"
        return f"many_problem({call}, rank, n, howmany, {layout})"
    if routine.form == "guru_parts":
        return f"guru_problem({call}, rank, dims.data(), howmany_rank, howmany_dims.data())"
    suffix = "64" if routine.form == "guru64" else ""
    return f"guru_problem({call}, rank, dims{suffix}, howmany_rank, howmany_dims{suffix})"


def problem_expression(routine: Routine, library: Library) -> str:
    """Returns the call that converts a maker's arguments to the normal form."""
    sign = "sign" if "sign" in routine.arguments else SIGN_WITHOUT_ONE[routine.kind]
    split = ", true" if routine.split else ""
    call = (
        f"{{FftKind::{routine.kind}, Precision::{library.precision}, {sign}, flags, "
        f"{arrays_expression(routine)}{split}}}"
    )
    shape = shape_expression(routine, call)
    return f"with_kinds({shape}, kind)" if routine.kind == "r2r" else shape


def lengths_lines(routine: Routine) -> list[str]:
    """Returns arrays of the lengths and kinds that the forms with fixed ranks pass one by one."""
    if routine.form not in ("1d", "2d", "3d"):
        return []
    lines = [f"const int lengths[] = {{{', '.join(fftw_table.FORMS[routine.form])}}};"]
    if routine.kind == "r2r":
        kinds = fftw_table.ONE_KIND_EACH[: int(routine.form[0])]
        lines.append(f"const int kind[] = {{{', '.join(kinds)}}};")
    return lines


def fortran_locals(routine: Routine) -> list[str]:
    """Returns copies by value of Fortran's arguments by reference, with dimensions in C's order."""
    parts = fftw_table.FORMS["guru_parts"] if routine.form == "guru_parts" else ()
    lines = []
    for role in routine.arguments:
        if role in ("n", "inembed", "onembed", "kind") and role not in parts:
            lines.append(f"const ReversedInts {role}_c({role}_f, *rank_f);")
            lines.append(f"const int* const {role} = {role}_c.data();")
        elif role == "flags":
            lines.append("const auto flags = static_cast<unsigned>(*flags_f);")
        elif role not in ("plan", *ARRAYS) and (role not in parts or role.endswith("rank")):
            lines.append(f"const int {role} = *{role}_f;")
    if parts:
        lines.append("const FortranDims dims(n_f, is_f, os_f, rank);")
        lines.append("const FortranDims howmany_dims(h_n_f, h_is_f, h_os_f, howmany_rank);")
    return lines


def maker_body(routine: Routine, library: Library) -> list[str]:
    fortran = routine.abi == "fortran"
    lines = fortran_locals(routine) if fortran else []
    lines += lengths_lines(routine)
    lines.append(f"const FftwProblem problem = {problem_expression(routine, library)};")
    end = f"{library_constant(library)}, address(native), caller"
    if not fortran:
        passed = ", ".join("native_flags" if a == "flags" else a for a in routine.arguments)
        lines.append(f"return make_fftw_plan(problem, {end}, [&](unsigned native_flags) {{")
        lines.append(f"  return native({passed});")
        lines.append("});")
        return lines
    names = {**dict(zip(ARRAYS, ARRAYS, strict=True)), "plan": "plan", "flags": "&native_flags_f"}
    passed = ", ".join(names.get(a, a + "_f") for a in routine.arguments)
    lines.append(f"*plan = make_fftw_plan(problem, {end}, [&](unsigned native_flags) {{")
    lines.append("  int native_flags_f = static_cast<int>(native_flags);")
    lines.append(f"  native({passed});")
    lines.append("  return *plan;")
    lines.append("});")
    return lines


def other_body(routine: Routine, library: Library) -> list[str]:
    plan = "*plan" if routine.abi == "fortran" else "plan"
    passed = ", ".join(routine.arguments)
    if routine.action == "execute":
        return [
            f"const FftwPlan* known = find_fftw_plan({plan});",
            f"if (known == nullptr) return native()({passed});",
            f"execute_fftw_plan(*known, {plan});",
        ]
    if routine.action == "execute_new":
        form = f"FftKind::{routine.kind}, {'true' if routine.split else 'false'}"
        return [
            f"const FftwPlan* known = find_fftw_plan({plan});",
            f"const bool fits = known != nullptr && has_form(*known, {form});",
            f"if (!fits) return native()({passed});",
            f"execute_fftw_plan(*known, {plan}, {arrays_expression(routine)});",
        ]
    if routine.action == "destroy":
        return [f"if (!destroy_fftw_plan({plan})) native()({passed});"]
    return [
        "const auto function = native();",
        f"forget_fftw_plans({library_constant(library)}, address(function));",
        "function();",
    ]


def entry(routine: Routine, library: Library, symbol: str) -> str:
    """Returns one exported function."""
    types = [parameter_type(routine, role) for role in routine.arguments]
    by_reference = ("plan", *ARRAYS)
    fortran = routine.abi == "fortran"
    names = [a if not fortran or a in by_reference else a + "_f" for a in routine.arguments]
    parameters = ", ".join(f"{t} {n}" for t, n in zip(types, names, strict=True))
    is_maker = routine.action == "plan"
    result = "void*" if is_maker and not fortran else "void"
    lines = [
        f"using Function = {result} (*)({', '.join(types)});",
        "const void* const caller = __builtin_return_address(0);",
    ]
    lookup = f"native_function<Function>(k_{symbol}, caller)"
    if is_maker:
        lines.append(f"const Function native = {lookup};")
        lines += maker_body(routine, library)
    else:
        lines.append(f"const auto native = [caller] {{ return {lookup}; }};")
        lines += other_body(routine, library)
    body = "\n".join("  " + line for line in lines)
    return f"{EXPORT} {result} {symbol}({parameters}) noexcept {{\n{body}\n}}\n"


EXPORT = 'extern "C" [[gnu::visibility("default")]]'


def slots(table: Table) -> str:
    """Returns one lookup slot per symbol."""
    lines = [f'constinit Symbol k_{s}{{"{s}"}};\n' for s in table.symbols()]
    return "".join(lines)


def emit(table: Table) -> str:
    """Returns all entry points."""
    parts = [HEADER]
    for library in table.libraries:
        parts.append(
            f"constexpr FftwLibrary {library_constant(library)}"
            f'{{"{library.prefix}", Precision::{library.precision}}};\n'
        )
    parts.append(slots(table))
    parts.append("\n}  // namespace\n\n")
    for library in table.libraries:
        for routine in table.routines:
            parts += [entry(routine, library, symbol) + "\n" for symbol in routine.symbols(library)]
    return "".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Emits the FFTW entry points of the drop-in library."
    )
    parser.add_argument("--output-dir", type=Path, required=True)
    parser.add_argument("tables", type=Path, nargs="+")
    options = parser.parse_args()
    try:
        table = fftw_table.load(options.tables)
    except (OSError, fftw_table.TableError) as error:
        print(f"emit_fftw.py: {error}", file=sys.stderr)
        return 1
    options.output_dir.mkdir(parents=True, exist_ok=True)
    (options.output_dir / "fftw_entries.cpp").write_text(emit(table), encoding="utf-8")
    exports = "".join(s + "\n" for s in table.symbols())
    (options.output_dir / "fftw_exports.txt").write_text(exports, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
