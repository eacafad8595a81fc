"""The entry point of the command. It runs `outboard run` with the usual options without loading the
rest of the command line, so that a short command hardly takes longer than without Outboard."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from outboard.launch import PlainRun

# The table of settings takes long to load. A test compares these copies with it.
_MODES = ("auto", "remote", "trace", "off")
_MODE_VARIABLE = "OUTBOARD_MODE"
_SERVER_VARIABLES = ("OUTBOARD_SERVER", "RCPU_SERVER")
_OPTIONS = ("--mode", "--server")


def main() -> None:
    """Runs the command line of this process."""
    run = plain_run(sys.argv[1:], os.environ)
    if run is None:
        from outboard.cli import main

        main()
    else:
        sys.exit(_execute(run))


def plain_run(arguments: list[str], environment: Mapping[str, str]) -> PlainRun | None:
    """Returns what `outboard run` is asked for, if it has no options but --mode and --server and
    their values are good. Else None: the whole command line then does it, or says what is wrong."""
    if arguments[:1] != ["run"]:
        return None
    given, command = _split(arguments[1:])
    if not command:
        return None
    mode = given.get("--mode") or environment.get(_MODE_VARIABLE) or "auto"
    named = (environment.get(name) for name in _SERVER_VARIABLES)
    servers = given.get("--server", next((text for text in named if text), None))
    if mode not in _MODES:
        return None
    from outboard.addresses import check_servers
    from outboard.launch import PlainRun

    try:
        return PlainRun(command, mode, check_servers(servers) if servers is not None else ())
    except ValueError:
        return None


def _split(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Returns the values of the options, and the command; no command if there are other options.
    An option that is given twice has its last value."""
    given: dict[str, str] = {}
    while words and words[0].startswith("-"):
        if words[0] == "--":
            return given, words[1:]
        name, equals, value = words[0].partition("=")
        if name not in _OPTIONS or (not equals and len(words) < 2):
            return given, []
        given[name] = value if equals else words[1]
        words = words[1:] if equals else words[2:]
    return given, words


def _execute(run: PlainRun) -> int:
    from outboard.errors import OutboardError
    from outboard.launch import execute_plain

    try:
        return execute_plain(run)
    except OutboardError as error:
        error.show()
        return error.exit_code
