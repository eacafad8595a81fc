"""What a manager does, line by line, for tests/cluster/check_history.py."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import msgspec

from outboard.errors import OutboardError
from outboard.pool.core.commands import Command
from outboard.pool.core.replies import Answer


class History:
    """Appends to a file, which its owner alone may read if it is new. A line says who did what,
    and when by CLOCK_MONOTONIC, which all processes of a machine share. A history survives the
    death of the process, and not that of the machine."""

    def __init__(self, path: Path) -> None:
        """Raises OutboardError if the file cannot be opened."""
        try:
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "ab")
        except OSError as error:
            raise OutboardError(f"cannot open the history {path} ({error.strerror})") from error
        self._manager = os.urandom(6).hex()  # a name of this start of it
        if self._file.tell():
            self._file.write(b"\n")  # the one before may have died in the middle of a line

    def started(self, rev: int) -> None:
        """A manager has loaded a state with this revision, and leads."""
        self._note("start", rev=rev)

    def applied(self, command: Command, answer: Answer, rev: int, now_ms: int) -> None:
        """A command is part of the commit that comes next."""
        facts = {"now_ms": now_ms, "type": type(command).__name__}
        self._note("apply", rev=rev, **facts, command=command, answer=answer)

    def committed(self, rev: int) -> None:
        """All up to this revision is stored. What it answers is not sent yet."""
        self._note("commit", rev=rev)
        self._file.flush()

    def flush(self) -> None:
        """Hands all lines to the system. Call it before each commit, so that no commit is without
        its lines."""
        self._file.flush()

    def _note(self, event: str, **facts: Any) -> None:
        line = {"t": time.monotonic_ns(), "event": event, "manager": self._manager, **facts}
        self._file.write(msgspec.json.encode(line) + b"\n")
