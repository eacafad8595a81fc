"""Checks that the loader preloads libraries into a program: ld.so(8)."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from outboard.doctor import elf
from outboard.doctor.finding import Finding, problem

_SCRIPTS = 4  # An interpreter may be a script itself. Linux follows four.


def executable(command: str) -> Path | None:
    """Returns the ELF program that the kernel runs for `command`: for a script, its interpreter."""
    found = shutil.which(command)
    if found is None:
        return None
    path = Path(found)
    for _ in range(_SCRIPTS):
        words = _shebang(path)
        if not words:
            break
        if Path(words[0]).name == "env" and len(words) > 1:
            named = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
            found = shutil.which(named[0]) if named else None
            path = Path(found) if found else Path(words[0])
        else:
            path = Path(words[0])
    return path


def _shebang(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            line = file.readline(256)
    except OSError:
        return []
    if not line.startswith(b"#!"):
        return []
    return line[2:].decode(errors="replace").split()


def out_of_reach(path: Path, library: Path) -> str | None:
    """Returns the reason why the loader does not preload into the program at `path`; None if it
    does."""
    program, ours = elf.read(path.resolve()), elf.read(library)
    if program is None:
        return "is no program that this machine's loader starts"
    if program.interpreter is None:
        return "is statically linked: no library can be put in front of it"
    if ours and (program.machine, program.bits) != (ours.machine, ours.bits):
        return (
            f"is for another processor ({_plain(program)}) than the library ({_plain(ours)}), "
            "which the loader then skips"
        )
    return _privileged(path.resolve())


def _plain(one: elf.Object) -> str:
    return f"{one.machine.removeprefix('EM_').lower()}, {one.bits} bits"


def _privileged(path: Path) -> str | None:
    """Returns the reason why the loader ignores the environment of this program."""
    about = path.stat()
    if about.st_mode & stat.S_ISUID and about.st_uid != os.getuid():
        return "runs with its owner's privileges (setuid): the loader ignores LD_PRELOAD"
    if about.st_mode & stat.S_ISGID and about.st_gid != os.getgid():
        return "runs with its group's privileges (setgid): the loader ignores LD_PRELOAD"
    try:
        os.getxattr(path, "security.capability")
    except OSError:
        return None
    return "runs with file capabilities: the loader ignores LD_PRELOAD"


def check(command: str, library: Path) -> tuple[Path | None, list[Finding]]:
    """Returns the program behind `command`, and the finding that keeps the library out of it."""
    path = executable(command)
    if path is None:
        text = f"'{command}' was not found, or may not be run"
        return None, [problem("command", text, "check its name and PATH")]
    why = out_of_reach(path, library)
    if why is None:
        return path, []
    advice = "link it dynamically (libblas.so.3, liblapack.so.3, libfftw3.so.3)"
    if "privileges" in why or "capabilities" in why:
        advice = "run a copy without these privileges"
    elif "processor" in why:
        advice = "build Outboard for that processor, or use the program for this one"
    return path, [problem(path.name, why, advice)]
