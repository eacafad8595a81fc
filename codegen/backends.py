"""The routines of the table that the devices of each backend run: the last columns of the coverage
page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import table

# The routines that src/backend/cpu/substitutes.cpp computes with others if the daemon's library
# lacks them, and those others. tests/routines/coverage_test.py compares this with the file.
SUBSTITUTES = {
    "gemmt": "gemmtr, or gemm block by block",
    "gemmtr": "gemmt, or gemm block by block",
    "gemm3m": "gemm",
}

# The processor of the daemon's machine, with the cpu backend's library.
_PROCESSOR = "processor"
# The routines that src/backend/cuda does not run with the one function that a row's library is
# expected to have (cuBLAS for the BLAS; for LAPACK, the default is the processor).
# tests/routines/coverage_test.py compares this with that folder.
CUDA_BLAS = {
    "dsdot": _PROCESSOR,
    "gemmt": "cuBLAS (gemm block by block)",
    "gemmtr": "cuBLAS (gemm block by block)",
    "rotg": _PROCESSOR,
    "rotmg": _PROCESSOR,
    "sdsdot": _PROCESSOR,
}
CUDA_LAPACK = {
    "gebrd": "cuSOLVER if m >= n",
    "gels": "cuSOLVER if m >= n (geqrf, ormqr, trsm)",
    "geqrf": "cuSOLVER",
    "gesdd": "cuSOLVER (gesvd) unless over A",
    "gesv": "cuSOLVER (getrf, getrs)",
    "gesvd": "cuSOLVER unless over A",
    "getrf": "cuSOLVER",
    "getri": "cuSOLVER (getrs)",
    "getrs": "cuSOLVER",
    "orgqr": "cuSOLVER",
    "ormqr": "cuSOLVER",
    "posv": "cuSOLVER (potrf, potrs)",
    "potrf": "cuSOLVER",
    "potri": "cuSOLVER",
    "potrs": "cuSOLVER",
    "syev": "cuSOLVER (syevd)",
    "syevd": "cuSOLVER",
    "sygv": "cuSOLVER (sygvd)",
    "sygvd": "cuSOLVER",
    "sysv": "cuSOLVER (sytrf, sytrs)",
    "sytrd": "cuSOLVER",
    "sytrf": "cuSOLVER",
    "sytrs": "cuSOLVER",
    "trtri": "cuSOLVER",
    "trtrs": "cuBLAS (trsm)",
}


# The routines that src/backend/opencl runs on the device in another way than with CLBlast's
# function of the same name, which runs the rest of level 3. tests/routines/coverage_test.py
# compares this with that folder.
OPENCL_BLAS3 = {
    "gemm3m": "CLBlast (gemm)",
    "gemmt": "CLBlast (gemm block by block)",
    "gemmtr": "CLBlast (gemm block by block)",
}


def _opencl_cell(routine: table.Routine) -> str:
    if routine.library == "blas" and routine.level == 3:
        return OPENCL_BLAS3.get(routine.name, "CLBlast")
    return _PROCESSOR


def _cuda_cell(routine: table.Routine) -> str:
    if routine.library == "blas":
        return CUDA_BLAS.get(routine.name, "cuBLAS")
    return CUDA_LAPACK.get(routine.name, _PROCESSOR)


@dataclasses.dataclass(frozen=True)
class Backend:
    """One column of the page."""

    name: str  # the name of its folder
    computes_with: str
    missing: str  # the result for a routine that the backend lacks
    dense: str = "yes"  # the text of a cell
    transforms: str = "yes"
    substitutes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    cells: Callable[[table.Routine], str] | None = None  # replaces `dense`

    def cell(self, routine: table.Routine) -> str:
        if self.cells is not None:
            return self.cells(routine)
        if routine.name in self.substitutes:
            return f"{self.dense} (or {self.substitutes[routine.name]})"
        return self.dense


# The null backend has no column, because it only takes time and computes nothing.
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
    Backend(
        name="cuda",
        computes_with="cuBLAS, cuSOLVER and cuFFT, opened at run time, and kernels of its own",
        missing="What the cuda backend's column leaves to the processor (or does with a condition"
        " that a call does not fulfil) runs on the daemon's machine: operands are copied to host"
        " memory, its BLAS and LAPACK library computes, and the results are copied back.",
        transforms="cuFFT",
        cells=_cuda_cell,
    ),
    Backend(
        name="opencl",
        computes_with="CLBlast, opened at run time, and VkFFT",
        missing="What the opencl backend's column leaves to the processor, and double precision on"
        " a device that has none, runs on the daemon's machine: operands are copied to host memory,"
        " its BLAS and LAPACK library (or FFTW) computes, and the results are copied back.",
        transforms="VkFFT",
        cells=_opencl_cell,
    ),
)


def present(folder: Path) -> list[Backend]:
    """Returns the backends that have a folder in src/backend and compute, in the order of their
    names."""
    described = {b.name: b for b in _DESCRIBED}
    names = sorted(p.name for p in folder.iterdir() if (p / "CMakeLists.txt").is_file())
    unknown = "not described yet (codegen/backends.py)"
    return [
        described.get(name) or Backend(name, unknown, "", dense="?", transforms="?")
        for name in names
        if name not in _COMPUTES_NOTHING
    ]
