"""The reason why a command left no counters."""

from __future__ import annotations

import os
import shutil
import stat
import struct
from collections.abc import Sequence

_NOTHING = "no counters were left, because"
_CALLS = "call of BLAS, LAPACK or FFTW"
NO_CALL = f"no {_CALLS} was counted"
# The start of an ELF header and of a program header with 64 bits: elf(5).
_HEADER = struct.Struct("<4sBB10xHHI8xQ14xHH")
_INTERPRETER = 3  # the type of the program header that names the loader


def reason(command: Sequence[str], mode: str | None, status: int) -> str:
    """Returns one sentence about a command that ran in `mode`, ended with `status` and left no
    counters."""
    if mode == "off":
        return f"{_NOTHING} mode off counts no calls"
    program = _program(command[0])
    if program is not None and (why := _not_loaded(program)):
        return f"{_NOTHING} {why}"
    ended = f", and it ended with status {status}" if status else ""
    return f"{_NOTHING} the library saw no {_CALLS} in the command{ended}"


def reason_of_folder(folder: str) -> str:
    """Returns one sentence about a folder without counters."""
    return (
        f"no counters are in {folder}, because no program with OUTBOARD_REPORT=dir:{folder} "
        f"has made a {_CALLS} that the library sees"
    )


def _program(word: str) -> str | None:
    """Returns the file that the kernel loads for the command `word`: of a script, its
    interpreter."""
    path = shutil.which(word)
    if path is None:
        return None
    first = _beginning(path).split(b"\n", 1)[0]
    if not first.startswith(b"#!"):
        return path
    words = first[2:].split()
    return os.fsdecode(words[0]) if words else None


def _not_loaded(path: str) -> str | None:
    """Returns the reason why the loader does not load a library into the program `path`."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    other_user = about.st_mode & stat.S_ISUID and about.st_uid != os.getuid()
    other_group = about.st_mode & stat.S_ISGID and about.st_gid != os.getgid()
    if other_user or other_group or (_has_capabilities(path) and os.getuid() != 0):
        return f"{path} gets other rights when it starts, and the loader then ignores LD_PRELOAD"
    if _has_loader(path) is False:
        return f"{path} is linked statically, so no library can be loaded into it"
    return None


def _has_loader(path: str) -> bool | None:
    """Returns false if `path` is a program that starts without the loader. None if it is no ELF
    file with 64 bits."""
    data = _beginning(path)
    if len(data) < _HEADER.size:
        return None
    magic, bits, order, _, _, _, offset, size, count = _HEADER.unpack_from(data)
    if magic != b"\x7fELF" or (bits, order) != (2, 1):
        return None
    types = (data[at : at + 4] for at in range(offset, offset + size * count, size or 1))
    return any(int.from_bytes(kind, "little") == _INTERPRETER for kind in types)


def _beginning(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(8192)
    except OSError:
        return b""


def _has_capabilities(path: str) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False
