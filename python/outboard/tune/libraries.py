"""Chooses the local libraries that are measured."""

from __future__ import annotations

import ctypes.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError

# The libraries that programs are linked with, in the order of link lines. The first library of each
# group that exists is used.
_USUAL = (
    (("liblapack.so.3", "lapack"), ("libopenblas.so.0", "openblas")),
    (("libblas.so.3", "blas"), ("libopenblas.so.0", "openblas")),
    (("libfftw3.so.3", "fftw3"),),
    (("libfftw3f.so.3", "fftw3f"),),
)
_LEARN = (
    "`outboard run --learn --mode trace -- COMMAND` measures it in the program itself, and with "
    "--mode remote the server"
)


def usual() -> tuple[str, ...]:
    """Returns the usual libraries that this system's loader finds."""
    found = []
    for group in _USUAL:
        names = [soname for soname, short in group if ctypes.util.find_library(short)]
        found += names[:1]
    return tuple(dict.fromkeys(found))


def named(given: Sequence[str]) -> tuple[str, ...]:
    """Returns files by their whole path, and other libraries by the name that the loader looks
    for."""
    for name in given:
        if "/" in name and not Path(name).is_file():
            raise OutboardError(f"there is no library {name}; check the path")
    return tuple(os.path.abspath(name) if "/" in name else name for name in given)


def of_command(
    command: Sequence[str], native: paths.Native, seconds: float, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Runs `command` under the drop-in library for `seconds` at most. Returns the libraries that it
    binds."""
    try:
        from outboard.doctor import elf, interposition
        from outboard.doctor.finding import Level
    except ModuleNotFoundError as error:
        raise OutboardError(
            f"finding the libraries of a command needs {error.name} (it is not installed); "
            "pip install 'outboard[doctor]', or name them with --library"
        ) from error
    found, providers = interposition.check(command, native.preload, seconds, environment)
    objects = [one for path in providers if (one := elf.read(path))]
    plain = [str(one.path) for one in objects if is_plain(one.exports)]
    if plain:
        return tuple(plain)
    name = Path(command[0]).name
    if objects:
        text = f"{name} uses {objects[0].path.name}, whose routines have names of its own"
        raise OutboardError(f"{text} (so nothing else can call them the same way); {_LEARN}")
    wrong = [f.text for f in found if f.level is Level.PROBLEM]
    why = wrong[0] if wrong else "it opened no such library"
    raise OutboardError(
        f"no library of routines was found that {name} binds ({why}); see `outboard doctor -- "
        "COMMAND`, or name one with --library"
    )


def is_plain(exports: frozenset[str]) -> bool:
    """Returns true if the routines have their standard names."""
    return bool(exports & {"dgemm_", "dgetrf_", "fftw_execute", "fftwf_execute"})


def without_blanks(libraries: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Returns names that LD_PRELOAD can hold: for paths with a blank or a colon, links in
    `folder`."""
    kept: list[str] = []
    for library in libraries:
        if any(c in library for c in ": \t\n"):
            link = folder / f"{len(kept)}" / Path(library).name
            link.parent.mkdir()
            link.symlink_to(library)
            library = str(link)
        kept.append(library)
    return tuple(kept)
