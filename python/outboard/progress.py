"""One line of progress: it is rewritten on a terminal, and comes every 10 % in a log."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType

_STEP_PERCENT = 10


class ProgressLine:
    """Context manager; writes to stderr. Says nothing when there was nothing to do."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._terminal = sys.stderr.isatty()
        self._started = time.monotonic()
        self._last_percent = -_STEP_PERCENT
        self._shown = False

    def update(self, done: int, total: int, what: str) -> None:
        percent = 100 * done // max(1, total)
        if self._terminal:
            self._rewrite(f"outboard: {self.title} {percent:3d} % ({done}/{total}) {what}")
        elif percent >= self._last_percent + _STEP_PERCENT or (done == total and total > 1):
            if percent != self._last_percent:
                print(f"outboard: {self.title} {percent} % ({done}/{total})", file=sys.stderr)
            self._last_percent = percent - percent % _STEP_PERCENT if percent < 100 else 100
        self._shown = True

    def close(self) -> None:
        if self._terminal and self._shown:
            self._rewrite("")
        self._shown = False

    def __enter__(self) -> ProgressLine:
        if self._terminal:
            self._rewrite(f"outboard: {self.title} ...")
            self._shown = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _rewrite(self, text: str) -> None:
        columns = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r\x1b[K{text[: columns - 1]}")
        sys.stderr.flush()
