"""The tables of `outboard sial explain`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from outboard.report import format_bytes, format_time
from outboard.sial.explain.code import Code
from outboard.sial.explain.counts import Peak
from outboard.sial.explain.places import device_of
from outboard.sial.explain.rates import Rates
from outboard.sial_explain import Explained, Line, lines, spilled
from outboard.sial_report import new_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_SMALL = 1e-3  # lines with less than this part of each sum are left out
_MOST_ARRAYS = 5


def show(all_: Sequence[Explained], rates: Rates | None, to: IO[str]) -> None:
    """Prints what the programs of a job will do."""
    from rich.console import Console

    console = Console(file=to, highlight=False, width=None if to.isatty() else 120)
    for one in all_:
        found = lines(one, rates)
        workers, servers = one.options.workers, one.options.servers
        console.print(
            f"{one.name}: {_plural(workers, 'worker')}, {_plural(servers, 'server')}; "
            f"{flops_text(sum(line.flops for line in found))}{_computing(one, found)}"
        )
        _devices(one, console)
        console.print(_memory(one))
        _warn(one, console)
        if one.result.array_peaks:
            console.print(_arrays(one))
        console.print(_lines(found, rates is not None, bool(one.options.devices)))
        for note in one.result.notes:
            console.print(f"not exact: {note}", soft_wrap=True)
        console.print()
    if rates is None:
        console.print("Without --measure or --from there are no times.", soft_wrap=True)
    else:
        console.print(
            f"Times of workers come from {rates.source}; waiting, servers and super-instructions "
            "are not in them.",
            soft_wrap=True,
        )


def _devices(one: Explained, console: Console) -> None:
    """Prints which workers use which device."""
    options = one.options
    workers: dict[str, list[str]] = {}
    if options.devices and options.place != "host":
        for worker in range(options.workers):
            workers.setdefault(device_of(worker, options), []).append(str(worker))
    for device, numbers in workers.items():
        word = "worker" if len(numbers) == 1 else "workers"
        console.print(f"device {device}: {word} {', '.join(numbers)}", soft_wrap=True)


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" + ("" if count == 1 else "s")


def flops_text(count: int) -> str:
    value = float(count)
    for unit in ("flop", "kflop", "Mflop", "Gflop", "Tflop", "Pflop"):
        if value < 1000 or unit == "Pflop":
            break
        value /= 1000
    return f"{value:.3g} {unit}"


def _computing(one: Explained, found: list[Line]) -> str:
    """Returns how even the work is, and how long the busiest worker computes."""
    flops = one.result.worker_flops
    mean = float(flops.mean())
    if not mean:
        return ""
    uneven = float(flops.max()) / mean
    text = f", the busiest worker {uneven:.2f} of the mean"
    seconds = sum(line.seconds or 0.0 for line in found)
    if seconds:
        text += f", {format_time(1e9 * seconds / len(flops) * uneven)}"
    return text


def _memory(one: Explained) -> Table:
    table = new_table("most memory", "of one", "of all", "limit", "largest at")
    table.add_column("blocks of")
    options, result = one.options, one.result
    rows = (
        ("worker: own blocks", result.blocks, options.worker_memory),
        ("worker: fetched", result.fetched, options.worker_memory // 2),
        ("server", result.stored, options.server_memory),
    )
    for name, peak, limit in rows:
        table.add_row(
            name, format_bytes(int(peak.sizes.max())), format_bytes(int(peak.sizes.sum())),
            format_bytes(limit) if limit else "-", _place(one, peak.instruction),
            _parts(one, peak, result.statics if peak is result.blocks else 0),
        )  # fmt: skip
    return table


def _parts(one: Explained, peak: Peak, statics: int) -> str:
    """Returns the arrays that fill the memory, the largest one first."""
    sizes = {one.array(number): size for number, size in peak.parts.items() if size > 0}
    if statics:
        sizes["statics"] = statics
    largest = sorted(sizes, key=lambda name: -sizes[name])
    more = ", .." if len(largest) > _MOST_ARRAYS else ""
    return ", ".join(f"{n} {format_bytes(sizes[n])}" for n in largest[:_MOST_ARRAYS]) + more


def _place(one: Explained, at: int) -> str:
    if at < 0:
        return "-"
    file, line = Code(one.program).place(at)
    return f"{Path(file).name}:{line}"


def _warn(one: Explained, console: Console) -> None:
    options, result = one.options, one.result
    most = int(result.blocks.sizes.max())
    if options.worker_memory and most > options.worker_memory:
        console.print(
            f"The run ends with R10: a worker needs {format_bytes(most)} for its own blocks, and "
            f"--worker-memory is {format_bytes(options.worker_memory)}.",
            soft_wrap=True,
        )
    if result.evicts:
        console.print(
            "Fetched blocks do not fit half of --worker-memory: workers drop some, and fetch them "
            "again. The requests below are the fewest possible.",
            soft_wrap=True,
        )
    disk = spilled(one)
    if disk.any():
        console.print(
            f"{format_bytes(int(disk.sum()))} of blocks go to disk, at most "
            f"{format_bytes(int(disk.max()))} per server.",
            soft_wrap=True,
        )


def _arrays(one: Explained) -> Table:
    table = new_table("array on servers", "blocks", "bytes", "fullest server", "emptiest")
    for number, peak in one.result.array_peaks.items():
        table.add_row(
            one.array(number), f"{one.result.array_blocks[number]:,}",
            *(format_bytes(int(size)) for size in (peak.sum(), peak.max(), peak.min())),
        )  # fmt: skip
    return table


def _lines(found: list[Line], timed: bool, placed: bool) -> Table:
    headings = ["executed", "flops", "requests", "received", "put"]
    headings += ["place"] * placed + ["time"] * timed
    table = new_table("line", *headings)
    works = [(one.flops, one.requests, one.received, one.sent) for one in found]
    sums = [sum(column) for column in zip(*works, strict=True)]
    for line, work in zip(found, works, strict=True):
        if not any(own > _SMALL * whole for own, whole in zip(work, sums, strict=True) if whole):
            continue
        row = [
            f"{Path(line.file).name}:{line.line}", f"{line.executions:,}",
            flops_text(line.flops) if line.flops else "-",
            f"{line.requests:,}" if line.requests else "-",
            format_bytes(line.received) if line.received else "-",
            format_bytes(line.sent) if line.sent else "-",
        ]  # fmt: skip
        if placed:
            row.append(", ".join(sorted(line.places)) or "-")
        if timed:
            row.append(format_time(1e9 * line.seconds) if line.seconds else "-")
        table.add_row(*row)
    return table
