#!/usr/bin/env python3
"""Emits the exported functions of a stand-in. The prototypes come from NVIDIA's header.

A function like cublasDgemm_v2_64 becomes a call of a C++ function of the family, `gemm`, which is
overloaded or a template. Its first argument is the exported name; those of the header follow.
Complex pointers become pointers to std::complex. Families without an implementation are left out.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

# Functions of cuBLAS: one or two letters name the types. In I.amax and I.amin they follow the I.
BLAS = re.compile(
    r"cublas(?P<types>I[sdcz]|(?:Sc|Dz|Cs|Zd)(?=nrm2|asum|scal|rot)|[SDCZ])"
    r"(?P<family>[a-z][A-Za-z0-9]*?)(?:_v2)?(?:_64)?"
)
SOLVER = re.compile(r"cusolverDn(?P<types>[SDCZ])(?P<family>[a-z][A-Za-z0-9]*(?:_bufferSize)?)")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def prototypes(text: str) -> list[tuple[str, str]]:
    """Returns names and parameter lists of the functions that return a status."""
    plain = COMMENT.sub(" ", text)
    plain = re.sub(r"^\s*#.*?(?<!\\)$", "", plain, flags=re.MULTILINE)
    found = re.findall(
        r"cu(?:blas|solver)Status_t\s+(?:CUBLASWINAPI|CUSOLVERAPI)\s+(\w+)\s*\(([^;{]*)\)\s*;",
        plain,
    )
    return [(name, re.sub(r"\s+", " ", parameters)) for name, parameters in found]


def names(parameters: str) -> list[str]:
    """Returns the names of the parameters of a list."""
    result = []
    for parameter in parameters.split(","):
        match = re.search(r"(\w+)\s*(?:\[\s*\])?\s*$", parameter)
        if match is None:
            raise SystemExit(f"no name in {parameter!r}")
        result.append(match.group(1))
    return result


def family(name: str) -> str | None:
    """Returns the name of the C++ function that implements `name`, or None."""
    for pattern in (BLAS, SOLVER):
        match = pattern.fullmatch(name)
        if match is not None:
            found = match["family"]
            if match["types"].startswith("I"):
                found = "i" + found
            return found
    return None


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--header", type=Path, required=True)
    parser.add_argument("--include", action="append", default=[], help="with the families")
    parser.add_argument("--families", required=True, help="implemented ones, with commas")
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--into", type=Path, required=True)
    options = parser.parse_args()
    known = set(options.families.split(","))
    lines = [f'#include "{include}"' for include in options.include]
    lines += ["using standin::as;", 'extern "C" {']
    emitted = set()
    for name, parameters in prototypes(options.header.read_text(encoding="utf-8")):
        implementation = family(name)
        if implementation not in known or name in emitted:
            continue
        emitted.add(name)
        status = "cublasStatus_t" if name.startswith("cublas") else "cusolverStatus_t"
        arguments = ", ".join(f"as({argument})" for argument in names(parameters))
        lines.append(f"{status} {name}({parameters}) {{")
        lines.append(f"  return {options.namespace}::{implementation}(__func__, {arguments});")
        lines.append("}")
    lines.append("}")
    absent = known - {family(name) for name in emitted}
    if absent:
        raise SystemExit(f"{options.header} has no {', '.join(sorted(absent))}")
    options.into.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
