"""The report of `outboard run --overlap`: communication that the computation hid, per call site.

Each MPI process writes overlap.HOST.PID.json (src/overlap/programs/layer.cpp). The sites of all
ranks are merged by object and offset.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from outboard.report import format_bytes, format_time

VERSION = 1
NO_PROCESS = (
    "no process used MPI through a shared library of Open MPI or the MPICH family, so no message "
    "was overlapped (a program that is linked statically, or on a host that LD_PRELOAD does not "
    "reach?)"
)
COUNTERS = ("calls", "operations", "bytes", "hidden_ns", "exposed_ns")


@dataclass
class Site:
    """The completion calls of all ranks from one place of the program."""

    call: str
    object: str
    offset: int
    symbol: str
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))

    @property
    def place(self) -> str:
        name = Path(self.object).name or "?"
        return (
            f"{self.symbol} ({name}+{self.offset:#x})"
            if self.symbol
            else f"{name}+{self.offset:#x}"
        )


@dataclass
class OverlapReport:
    """What the layer measured in the processes of a job."""

    processes: list[dict[str, Any]]
    notes: list[str]

    @classmethod
    def read(cls, folder: Path) -> OverlapReport:
        """Reads the files that processes left in `folder`. Files that are not valid become
        notes."""
        processes, notes = [], []
        for file in sorted(folder.glob("overlap.*.json")):
            try:
                process = json.loads(file.read_text())
                if process["version"] != VERSION:
                    raise ValueError(f"version {process['version']}, this program reads {VERSION}")
                processes.append(process)
            except (OSError, ValueError, KeyError, TypeError) as error:
                notes.append(f"{file.name}: {error}")
        return cls(sorted(processes, key=lambda p: (p["rank"], p["pid"])), notes)

    def sites(self) -> list[Site]:
        """Returns the call sites, those with the most communication first."""
        merged: dict[tuple[str, str, int], Site] = {}
        for process in self.processes:
            for row in process["sites"]:
                key = (row["call"], row["object"], row["offset"])
                site = merged.setdefault(
                    key, Site(row["call"], row["object"], row["offset"], row["symbol"])
                )
                for name in COUNTERS:
                    site.counts[name] += row[name]
        for site in merged.values():
            # The process knows names of exported functions only, and no lines.
            site.symbol = symbol_of(site.object, site.offset) or site.symbol
        return sorted(merged.values(), key=_quietness)

    def to_json(self) -> dict[str, Any]:
        processes = [{k: v for k, v in p.items() if k != "sites"} for p in self.processes]
        sites = [
            {"call": s.call, "object": s.object, "offset": s.offset, "symbol": s.symbol, **s.counts}
            for s in self.sites()
        ]
        return {"processes": processes, "sites": sites, "notes": self.notes}

    def headlines(self) -> list[str]:
        """Returns the lines above the table."""
        if not self.processes:
            return [f"outboard: overlap: {text}" for text in [*self.notes, NO_PROCESS]]
        first = self.processes[0]
        lines = [f"{len(self.processes)} MPI process(es); {first['progress']}"]
        decisions = [p["decision"] for p in self.processes]
        tried = next((p for p in self.processes if p["without_ns"]), None)
        if tried is not None:
            on = decisions.count("on")
            lines.append(
                f"an iteration of rank {tried['rank']} took {format_time(tried['with_ns'])} with, "
                f"{format_time(tried['without_ns'])} without progress; it is on in {on} of "
                f"{len(decisions)} process(es)"
            )
        thread = sum(p["processor_ns"] for p in self.processes)
        lines.append(f"the threads took {format_time(thread)} of processor time")
        return [f"outboard: overlap: {text}" for text in [*lines, *self.notes]]

    def print(self, stream: IO[str]) -> None:
        """Writes the report to `stream`."""
        from rich.console import Console
        from rich.table import Table

        probe = Console(file=stream, highlight=False)
        console = probe if probe.is_terminal else Console(file=stream, highlight=False, width=160)
        for line in self.headlines():
            console.print(line, markup=False, soft_wrap=True)
        sites = self.sites()
        if not sites:
            return
        table = Table(box=None, header_style="", pad_edge=False)
        for name in ("completed in", "at"):
            table.add_column(name, overflow="fold")
        for name in ("calls", "operations", "bytes", "hidden", "exposed"):
            table.add_column(name, justify="right")
        for site in sites:
            c = site.counts
            table.add_row(
                site.call,
                site.place,
                str(c["calls"]),
                str(c["operations"]),
                format_bytes(c["bytes"]),
                format_time(c["hidden_ns"]),
                format_time(c["exposed_ns"]),
            )
        console.print(table)


def _quietness(site: Site) -> tuple[int, int]:
    return -(site.counts["hidden_ns"] + site.counts["exposed_ns"]), site.offset


def symbol_of(file: str, offset: int) -> str:
    """Returns function, file and line of an address in an object, if addr2line knows them."""
    tool = shutil.which("addr2line")
    if tool is None or not file:
        return ""
    try:
        found = subprocess.run(
            [tool, "-f", "-C", "-s", "-e", file, hex(offset)],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    function, _, line = found.stdout.partition("\n")
    if not function or function.startswith("??"):
        return ""
    line = line.strip().split(" (discriminator")[0]
    return function if line.startswith("??") else f"{function} {line}"
