"""Expected failures of the command line, worded as: problem (why) suggestion."""

from __future__ import annotations

import sys


class OutboardError(Exception):
    """An error that ends the command with one line on stderr and `exit_code`."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code

    def end_with(self, exit_code: int) -> None:
        """Makes `exit_code` the status of the command."""
        self.exit_code = exit_code

    def show(self) -> None:
        say(self.message)


def say(text: str) -> None:
    """Writes a line of Outboard's own to stderr, unless the caller closed it."""
    if sys.stderr is not None:
        print(f"outboard: {text}", file=sys.stderr, flush=True)
