"""The report of one command, merged over its processes, as tables and as JSON (docs/report.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from outboard import counters, uncounted
from outboard.counters import Process, Routine
from outboard.load import Load

if TYPE_CHECKING:
    from rich.table import Table

JSON_VERSION = 1


@dataclass(frozen=True)
class Line:
    """One row of the report: the counters, and the derived time of the local library if it is
    known."""

    routine: Routine
    local_would_take_ns: float | None


@dataclass(frozen=True)
class Column:
    """One column: its heading and its cells."""

    heading: str
    cell: Callable[[Routine], str]


@dataclass
class Report:
    """The counters of all processes. `rates` are local ns per Mflop from another source."""

    processes: list[Process]
    notes: list[str]
    rates: dict[str, float] = field(default_factory=dict)
    why_empty: str = ""  # if there are no counters at all
    load: Load | None = None  # while the processes ran
    overlap: dict[str, Any] | None = None  # of outboard.overlap_report

    @classmethod
    def read(cls, folder: Path) -> Report:
        """Reads the files that processes left in `folder`. Files that are not valid become
        notes."""
        return cls(*counters.read_folder(folder), why_empty=uncounted.reason_of_folder(str(folder)))

    def lines(self) -> list[Line]:
        """Returns one line per routine, the busiest first."""
        return [Line(r, self._local_would_take(r)) for r in counters.merged(self.processes)]

    def local_rates(self) -> dict[str, float]:
        """Returns local ns per Mflop of each routine that ran locally and was timed."""
        rates = {r.name: r.local_ns_per_megaflop() for r in counters.merged(self.processes)}
        return {name: rate for name, rate in rates.items() if rate is not None}

    def _local_would_take(self, routine: Routine) -> float | None:
        """Returns the time of the remote calls at the rate of the local ones."""
        rate = routine.local_ns_per_megaflop() or self.rates.get(routine.name)
        return routine.remote_megaflop * rate if rate and routine.remote_megaflop else None

    def unique(self, name: str) -> list[str]:
        """Returns the different values of one text field, in the order of their first use."""
        return list(dict.fromkeys(v for p in self.processes if (v := getattr(p, name))))

    def to_json(self) -> dict[str, Any]:
        return {
            "version": JSON_VERSION,
            "processes": [
                {
                    "pid": p.pid,
                    "started_unix_ns": p.started_unix_ns,
                    "program": p.program,
                    "mode": p.mode,
                    "server": p.server,
                    "notice": p.notice,
                    "reason": p.reason,
                    "spent_ns": p.spent_ns,
                    "cost_ns": p.cost_ns,
                }
                for p in self.processes
            ],
            "routines": [line_to_json(line) for line in self.lines()],
            "notes": self._notes(),
            "other_cores": self.load.other_cores if self.load else None,
            "cores": self.load.cores if self.load else None,
            **({"overlap": self.overlap} if self.overlap is not None else {}),
        }

    def write_json(self, file: Path) -> None:
        file.write_text(json.dumps(self.to_json(), indent=2) + "\n")

    def print(self, stream: IO[str], width: int | None = None) -> None:
        """Writes tables to `stream`: one if it fits into `width` columns, else two."""
        from rich.console import Console

        probe = Console(file=stream, highlight=False, width=width)
        available = probe.width if width or probe.is_terminal else _WIDE
        console = Console(file=stream, highlight=False, width=available)
        for line in self.headlines():
            console.print(line, markup=False, soft_wrap=True)
        lines = self.lines()
        if lines:
            counting = "trace" in self.unique("mode")
            for table in _tables(lines, console.width, counting):
                console.print(table)

    def headlines(self) -> list[str]:
        """Returns the lines above the table: the processes, their daemon, and failures."""
        if not self.processes:
            return [f"outboard: {text}" for text in self._notes()]
        many = len(self.processes)
        who = ", ".join(self.unique("program"))
        lines = [f"outboard: {many} process{'es' if many > 1 else ''} ({who})"]
        lines[0] += f", mode {', '.join(self.unique('mode')) or 'unknown'}"
        servers = self.unique("server")
        lines[0] += f", server {', '.join(servers)}" if servers else ", no server"
        more = [*self.unique("notice"), *self._reasons(), *self._notes()]
        if self.load is not None and self.load.disturbs and self.lines():
            more.append(self.load.line())
        return lines + [f"outboard: {text}" for text in more]

    def _reasons(self) -> list[str]:
        """Says why nothing went out, where that was certain from the start, and what deciding
        cost."""
        lines = []
        quiet = [p for p in self.processes if not any(r.remote for r in p.routines)]
        if len(quiet) == len(self.processes):
            lines += [f"nothing went out: {reason}" for reason in self.unique("reason")]
        spent, cost = (sum(getattr(p, name) for p in self.processes) for name in _COSTS)
        if cost:
            lines.append(f"deciding cost {format_time(cost)} of {format_time(spent)} in calls")
        return lines

    def _notes(self) -> list[str]:
        """Returns the notes, and the reason why there is no table."""
        if self.processes and not self.lines():
            off = self.unique("mode") == ["off"]
            why = "mode off counts no calls" if off else uncounted.NO_CALL
            return [*self.notes, why]
        if self.processes:
            return self.notes
        return [*self.notes, "no counters could be read" if self.notes else self.why_empty]


_COSTS = ("spent_ns", "cost_ns")
_WIDE = 200  # columns where the output is no terminal: a log file or a pipe


def line_to_json(line: Line) -> dict[str, Any]:
    """Returns all counters, and the derived time of the local library (null if it is not known)."""
    values: dict[str, Any] = {"name": line.routine.name}
    values.update({name: getattr(line.routine, name) for name in counters.COUNTERS})
    estimate = line.local_would_take_ns
    values["local_would_take_ns"] = None if estimate is None else round(estimate)
    return values


def format_bytes(count: int) -> str:
    """Formats a number of bytes: "0", "512 B", "3.2 MiB"."""
    if count < 1024:
        return f"{count} B" if count else "0"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 1000 or unit == "TiB":
            break
    return f"{value:.3g} {unit}"


def format_time(ns: float | None) -> str:
    """Formats a time: "-", "0", "12.3 us", "4.56 ms", "7.89 s"."""
    if ns is None:
        return "-"
    if ns == 0:
        return "0"
    for limit, unit, scale in ((1e3, "ns", 1), (1e6, "us", 1e3), (1e9, "ms", 1e6)):
        if ns < limit * 0.9995:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns / 1e9:.3g} s" if ns < 1e12 else f"{ns / 1e9:.0f} s"


_COUNTS = (
    Column("calls", lambda r: str(r.calls)),
    Column("went\nout", lambda r: str(r.remote)),
    Column("fell\nback", lambda r: str(r.fell_back)),
    Column("bytes\nto", lambda r: format_bytes(r.bytes_to)),
    Column("kept\nthere", lambda r: format_bytes(r.bytes_kept)),
    Column("bytes\nfrom", lambda r: format_bytes(r.bytes_from)),
)
_TIMES = (
    Column("to\nserver", lambda r: format_time(r.to_server_ns)),
    Column("plan", lambda r: format_time(r.plan_ns)),
    Column("compute", lambda r: format_time(r.compute_ns)),
    Column("from\nserver", lambda r: format_time(r.from_server_ns)),
    Column("remote", lambda r: format_time(r.remote_ns)),
    Column("local", lambda r: format_time(r.local_ns if r.local_calls else None)),
)
_TOTAL = "total"
_COULD_GO = Column("could\ngo", lambda r: str(r.eligible))

_CHECKED = (
    Column("results\nverified", lambda r: str(r.verified)),
    Column("results\nwrong", lambda r: str(r.mismatched)),
    Column("results\nunchecked", lambda r: str(r.unchecked)),
)

_DECIDED = (
    Column("both times\nknown", lambda r: str(r.decided)),
    Column("also\ntried", lambda r: str(r.tried)),
    Column("wrongly\ndecided", lambda r: str(r.mispredicted)),
    Column("lost\nby that", lambda r: format_time(r.lost_ns)),
    Column("changed\nsides", lambda r: str(r.changed)),
)

_SEVERAL = (
    Column("on several\ndevices", lambda r: str(r.several)),
    Column("devices\neach", lambda r: f"{r.devices / r.several:.3g}" if r.several else "-"),
    Column("bytes\nbetween", lambda r: format_bytes(r.bytes_between)),
)

_ACCURACY = (Column("other\naccuracy", lambda r: _accuracies(r)),)

# Columns that are shown only if one of their counters is not zero.
_OPTIONAL = (
    (_CHECKED, ("verified", "mismatched", "unchecked")),
    (_DECIDED, ("decided", "tried", "mispredicted", "lost_ns", "changed")),
    (_SEVERAL, ("several",)),
    (_ACCURACY, ("strict", "fast", "emulated")),
)


def _accuracies(routine: Routine) -> str:
    """Counts the calls that went out by the mode in which the device computed them."""
    modes = {"strict": routine.strict, "fast": routine.fast, "emulated": routine.emulated}
    return ", ".join(f"{count} {mode}" for mode, count in modes.items() if count) or "-"


def _tables(lines: list[Line], width: int, counting: bool) -> list[Table]:
    counts = list(_COUNTS)
    if counting:
        counts.insert(1, _COULD_GO)
    routines = [line.routine for line in lines]
    for columns, fields in _OPTIONAL:
        if any(getattr(routine, field) for routine in routines for field in fields):
            counts += columns
    rows = [*lines, _total(lines)] if len(lines) > 1 else lines
    whole = _table([*counts, *_TIMES], rows, estimate=True)
    if _natural_width(whole) <= width:
        return [whole]
    return [_table(counts, rows, estimate=False), _table(list(_TIMES), rows, estimate=True)]


def _total(lines: list[Line]) -> Line:
    """Returns the line of sums. It has an estimate only if every routine that went out has one."""
    total = Routine(_TOTAL)
    for line in lines:
        total.add(line.routine)
    known = [line.local_would_take_ns for line in lines if line.routine.remote]
    estimates = [estimate for estimate in known if estimate is not None]
    return Line(total, sum(estimates) if known and len(estimates) == len(known) else None)


def _natural_width(table: Table) -> int:
    from rich.console import Console

    console = Console(width=1000)
    return console.measure(table).maximum


def _table(columns: list[Column], lines: list[Line], *, estimate: bool) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    headings = [column.heading for column in columns] + ["local\nwould take"] * estimate
    table.add_column("routine", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        if line.routine.name == _TOTAL:
            table.add_section()
        cells = [column.cell(line.routine) for column in columns]
        cells += [format_time(line.local_would_take_ns)] * estimate
        table.add_row(line.routine.name, *cells)
    return table
