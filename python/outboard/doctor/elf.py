"""Reads the symbol tables of programs and libraries."""

from __future__ import annotations

import functools
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from elftools.elf.segments import InterpSegment

# An object with none of these stems among its names has none of the symbols that we look for. Most
# objects have none, and reading the symbols of a large one takes seconds.
_STEMS = (b"gemm", b"fftw", b"getrf", b"syrk", b"trsm", b"potrf", b"gesv", b"axpy", b"gemv")


@dataclass(frozen=True)
class Object:
    """The parts of an ELF file that the checks use."""

    path: Path
    machine: str
    bits: int
    interpreter: str | None  # the dynamic loader of a program; None if the program needs none
    exports: frozenset[str]  # functions that other objects can bind to
    imports: frozenset[str]
    inner: frozenset[str]  # functions that only the object itself can call


@functools.cache
def read(path: Path) -> Object | None:
    """Returns the object at `path`; None if it is no ELF file or cannot be read."""
    try:
        with path.open("rb") as file:
            return _read(path, ELFFile(file))
    except (OSError, ELFError):
        return None


def _read(path: Path, elf: ELFFile) -> Object:
    interpreter = None
    for segment in elf.iter_segments():
        if isinstance(segment, InterpSegment):
            interpreter = segment.get_interp_name()
    exports, imports = _names(elf, ".dynsym")
    inner, _ = _names(elf, ".symtab")
    return Object(
        path=path,
        machine=elf["e_machine"],
        bits=elf.elfclass,
        interpreter=interpreter,
        exports=frozenset(exports),
        imports=frozenset(imports),
        inner=frozenset(inner - exports),
    )


def _names(elf: ELFFile, section: str) -> tuple[set[str], set[str]]:
    """Returns the functions that a symbol table defines, and the names that it does not define."""
    table = elf.get_section_by_name(section)
    if not isinstance(table, SymbolTableSection):
        return set(), set()
    text = table.stringtable.data()
    if not any(stem in text for stem in _STEMS):
        return set(), set()
    defined, wanted = set(), set()
    for symbol in table.iter_symbols():
        if symbol["st_shndx"] == "SHN_UNDEF":
            wanted.add(symbol.name)
        elif symbol["st_info"]["type"] in ("STT_FUNC", "STT_GNU_IFUNC", "STT_LOOS"):
            defined.add(symbol.name)
    return defined, wanted


# Texts that a statically linked library leaves in a program, even in one without symbol names.
_MARKS = {
    "MKL": b"Math Kernel Library",
    "OpenBLAS": b"OpenBLAS 0.",
    "FFTW": b"fftw-3.",
}


def marks(path: Path) -> Iterator[str]:
    """Yields the libraries whose version text is in the file."""
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            for library, mark in _MARKS.items():
                if content.find(mark) >= 0:
                    yield library
    except (OSError, ValueError):
        return
