"""Emits a library with every name of the table in every affix, jumps to OpenBLAS and LAPACKE.

Names that promise 64-bit integers go to OpenBLAS's ILP64 build, all others to the LP64 one.
x86-64 assembly.
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
"""
TAIL = """
__attribute__((constructor)) static void resolve(void) {
  void* handles[3];
  // Deep: two OpenBLAS in one process would otherwise find each other's inner functions.
  const int deep = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
  for (int i = 0; i < 3; ++i) handles[i] = dlopen(libraries[i], deep);
  for (unsigned i = 0; i < sizeof targets / sizeof *targets; ++i) {
    const struct target* t = &targets[i];
    if (handles[t->library]) *t->slot = dlsym(handles[t->library], t->name);
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
        for precision, plain in row.names().items():
            for name in names.names(row, precision):
                stem = plain + "_"
                library = "ilp64" if name.integers == "ilp64" else "lp64"
                if name.abi == "cblas":
                    stem = f"cblas_{plain}"
                elif name.abi.startswith("lapacke"):
                    stem = f"LAPACKE_{plain}" + ("_work" if name.abi.endswith("_work") else "")
                    library = "lapacke"  # there is no ILP64 one: those names cannot be jumped to
                slot = f"slot_{name.symbol}"
                lines.append(f'void* {slot} __attribute__((visibility("hidden")));')
                declared = f".globl {name.symbol}\\n.type {name.symbol},@function\\n"
                jump = f"{name.symbol}: jmp *{slot}(%rip)\\n"
                lines.append(f'__asm__(".pushsection .text\\n{declared}{jump}.popsection\\n");')
                if not (library == "lapacke" and name.integers == "ilp64"):
                    targets.append(f'  {{&{slot}, {list(LIBRARIES).index(library)}, "{stem}"}},')
    lines += ["static const struct target targets[] = {", *targets, "};", TAIL]
    output.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
