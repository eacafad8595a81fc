"""What the devices of each backend run of the table: the last columns of the coverage page."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import table

# Routines that src/backend/cpu/substitutes.cpp carries out with others where the daemon's library
# lacks them (tests/routines/coverage_test.py compares the two), and with which.
SUBSTITUTES = {
    "gemmt": "gemmtr, or gemm block by block",
    "gemmtr": "gemmt, or gemm block by block",
    "gemm3m": "gemm",
}


@dataclasses.dataclass(frozen=True)
class Backend:
    """One column."""

    name: str  # of its folder
    computes_with: str
    missing: str  # what happens to a routine that it lacks
    dense: str = "yes"  # a cell
    transforms: str = "yes"
    substitutes: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def cell(self, routine: table.Routine) -> str:
        if routine.name in self.substitutes:
            return f"{self.dense} (or {self.substitutes[routine.name]})"
        return self.dense


# The null backend has no column: it keeps time and computes nothing.
_COMPUTES_NOTHING = ("null",)
_DESCRIBED = (
    Backend(
        name="cpu",
        computes_with="OpenBLAS, else libblas and liblapack, or the library that OUTBOARD_BLAS"
        " names, with 32-bit integers; FFTW",
        missing="A routine that the daemon's library lacks is done with others where this page"
        " says so; otherwise the call is refused and completes locally.",
        substitutes=SUBSTITUTES,
    ),
)


def present(folder: Path) -> list[Backend]:
    """The backends that have a folder in src/backend and compute, in the order of their names."""
    described = {b.name: b for b in _DESCRIBED}
    names = sorted(p.name for p in folder.iterdir() if (p / "CMakeLists.txt").is_file())
    unknown = "not described yet (codegen/backends.py)"
    return [
        described.get(name) or Backend(name, unknown, "", dense="?", transforms="?")
        for name in names
        if name not in _COMPUTES_NOTHING
    ]
