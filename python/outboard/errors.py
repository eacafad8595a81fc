"""Expected failures of the command line, worded as: problem (why) suggestion."""

from __future__ import annotations

from typing import IO, Any

import click


class OutboardError(click.ClickException):
    """Ends the command with one line on stderr and `exit_code`."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.end_with(exit_code)

    def end_with(self, exit_code: int) -> None:
        """Make `exit_code` the status of the command."""
        vars(self)["exit_code"] = exit_code  # typed as the class's; click asks the instance

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"outboard: {self.message}", err=True, file=file)
