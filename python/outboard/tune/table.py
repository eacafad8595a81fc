"""Shows the contents of profiles as tables and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import IO, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from outboard.explain.show import day
from outboard.profile import Profile, Rate, Transfer
from outboard.report import format_bytes, format_time

JSON_VERSION = 1
_WIDE = 120  # columns where the output is no terminal: a log file or a pipe
_DECADES = range(6, 14)  # decades of the work in flop that a table can have columns for
_NEAR = math.sqrt(10)  # half a decade: the distance up to which a rate belongs to a column
# the sizes from which on calls go out, by server and routine
Wins = Mapping[str, Mapping[str, str]]


def print_all(profiles: Sequence[Profile], wins: Wins, file: IO[str]) -> None:
    """Prints the link to each server, then the rates."""
    probe = Console(file=file)
    console = Console(file=file, highlight=False, width=probe.width if probe.is_terminal else _WIDE)
    libraries = [p for p in profiles if p.of_library]
    servers = [p for p in profiles if not p.of_library]
    for server in servers:
        console.print(_title(f"Link to {server.server[0]}", server))
        console.print(_link(server))
        console.print()
    for library in libraries:
        console.print(_title(f"Here: {library.key}", library))
    for server in servers:
        address, device = server.server
        console.print(_title(f"There: {device.removesuffix(f' at {address}')}", server))
        console.print(_rates(libraries, server, wins.get(server.server[0], {})))
    if libraries and not servers:
        console.print(_rates(libraries, None, {}))


def _title(text: str, profile: Profile) -> Text:
    made = Text(text, style="bold")
    if profile.written is not None:
        made.append(f", measured {day(profile.written)}", style="not bold")
    return made


def _simple(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column(headings[0], no_wrap=True)
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _link(server: Profile) -> Table | Text:
    """Returns the times and rates of a link, by size."""
    trip = server.round_trip_s
    if trip is None or not (server.to or server.back):
        return Text("  not measured")
    table = _simple("bytes", "to it", "GB/s", "from it", "GB/s")
    table.add_row("round trip", format_time(trip * 1e9))
    to, back = ({t.count: t for t in found} for found in (server.to, server.back))
    for count in sorted(to.keys() | back.keys()):
        cells = [cell for way in (to, back) for cell in _transfer(way.get(count), trip)]
        table.add_row(format_bytes(int(count)), *cells)
    return table


def _transfer(one: Transfer | None, round_trip_s: float) -> list[str]:
    """Returns the time of a transfer, and its rate without the round trip. The rate is empty if the
    round trip takes nearly all of the time."""
    if one is None:
        return ["", ""]
    seconds = one.seconds - round_trip_s
    known = seconds > 0.1 * one.seconds
    rate = f"{one.count / seconds / 1e9:.3g}" if known else ""
    return [format_time(one.seconds * 1e9), rate]


def _rates(libraries: Sequence[Profile], server: Profile | None, wins: Mapping[str, str]) -> Table:
    """Returns the table of local and device GFLOP/s, by routine and decade of work."""
    local = _by_routine([rate for library in libraries for rate in library.local])
    device = _by_routine(server.device if server else [])
    decades = [d for d in _DECADES if any(at(r, d) for x in (local, device) for r in x.values())]
    table = _simple("GFLOP/s", "", *(_work(d) for d in decades), *(["goes out"] if wins else []))
    sides = [("here", local), ("there", device)]
    for name in sorted(local.keys() | device.keys(), key=_order):
        title, win = escape(name), [wins.get(name, "")] if wins else []
        for side, rates in sides:
            if name not in rates:
                continue
            cells = [_gflops(at(rates[name], d)) for d in decades]
            table.add_row(title, side, *cells, *win)
            title, win = "", [""] * len(win)
    return table


def _order(name: str) -> tuple[bool, str]:
    return ("fft" in name, name)


def _by_routine(rates: Sequence[Rate]) -> dict[str, list[Rate]]:
    found: dict[str, list[Rate]] = {}
    for rate in rates:
        found.setdefault(rate.routine, []).append(rate)
    return found


def at(rates: Sequence[Rate], decade: int) -> Rate | None:
    """Returns the rate nearest to 10^decade flop, if it is within half a decade."""
    work = 10.0**decade
    near = [r for r in rates if work / _NEAR <= r.flop < work * _NEAR]
    return min(near, key=lambda r: abs(math.log(r.flop / work)), default=None)


def _work(decade: int) -> str:
    units = {6: "Mflop", 9: "Gflop", 12: "Tflop"}
    base = 3 * (decade // 3)
    return f"{10 ** (decade - base)} {units[base]}"


def _gflops(rate: Rate | None) -> str:
    return "" if rate is None else f"{rate.gflops:.3g}"


def to_json(profiles: Sequence[Profile], wins: Wins) -> dict[str, Any]:
    """Returns the contents of the profiles for JSON."""
    return {
        "version": JSON_VERSION,
        "libraries": [
            {"file": str(p.file), "key": p.key, "written": p.written, "local": _runs(p.local)}
            for p in profiles
            if p.of_library
        ],
        "servers": [_server_to_json(p, wins) for p in profiles if not p.of_library],
    }


def _server_to_json(server: Profile, wins: Wins) -> dict[str, Any]:
    return {
        "file": str(server.file),
        "key": server.key,
        "written": server.written,
        "round_trip_s": server.round_trip_s,
        "to": [{"bytes": t.count, "seconds": t.seconds} for t in server.to],
        "from": [{"bytes": t.count, "seconds": t.seconds} for t in server.back],
        "device": _runs(server.device),
        "goes_out": dict(wins.get(server.server[0], {})),
    }


def _runs(rates: Sequence[Rate]) -> list[dict[str, Any]]:
    return [{"routine": r.routine, "flop": r.flop, "seconds": r.seconds} for r in rates]
