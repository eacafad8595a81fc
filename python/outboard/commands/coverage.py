"""`outboard coverage`: lists the routines that can go out and the calls that stay local."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

import click

from outboard import coverage
from outboard.coverage import Page, Routine

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WIDE = 160  # columns where the output is no terminal: a log file or a pipe
_HINT = (
    "What stays local whatever a row says, and the names of every interface: "
    "outboard coverage --markdown -"
)


@click.command("coverage")
@click.option(
    "--markdown",
    type=click.File("w", encoding="utf-8"),
    metavar="FILE",
    help="Write the whole page there; - is standard output.",
)
@click.option("--routine", metavar="NAME", help="Show one routine with all its names.")
def command(markdown: IO[str] | None, routine: str | None) -> None:
    """Show which routines can go out, to which backends, and which calls stay local.

    NAME is a routine (dgesv), one without its precision (gesv), or any name that a program calls
    (LAPACKE_dgesv_work64_).

    \b
    Examples:
      outboard coverage
      outboard coverage --routine dgesv
      outboard coverage --markdown coverage.md
    """
    if markdown and routine:
        raise click.UsageError("--markdown and --routine exclude each other; give one of them")
    text = coverage.text()
    if markdown:
        markdown.write(text)
        return
    page = Page.parse(text)
    console = _console()
    if routine:
        found, names = page.find(routine)
        _print_routine(console, page, found, names)
    else:
        _print_page(console, page)


def _console() -> Console:
    from rich.console import Console

    probe = Console(highlight=False)
    return Console(
        file=sys.stdout, highlight=False, width=probe.width if probe.is_terminal else _WIDE
    )


def _table(*headings: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _print_page(console: Console, page: Page) -> None:
    summary = page.summary()
    table = _table(*summary[0])
    for column in table.columns[1:]:
        column.justify = "right"
    for row in summary:
        if row is summary[-1]:
            table.add_section()
        table.add_row(*_plain(list(row.values())))
    console.print(table)
    sections: dict[str, list[Routine]] = {}
    for routine in page.routines():
        sections.setdefault(routine.section, []).append(routine)
    for title, routines in sections.items():
        console.print(f"\n[bold]{title}[/bold]")
        console.print(_section(routines))
    console.print(f"\n{_HINT}", soft_wrap=True)


def _section(routines: list[Routine]) -> Table:
    """Returns the table of the routines in one table file, or of the functions of FFTW."""
    first = routines[0]
    backends = list(first.backends())
    if "function" in first.row:
        table = _table("function", "kind", *backends, "does")
        for r in routines:
            table.add_row(*_plain([r.base, r.row["kind"], *r.backends().values(), r.row["does"]]))
        return table
    c = "LAPACKE" if "LAPACKE" in first.row else "CBLAS"
    table = _table("routine", "in", "Fortran", c, *backends, "stays local if")
    for r in routines:
        precisions = " ".join(p if r.row[p] else "-" for p in coverage.PRECISIONS)
        cells = [r.base, precisions, r.row["Fortran"], r.row[c], *r.backends().values()]
        table.add_row(*_plain([*cells, r.row["stays local if"]]))
    return table


def _print_routine(console: Console, page: Page, routine: Routine, names: list[str]) -> None:
    from rich.table import Table

    row = routine.row
    what = row.get("computes") or f"{row['does']} {row['kind']}".strip()
    console.print(f"[bold]{' '.join(names)}[/bold]:", *_plain([what]), soft_wrap=True)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("table", *_plain([routine.section]))
    for backend, runs in routine.backends().items():
        table.add_row(backend, *_plain([runs]))
    if row.get("stays local if"):
        table.add_row("stays local if", *_plain([row["stays local if"]]))
    if not routine.is_exported:
        table.add_row("names", "only in liboutboard-preload-testing.so: for devices and tests")
    symbols: dict[str, list[str]] = {}
    for name in names:
        for interface, some in page.names_of(routine, name):
            symbols.setdefault(interface, []).extend(some)
    for interface, some in symbols.items():
        table.add_row(interface, *_plain([" ".join(some)]))
    console.print(table)


def _plain(cells: list[str]) -> list[str]:
    """Escapes the markup of rich in each cell."""
    from rich.markup import escape

    return [escape(cell) for cell in cells]
