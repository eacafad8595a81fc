"""Emits calls of every row's functions (tests/interpose/foreign_call.hpp).

emit_calls.py --output FILE --file STEM TABLE...   the calls of the rows of one table
emit_calls.py --output FILE TABLE...               the list of them all, in the order of descriptors
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "codegen"))

import emit
import expressions
import parameters
import table
from arguments import Argument

NOTICE = "// Emitted by tests/interpose/emit_calls.py from routines/*.toml; edit those instead.\n"
HEAD = """
#include <algorithm>

#include "interpose/foreign_call.hpp"
#include "routines/expression.hpp"

namespace ob::test {
namespace {

using expression::log2;
"""
# The numbers of cblas.h: the first one of each enumeration, in the order of these characters.
ENUMERATIONS = {
    "trans": ("NTC", 111),
    "uplo": ("UL", 121),
    "diag": ("NU", 131),
    "side": ("LR", 141),
}
WORK_TYPES = {
    "element": "T",
    "real": "typename Passing<T, Int>::Real",
    "integer": "Int",
    "logical": "Int",
}


class Call:
    """One row's function in one precision and calling convention."""

    def __init__(self, routine: table.Routine, precision: str, abi: str) -> None:
        self.routine = routine
        self.precision = precision
        self.abi = abi

    @property
    def name(self) -> str:
        return f"{self.abi}_{self.routine.names()[self.precision]}"

    def size(self, work: Argument) -> str:
        """Returns the size of a workspace, from the problem's arguments."""

        def rename(name: str) -> str:
            argument = self.routine.argument(name)
            return f"p.{'upper_flag' if argument.is_flag else 'wide_dim'}({argument.index})"

        return expressions.translate(work.size, self.routine.scope(), rename, "integer")

    def integer(self, text: str) -> str:
        return f"p.integer({text})" if self.abi == "fortran" else f"static_cast<Int>({text})"

    def value(self, argument: Argument, kind: str) -> str:
        """Returns a flag, a dimension or a scalar. `kind` is its C type."""
        at = argument.index
        if argument.is_flag:
            if self.abi == "fortran":
                return f"p.flag_at({at})"
            if kind == "char":
                return f"p.flag({at})"
            values, first = ENUMERATIONS[argument.of]
            return f'p.enumeration({at}, "{values}", {first})'
        if argument.kind == "dim":
            return f"p.dim_at({at})" if self.abi == "fortran" else f"p.dim({at})"
        if kind != "void*":
            return f"p.template number<{kind}>({at})"
        return f"p.{'scalar' if argument.role == 'scalar' else 'real'}_at({at})"

    def is_workspace(self, argument: Argument) -> bool:
        """Returns true for a workspace. It is false if LAPACKE's high-level form has a parameter
        for the values that the workspace holds at the end."""
        return argument.role == "work" and not (self.abi == "lapacke" and argument.is_memory)

    def own(self, argument: Argument, kind: str) -> str:
        """Returns the value that is passed for an argument itself."""
        if argument.role == "callback":
            return "p.callback()"
        if self.is_workspace(argument):
            return f"p.template work<{WORK_TYPES[argument.type]}>({self.size(argument)})"
        if argument.kind in ("index_vector", "info"):
            return f"p.indices({argument.index})"
        if argument.is_memory:
            return f"p.data({argument.index})"
        return self.value(argument, kind)

    def passed(self) -> list[tuple[str, str]]:
        """Returns type and value of each parameter, in order."""
        if self.abi == "fortran":
            wanted = parameters.fortran(self.routine)
        else:
            wanted = parameters.c(self.routine, self.precision, self.abi)
        by_name = {a.name: a for a in self.routine.arguments}
        result = []
        for p in wanted:
            kind = "Int" if p.type == "std::int64_t" else p.type
            if p.name == "layout":
                value = "p.layout()"
            elif p.name in by_name:
                value = self.own(by_name[p.name], p.type)
            elif p.name.startswith("ld"):
                at = by_name[p.name[2:]].index
                value = f"p.ld_at({at})" if self.abi == "fortran" else f"p.ld({at})"
            else:
                work = by_name[p.name[1:]]
                of = WORK_TYPES[work.type]
                value = self.integer(f"p.template length<{of}>({self.size(work)})")
            result.append((kind, value))
        if self.abi == "fortran":
            result += [("std::size_t", "std::size_t{1}")] * len(self.routine.texts)
        return result

