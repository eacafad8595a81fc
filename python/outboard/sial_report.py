"""The report of a SIAL job: what each line did and waited for (docs/sial/runtime.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from outboard.report import format_bytes, format_time

if TYPE_CHECKING:
    from rich.table import Table

# Lines that took or waited for less than this part of the run are left out of the table.
_SMALL = 1e-3


def show(file: Path, to: IO[str]) -> None:
    """Prints the report that the runtime wrote into `file`."""
    from rich.console import Console

    console = Console(file=to, highlight=False, width=None if to.isatty() else 120)
    for program in json.loads(file.read_text()):
        whole = program["seconds"] * program["workers"]
        console.print(
            f"{program['program']}: {format_time(1e9 * program['seconds'])}, "
            f"{program['workers']} workers, {program['servers']} servers; waited at barriers: "
            f"{_share(program['barrier_wait_s'], whole)} of it"
        )
        if "device" in program:
            device = program["device"]
            console.print(
                f"  devices: {format_bytes(device['to_device_bytes'])} there, "
                f"{format_bytes(device['to_host_bytes'])} back, {device['evicted']:,} blocks "
                f"evicted, {device['permuted']:,} permuted there"
            )
        if puts := program["puts"]["waits"]:
            console.print(
                f"  puts that waited for credit: {puts:,}; most bytes that waited for a server: "
                f"{format_bytes(max(program['puts']['queued']))}"
            )
        console.print(_memory(program["memory"]))
        lines = [line for line in program["lines"] if _matters(line, whole)]
        if lines:
            console.print(_statements(lines, whole))
        pardos = [one for one in program.get("pardos", []) if one["slowest_s"] > _SMALL * whole]
        if pardos and program["workers"] > 1:
            console.print(_pardos(pardos))
        gets = [line for line in program["lines"] if line.get("get", {}).get("first_uses")]
        if gets:
            console.print(_gets(gets))


def _memory(memory: dict[str, Any]) -> str:
    """Returns the line about the most memory of one worker and of one server."""
    own = max((one["blocks"] for one in memory["workers"]), default=0)
    fetched = max((one["fetched"] for one in memory["workers"]), default=0)
    stored = max(memory["servers"], default=0)
    return (
        f"  memory at most: {format_bytes(own)} of blocks and {format_bytes(fetched)} of fetched "
        f"ones per worker, {format_bytes(stored)} per server"
    )


def _matters(line: dict[str, Any], whole: float) -> bool:
    return float(line.get("seconds", 0) + line.get("wait_s", 0)) > _SMALL * whole


def _statements(lines: list[dict[str, Any]], whole: float) -> Table:
    headings = ["executed", "time", "of all", "waited"]
    placed = any("on_device" in line for line in lines)
    table = new_table("line", *headings, *(["on a device"] if placed else []))
    for line in lines:
        seconds, wait = line.get("seconds", 0.0), line.get("wait_s", 0.0)
        table.add_row(
            _place(line), f"{line['executions']:,}", format_time(1e9 * seconds),
            _share(seconds, whole), format_time(1e9 * wait) if wait else "-",
            *([f"{line.get('on_device', 0):,}"] if placed else []),
        )  # fmt: skip
    return table


def _pardos(pardos: list[dict[str, Any]]) -> Table:
    table = new_table("pardo", "mean of\nworkers", "slowest\nworker", "spread")
    for one in pardos:
        mean, slowest = one["mean_s"], one["slowest_s"]
        table.add_row(
            _place(one), format_time(1e9 * mean), format_time(1e9 * slowest),
            _share(slowest - mean, mean),
        )  # fmt: skip
    return table


def _gets(lines: list[dict[str, Any]]) -> Table:
    table = new_table(
        "get", "operands", "without\na wait", "first uses\nwithout", "on\ndemand", "ahead", "late",
        "unused", "evicted", "depth", "received", "waited",
    )  # fmt: skip
    for line in lines:
        get = line["get"]
        table.add_row(
            _place(line), f"{get['accesses']:,}",
            _hits(get["waits"], get["accesses"]), _hits(get["first_waits"], get["first_uses"]),
            *(f"{get[key]:,}" for key in ("requests", "prefetched", "late", "unused", "evicted")),
            f"{get['depth']:.1f}", format_bytes(get["bytes"]),
            format_time(1e9 * (get["demand_wait_s"] + get["late_wait_s"])),
        )  # fmt: skip
    return table


def new_table(first: str, *others: str) -> Table:
    """Returns a table with numbers behind its first column."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _place(line: dict[str, Any]) -> str:
    return f"{Path(line['file']).name}:{line['line']}"


def _hits(waits: int, uses: int) -> str:
    """Returns the part of the uses that did not wait; all digits that tell it from 1."""
    return f"{1 - waits / uses:.4f}" if uses else "-"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
