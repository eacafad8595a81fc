"""Shows answers as text: a block for one call, a table for several."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import IO

from outboard.explain.answer import REMOTE, Answer
from outboard.report import format_bytes, format_time

_WIDE = 120  # columns where the output is no terminal: a log file or a pipe
_CHOICES = {"local": "runs here", "remote": "goes out"}
_SOURCES = {
    "observed": "seen in this process",
    "profile": "the profile",
    "told": "the daemon's own figure",
    "measured": "measured on connecting",
    "shipped": "what ships about the library",
    "unknown": "unknown",
}


def seconds(value: float | None) -> str:
    return format_time(None if value is None else value * 1e9)


def choice(answer: Answer) -> str:
    return _CHOICES.get(answer.choice, answer.choice or "unknown")


def ratio(answer: Answer) -> str:
    """Compares the two sides in words; returns "" if one of them is not known."""
    times = answer.faster
    if times is None:
        return ""
    if times >= 1:
        return f"remote is expected to be {times:.3g} times faster"
    return f"remote is expected to be {1 / times:.3g} times slower"


def block(answer: Answer) -> list[str]:
    """Returns the lines about one call. A time that is not known is "-"."""
    head = f"{answer.routine} {answer.sizes}: {choice(answer)}"
    if answer.choice == REMOTE and (server := answer.text("server")):
        head += f" to {server}"
    if compared := ratio(answer):
        head += f"; {compared}"
    rows = [("why", answer.text("why"))]
    rows.append(("work", _work(answer)))
    rows.append(("library", answer.text("library")))
    rows.append(("here", _within(answer, "local")))
    rows.append(("device", answer.text("device")))
    rows.append(("remote", _within(answer, "remote")))
    rows += [("", part) for part in _parts(answer)]
    there = answer.number("remote_there_s")
    if there is not None:
        rows.append(("again", f"{seconds(there)} if its operands are on the device already"))
    rows.append(("figures", _figures(answer)))
    rows += [("", f"-> {advice}") for advice in advices(answer)]
    return [head, *(f"  {title:<8} {text}" for title, text in rows if text)]


def _within(answer: Answer, side: str) -> str:
    """Returns the time of a side, and the factor by which it may be wrong."""
    error = answer.number(f"{side}_error")
    text = seconds(answer.number(f"{side}_s"))
    return text if error is None else f"{text}, or wrong by a factor of {error:.3g} at most"


def _work(answer: Answer) -> str:
    flop, to, back = (answer.number(k) for k in ("flop", "bytes_to", "bytes_from"))
    parts = [] if flop is None else [f"{flop / 1e9:.3g} Gflop"]
    parts += [] if to is None else [f"{format_bytes(int(to))} to the device"]
    parts += [] if back is None else [f"{format_bytes(int(back))} back"]
    return ", ".join(parts)


def _parts(answer: Answer) -> list[str]:
    names = (("to_s", "sending"), ("compute_s", "computing"), ("from_s", "returning"))
    parts = [f"{word} {seconds(answer.number(k))}" for k, word in names if k in answer.values]
    if not parts:
        return []
    overlapped = ", at the same time" if answer.text("overlaps") == "1" else ", one after the other"
    lines = [", ".join(parts) + overlapped]
    rest = [
        f"{word} {seconds(answer.number(key))}"
        for key, word in (("fixed_s", "round trips"), ("waiting_s", "waiting for others"))
        if answer.number(key)
    ]
    correction = answer.number("correction")
    if correction is not None and correction != 1:
        rest.append(f"times {correction:.3g}, as calls seen so far took against this model")
    return [*lines, *([", ".join(rest)] if rest else [])]


def _figures(answer: Answer) -> str:
    names = (("local_from", "here"), ("device_from", "device"), ("link_from", "link"))
    dates = {"local_from": "profile_library_written"}
    parts = []
    for key, word in names:
        source = answer.text(key)
        if not source or (key == "local_from" and "local_s" not in answer.values):
            continue
        text = _SOURCES.get(source, source)
        written = answer.number(dates.get(key, "profile_server_written"))
        if source == "profile" and written is not None:
            text += f" of {day(written)}"
        parts.append(f"{word}: {text}")
    return "; ".join(parts)


def day(written: float) -> str:
    """Formats seconds since 1970 as a date for people."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(written))


def advices(answer: Answer) -> list[str]:
    """Returns advice that would improve the choice."""
    if not answer.text("server"):
        return ["without a daemon every call runs here: name one with --server ADDRESS"]
    here = "profile_library_written" not in answer.values
    there = "profile_server_written" not in answer.values
    command = f"outboard tune --server {answer.text('server')}"
    if here and there:
        return [f"there are no profiles: `{command}` measures both sides"]
    if here:
        return [f"there is no profile of this library: `{command}` measures it"]
    if there:
        return [f"there is no profile of this server: `{command}` measures it"]
    return []


def print_all(answers: Sequence[Answer], crossing: str, file: IO[str]) -> None:
    """Prints a block, or a table and its summary."""
    if len(answers) == 1:
        file.write("\n".join(block(answers[0])) + "\n")
        return
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    probe = Console(file=file)
    console = Console(file=file, highlight=False, width=probe.width if probe.is_terminal else _WIDE)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column(answers[0].routine, no_wrap=True)
    for heading in ("here", "remote", "operands\nthere", "times\nfaster"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("choice", overflow="fold")
    for one in answers:
        times = one.faster
        cells = [seconds(one.number(key)) for key in ("local_s", "remote_s", "remote_there_s")]
        cells += ["-" if times is None else f"{times:.3g}", choice(one)]
        table.add_row(escape(one.sizes), *cells)
    console.print(table)
    for line in [crossing, _figures(answers[-1]), *advices(answers[-1])]:
        if line:
            console.print(line, markup=False, soft_wrap=True)