    def results(self) -> list[str]:
        """Returns lines that read the results which lie in a workspace."""
        lines = []
        for k, work in enumerate(w for w in self.routine.work if self.is_workspace(w)):
            if work.is_memory:
                lines.append(f"p.template take_first<{WORK_TYPES[work.type]}>({work.index}, {k});")
        return lines

    def text(self) -> list[str]:
        passed = self.passed()
        returned = parameters.value_type(self.routine, self.precision, self.abi)
        returned = returned.replace("std::int64_t", "Int")
        # Each value has a name of its own, because the order in which a call evaluates its
        # arguments is not defined.
        lines = [f"  {kind} v{i} = {value};" for i, (kind, value) in enumerate(passed)]
        types = ", ".join(kind for kind, _ in passed)
        values = ", ".join(f"v{i}" for i in range(len(passed)))
        call = f"reinterpret_cast<{returned} (*)({types})>(call.function)({values})"
        if self.abi.startswith("lapacke"):
            call = f"p.take_info({self.routine.argument('info').index}, {call})"
        elif returned != "void" and self.routine.result:
            call = f"p.take_result({self.routine.result.index}, {call})"
        return [
            "",
            "template <class Int>",
            f"void {self.name}(ForeignCall& call) {{",
            f"  using T = {emit.CPP_TYPES[self.precision]};",
            "  Passing<T, Int> p(call);",
            *lines,
            f"  {call};",
            *[f"  {line}" for line in self.results()],
            "}",
        ]


def entry(routine: table.Routine, precision: str, abis: list[str]) -> str:
    def pair(abi: str) -> str:
        name = Call(routine, precision, abi).name
        return f"{{{name}<std::int32_t>, {name}<std::int64_t>}}"

    pairs = [pair(abi) for abi in abis]
    if len(pairs) == 2:
        pairs.append("{nullptr, nullptr}")
    callback = any(a.role == "callback" for a in routine.arguments)
    flipped = 0
    for name in routine.row_major.flip:
        flag = routine.argument(name)
        if flag.of == "trans" and "T" in flag.values and precision in "cz":
            flipped |= 1 << flag.index
    return (
        f"    {{{', '.join(pairs)}, {sum(w.query for w in routine.work)},"
        f" {str(callback).lower()}, {str(routine.row_major.local).lower()}, {flipped:#x}}},"
    )


def emit_file(routines: list[table.Routine], file: str) -> str:
    lines = [NOTICE + HEAD.rstrip()]
    entries = []
    for routine in (r for r in routines if r.file == file):
        c = ["cblas"] if routine.library == "blas" else ["lapacke", "lapacke_work"]
        for precision in routine.precisions:
            for abi in ("fortran", *c):
                lines += Call(routine, precision, abi).text()
            entries.append(entry(routine, precision, ["fortran", *c]))
    return "\n".join([
        *lines, "", "}  // namespace", "",
        f"extern const ForeignCalls k{emit.camel(file)}Calls[];",
        f"const ForeignCalls k{emit.camel(file)}Calls[] = {{", *entries, "};", "",
        "}  // namespace ob::test", "",
    ])  # fmt: skip


def emit_list(routines: list[table.Routine]) -> str:
    files = list(dict.fromkeys(r.file for r in routines))
    lines = [NOTICE, '#include "interpose/foreign_call.hpp"', ""]
    lines += ["namespace ob::test {", ""]
    lines += [f"extern const ForeignCalls k{emit.camel(f)}Calls[];" for f in files]
    lines += ["", "const ForeignCalls& foreign_calls(std::size_t index) {"]
    for file in files:
        count = sum(len(r.precisions) for r in routines if r.file == file)
        lines.append(f"  if (index < {count}) return k{emit.camel(file)}Calls[index];")
        lines.append(f"  index -= {count};")
    lines += ["  std::abort();", "}", "", "}  // namespace ob::test", ""]
    return "\n".join(lines)


def main() -> None:
    parser = emit.parser(__file__)
    parser.add_argument("--file", help="stem of the table whose rows are emitted; else the list")
    emit.run(
        parser,
        lambda routines, options: (
            emit_file(routines, options.file) if options.file else emit_list(routines)
        ),
    )


if __name__ == "__main__":
    main()
