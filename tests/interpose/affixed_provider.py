"""Emits a library with every name of the table in every affix. The names jump to OpenBLAS and
LAPACKE.

Names that mean 64-bit integers go to OpenBLAS's ILP64 build, and all others to the LP64 build. The
code is x86-64 assembly.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "codegen"))

import names
import table

LIBRARIES = {
    "lp64": "libopenblas.so.0",
    "ilp64": "libopenblas64.so.0",
    "lapacke": "liblapacke.so.3",
}
HEAD = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
struct target { void** slot; int library; const char* name; };
static void missing(void) {
  fputs("affixed_provider: a function was called that no library here has\\n", stderr);
  abort();
}
// After a remote call the original is asked how much workspace it likes. What it should do with any
// other call, nobody here knows: tests see that results are missing.
static long unanswered(void) { return 0; }
"""
TAIL = """
__attribute__((constructor)) static void resolve(void) {
  void* handles[3];
  // Deep: two OpenBLAS in one process would otherwise find each other's inner functions.
  const int deep = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
  for (int i = 0; i < 3; ++i) handles[i] = dlopen(libraries[i], deep);
  for (unsigned i = 0; i < sizeof targets / sizeof *targets; ++i) {
    const struct target* t = &targets[i];
    void* found = handles[t->library] ? dlsym(handles[t->library], t->name) : 0;
    if (found) *t->slot = found;
  }
}
"""


def main() -> None:
    output, *paths = (Path(a) for a in sys.argv[1:])
    rows = table.load(paths)
    lines = [HEAD, "static const char* const libraries[] = {"]
    lines += [f'  "{file}",' for file in LIBRARIES.values()]
    lines += ["};"]
    targets = []
    for row in rows:
        for precision in row.precisions:
            all_names = names.names(row, precision)
            for name in all_names:
                # The first name of a calling convention is the plain one.
                stem = next(n.symbol for n in all_names if n.abi == name.abi)
                library = "ilp64" if name.integers == "ilp64" else "lp64"
                if name.abi.startswith("lapacke"):
                    # there is no ILP64 build, so ILP64 names cannot be jumped to
                    library = "lapacke"
                slot = f"slot_{name.symbol}"
                is_query = name.abi == "lapacke_work" and name.integers == "ilp64"
                absent = "unanswered" if is_query else "missing"
                lines.append(f'void* {slot} __attribute__((visibility("hidden"))) = {absent};')
                declared = f".globl {name.symbol}\\n.type {name.symbol},@function\\n"
                jump = f"{name.symbol}: jmp *{slot}(%rip)\\n"
                lines.append(f'__asm__(".pushsection .text\\n{declared}{jump}.popsection\\n");')
                if not (library == "lapacke" and name.integers == "ilp64"):
                    targets.append(f'  {{&{slot}, {list(LIBRARIES).index(library)}, "{stem}"}},')
    lines += ["static const struct target targets[] = {", *targets, "};", TAIL]
    output.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
