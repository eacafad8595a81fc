"""The entry point of the command. It runs `outboard run -- COMMAND` without loading the rest of the
command line, so that a short command hardly takes longer than without Outboard."""

from __future__ import annotations

import os
import sys

# With one of these, `run` does not have the usual mode and server.
_DECISIVE_VARIABLES = ("OUTBOARD_MODE", "OUTBOARD_SERVER", "RCPU_SERVER")


def main() -> None:
    """Runs the command line of this process."""
    command = plain_command(sys.argv[1:])
    if command is None or any(os.environ.get(name) for name in _DECISIVE_VARIABLES):
        from outboard.cli import main

        main()
    else:
        sys.exit(_run(command))


def plain_command(arguments: list[str]) -> list[str] | None:
    """Returns the command of `run`, if `run` has no options of its own; else None."""
    if arguments[:1] != ["run"]:
        return None
    words = arguments[1:]
    if words[:1] == ["--"]:
        words = words[1:]
    elif words and words[0].startswith("-"):
        return None
    return words or None


def _run(command: list[str]) -> int:
    from outboard.errors import OutboardError
    from outboard.launch import execute_plain

    try:
        return execute_plain(command)
    except OutboardError as error:
        error.show()
        return error.exit_code
