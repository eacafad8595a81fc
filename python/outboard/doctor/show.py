"""Shows findings as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from outboard.doctor.finding import Finding, Level

Groups = list[tuple[str, list[Finding]]]
_STYLE = {Level.OK: "green", Level.NOTE: "yellow", Level.PROBLEM: "bold red"}
_WIDE = 120  # columns where the output is no terminal: a log file or a pipe


def problems(groups: Groups) -> int:
    return sum(f.level is Level.PROBLEM for _, found in groups for f in found)


def write_json(groups: Groups, file: Path) -> None:
    """Writes {"version", "problems", "findings": [{"group", "check", "level", "text",
    "advice"}]}."""
    rows = [f.as_json(group) for group, found in groups for f in found]
    content = {"version": 1, "problems": problems(groups), "findings": rows}
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def print_table(groups: Groups, file: IO[str]) -> None:
    """Prints one line per check, then the advice."""
    probe = Console(file=file)
    console = Console(file=file, highlight=False, width=probe.width if probe.is_terminal else _WIDE)
    for title, found in groups:
        console.print(Text(title, style="bold"))
        console.print(_table(found))
        console.print()
    console.print(_last_line(groups))


def _table(found: list[Finding]) -> Table:
    table = Table(box=box.SIMPLE, show_header=False, show_edge=False, padding=(0, 1))
    table.add_column(no_wrap=True, width=max(map(len, Level)))
    table.add_column(overflow="fold", max_width=36)
    table.add_column(overflow="fold")
    for one in found:
        level = Text(str(one.level), style=_STYLE[one.level])
        cell: RenderableType = escape(one.text)
        if one.advice:
            cell = Group(escape(one.text), Padding(Text(f"-> {one.advice}"), (0, 0, 0, 2)))
        table.add_row(level, escape(one.check), cell)
    return table


def _last_line(groups: Groups) -> Text:
    count = problems(groups)
    if count == 0:
        return Text("nothing is wrong", style=_STYLE[Level.OK])
    return Text(f"{count} problem{'s' if count > 1 else ''}", style=_STYLE[Level.PROBLEM])
