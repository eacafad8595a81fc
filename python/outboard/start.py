"""The entry point of the installed command. It hands `outboard run` to the program outboard-run, so
that a short command hardly takes longer than without Outboard. (In a checkout, the launcher
./outboard does so.)"""

from __future__ import annotations

import os
import signal
import sys

from outboard import preload
from outboard.errors import OutboardError


def main() -> None:
    """Runs the command line of this process."""
    if sys.argv[1:2] == ["run"]:
        _hand_over(sys.argv[1:])
    from outboard.cli import main

    main()


def _hand_over(words: list[str]) -> None:
    """Replaces this process by outboard-run. It comes back here, to the whole command line, if
    `words` are not the usual ones. Returns if there is no such program."""
    try:
        native = preload.find()
    except OutboardError:
        return  # the whole command line says so
    if native is None or not sys.executable:
        return
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python; the command gets them as usual
        signal.signal(ignored, signal.SIG_DFL)
    program = preload.runner_in(native)
    otherwise = [sys.executable, "-P", "-m", "outboard"]
    os.execv(program, [program, "--otherwise", *otherwise, "--", *words])
