"""Expected failures of the command line, worded as: problem (why) suggestion."""

from __future__ import annotations

from typing import IO, Any

import click


class OutboardError(click.ClickException):
    """An error that ends the command with one line on stderr and `exit_code`."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.end_with(exit_code)

    def end_with(self, exit_code: int) -> None:
        """Makes `exit_code` the status of the command."""
        # the class declares another type; click reads the instance
        vars(self)["exit_code"] = exit_code

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"outboard: {self.message}", err=True, file=file)
