"""Reads the counter files of the drop-in library: struct ReportBlock, docs/report.md."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path

MAGIC = 0x54524F504552424F  # "OBREPORT"
VERSION = 6
HEADER = struct.Struct("<QIIQQ64s128s16s256s256sQQ")
ROW = struct.Struct("<32s30Q")


@dataclass
class Routine:
    """The counters of one routine, in the order of struct ReportRow."""

    name: str
    calls: int = 0
    remote: int = 0
    fell_back: int = 0
    bytes_to: int = 0
    bytes_from: int = 0
    to_server_ns: int = 0
    plan_ns: int = 0
    compute_ns: int = 0
    from_server_ns: int = 0
    remote_ns: int = 0
    local_ns: int = 0
    local_calls: int = 0
    local_megaflop: int = 0
    remote_megaflop: int = 0
    eligible: int = 0
    bytes_kept: int = 0
    verified: int = 0
    mismatched: int = 0
    unchecked: int = 0
    decided: int = 0
    tried: int = 0
    mispredicted: int = 0
    lost_ns: int = 0
    several: int = 0
    devices: int = 0
    strict: int = 0
    fast: int = 0
    emulated: int = 0
    bytes_between: int = 0
    changed: int = 0

    def add(self, other: Routine) -> None:
        for name in COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def local_ns_per_megaflop(self) -> float | None:
        """Returns the time per Mflop of the timed local runs; None without such runs."""
        if not self.local_megaflop or not self.local_ns:
            return None
        return self.local_ns / self.local_megaflop


COUNTERS = tuple(f.name for f in fields(Routine) if f.name != "name")


@dataclass
class Process:
    """One process that loaded the library and counted at least one call."""

    pid: int
    started_unix_ns: int
    program: str
    server: str
    mode: str
    notice: str
    routines: list[Routine] = field(default_factory=list)
    reason: str = ""  # why the accelerator cannot gain; empty: it may
    spent_ns: int = 0  # the time of all calls that were decided
    cost_ns: int = 0  # the part of the time that the decision cost the program


def parse(data: bytes) -> Process:
    """Returns the block in `data`. Raises ValueError if `data` is no block of this version."""
    if len(data) < HEADER.size:
        raise ValueError(f"not a report ({len(data)} bytes, the header has {HEADER.size})")
    magic, version, rows, pid, started, *texts, spent, cost = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise ValueError(f"not a report (magic {magic:#x})")
    if version != VERSION:
        raise ValueError(f"report version {version} (this program reads {VERSION})")
    if len(data) < HEADER.size + rows * ROW.size:
        raise ValueError(f"report cut short ({len(data)} bytes for {rows} rows)")
    program, server, mode, notice, reason = (_text(text) for text in texts)
    process = Process(pid, started, program, server, mode, notice, [], reason, spent, cost)
    for index in range(rows):
        name, *counters = ROW.unpack_from(data, HEADER.size + index * ROW.size)
        if name[0]:
            process.routines.append(Routine(_text(name), *counters[: len(COUNTERS)]))
    return process


def read_folder(folder: Path) -> tuple[list[Process], list[str]]:
    """Returns the processes that left counters in `folder`, oldest first, and a note for each
    unreadable file."""
    processes, notes = [], []
    for file in sorted(folder.glob("report.*.bin")):
        try:
            processes.append(parse(file.read_bytes()))
        except (OSError, ValueError) as error:
            notes.append(f"{file.name}: {error}")
    return sorted(processes, key=lambda p: (p.started_unix_ns, p.pid)), notes


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")


def merged(processes: list[Process]) -> list[Routine]:
    """Returns the counters per routine over all processes, the busiest routine first."""
    routines: dict[str, Routine] = {}
    for routine in _all(processes):
        routines.setdefault(routine.name, Routine(routine.name)).add(routine)
    return sorted(routines.values(), key=lambda r: (-(r.remote_ns + r.local_ns), -r.calls, r.name))


def _all(processes: list[Process]) -> Iterator[Routine]:
    for process in processes:
        yield from process.routines
