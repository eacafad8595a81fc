"""Gives the emitters access to settings/settings.toml. The only reader is in python/outboard."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = "settings/settings.toml"
sys.path.append(str(ROOT / "python"))

from outboard.settings_table import Row, TableError, load  # noqa: E402

__all__ = ["ROOT", "TABLE", "Row", "TableError", "load", "rows_or_exit"]


def rows_or_exit(table: Path) -> tuple[Row, ...]:
    """Returns the rows of `table`. Ends the program with one line if a row breaks a rule."""
    try:
        return load(table)
    except (OSError, ValueError, TableError) as error:
        sys.exit(f"codegen: {table}: {error}")
