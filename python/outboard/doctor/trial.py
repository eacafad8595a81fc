"""Runs the user's command under the library for a bounded time, in mode trace, and records the
symbol bindings that the loader reports."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from outboard import counters
from outboard.doctor import elf
from outboard.settings import Settings

_POLL_S = 0.02
_END_S = 2.0  # after SIGTERM
_TAIL = 5
# The lines that glibc prints under LD_DEBUG=bindings,files. It writes the end of a binding's line
# separately, so the next binding, by another thread, can stand on the same line.
_BINDING = re.compile(r"binding file (.+?) \[\d+\] to (.+?) \[\d+\]: \w+ symbol `([^']+)'")
_LOADED = re.compile(r"calling init: (.+)$")
_PROGRAM = re.compile(r"initialize program: (.+)$")


@dataclass(frozen=True)
class Binding:
    """One symbol binding: `user` calls `symbol` and gets that of `provider`."""

    user: str
    provider: str
    symbol: str


@dataclass
class Trial:
    """The results of a run."""

    status: int | None = None  # None: the command was stopped at the end of the time
    seconds: float = 0.0
    stderr_tail: list[str] = field(default_factory=list)
    bindings: set[Binding] = field(default_factory=set)
    objects: set[Path] = field(default_factory=set)
    missed: set[Path] = field(default_factory=set)  # programs that ran without the library
    processes: list[counters.Process] = field(default_factory=list)


def run(
    command: Sequence[str],
    library: Path,
    names: frozenset[str],
    seconds: float,
    environment: Mapping[str, str],
) -> Trial:
    """Runs `command` for `seconds` at most, and keeps the bindings of `names`. Raises OSError if it
    cannot be started."""
    trial = Trial()
    with tempfile.TemporaryDirectory(prefix="outboard-doctor-") as name:
        folder = Path(name)
        link = folder / library.name  # LD_PRELOAD takes no path with a blank
        link.symlink_to(library)
        settings = Settings(mode="trace", report=f"dir:{folder}", quiet=True)
        ours = {**environment, **settings.variables(link, environment)}
        ours |= {"LD_DEBUG": "bindings,files", "LD_DEBUG_OUTPUT": str(folder / "loader")}
        with (folder / "stderr").open("wb") as errors:
            begin = time.monotonic()
            process = subprocess.Popen(
                list(command),
                env=ours,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
            try:
                trial.missed = _watch(process, begin + seconds, library)
                trial.status = process.poll()
            finally:
                _end(process)
            trial.seconds = time.monotonic() - begin
        _read_loader(folder, trial, library, names)
        trial.processes = counters.read_folder(folder)[0]
        text = (folder / "stderr").read_text(errors="replace")
        trial.stderr_tail = text.splitlines()[-_TAIL:]
    return trial


def _watch(process: subprocess.Popen[bytes], until: float, library: Path) -> set[Path]:
    """Waits for the end. Returns the programs of the command that ran without the library."""
    without: set[Path] = set()
    while process.poll() is None and time.monotonic() < until:
        for pid in _members(process.pid):
            if exe := _without_library(pid, library):
                without.add(exe)
        time.sleep(_POLL_S)
    return without


def _members(session: int) -> Iterator[int]:
    """Yields the processes of a session: proc(5), stat, field 6."""
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            after_name = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            if int(after_name[3]) == session:
                yield int(entry.name)


def _without_library(pid: int, library: Path) -> Path | None:
    """Returns the program of a process that runs without the library. Returns None if the process
    has the library, has ended, or is still being loaded."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
        exe = Path(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return None
    if library.name in maps:
        return None
    # The loader maps preloaded libraries before the libraries that a program needs.
    if "/libc.so" in maps or "/libc-" in maps:
        return exe
    program = elf.read(exe)
    return exe if program and program.interpreter is None else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the command and all processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_S)
    for pid in list(_members(process.pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _read_loader(folder: Path, trial: Trial, library: Path, names: frozenset[str]) -> None:
    """Reads the lines that the loader wrote for all processes that have the library."""
    for file in folder.glob("loader.*"):
        with file.open(errors="replace") as lines:
            objects, bindings, program = _parse(lines, names)
        if bindings or any(path.name == library.name for path in objects):
            trial.bindings |= bindings
            trial.objects |= objects | program


def _parse(
    lines: Iterator[str], names: frozenset[str]
) -> tuple[set[Path], set[Binding], set[Path]]:
    objects: set[Path] = set()
    bindings: set[Binding] = set()
    program: set[Path] = set()
    for line in lines:
        for user, provider, symbol in _BINDING.findall(line):
            if symbol in names:
                bindings.add(Binding(_normal(user), _normal(provider), symbol))
        if found := _LOADED.search(line):
            objects.add(Path(_normal(found[1])))
        elif found := _PROGRAM.search(line):
            program.add(Path(_normal(found[1])))
    return objects, bindings, program


def _normal(path: str) -> str:
    """Returns the absolute path of a file. A program's own name may have no folder."""
    return os.path.realpath(path) if "/" in path else path
