"""`outboard bench redblack`: the runs of the example redblack3d that stand beside the tables of
PROXY: its kernel, one node, two ranks with a link between them, and nodes in kept time."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from outboard_bench import plot, redblack_runs, rows
from outboard_bench.netns import ended_by_exception, may_emulate
from outboard_bench.proxy_tables import TABLES, Kept, Ranks


class Redblack:
    """The tables of PROXY: a kernel, one node, two ranks with a link, and nodes in kept time."""

    name = "redblack"
    summary = "redblack3d beside the tables of PROXY; links need root (its own: -- --help)"

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        redblack_runs.program()
        with ended_by_exception(), rows.kept(json_file) as measured:
            for table in options.tables:
                for part in TABLES[table]:
                    if isinstance(part, Ranks | Kept) and not may_emulate():
                        continue
                    fresh = redblack_runs.rows_of(table, part, options.sizes)
                    rows.show(fresh)
                    measured += fresh
            return 0 if measured else rows.SKIPPED

    def draw(self, found: Sequence[Mapping[str, Any]], file: Path) -> None:
        """Draws the milliseconds of an iteration."""
        timed = [row for row in found if row["unit"] == "ms"]
        figure, (axis,) = plot.panels(1, columns=1)
        axis.barh([row["case"] for row in timed], [row["value"] for row in timed], color="C0")
        axis.invert_yaxis()
        axis.set_xlabel("ms an iteration")
        plot.save(figure, file)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="outboard bench redblack", description=Redblack.__doc__)
    add = parser.add_argument
    add("--tables", type=_tables, default=tuple(TABLES), help="IV.1 to IV.9, with commas")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", action="store_true", help="the paper's sizes: up to 9 GB, an hour")
    size.add_argument("--check", action="store_true", help="tiny ones, to see that all of it runs")
    options = parser.parse_args(arguments)
    options.sizes = redblack_runs.QUICK
    if options.full:
        options.sizes = redblack_runs.FULL
    if options.check:
        options.sizes = redblack_runs.CHECK
    return options


def _tables(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if not set(names) <= set(TABLES):
        raise argparse.ArgumentTypeError(f"'{text}' is not of {','.join(TABLES)}")
    return names
