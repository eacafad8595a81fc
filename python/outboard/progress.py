"""One line of progress: it is rewritten on a terminal, and printed every 10 % in a log.

It names the work, the finished part of the steps, and the remaining time at the rate of the steps
so far.
"""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType

_STEP_PERCENT = 10
# Before this time, the rate of the steps is no good estimate.
_ESTIMATE_AFTER_S = 10.0
_ESTIMATE_AFTER_STEPS = 5


class ProgressLine:
    """Context manager that writes to stderr. It writes nothing if there was no work to do.

    A `subject` ("the library and the daemon") is named once, with the number of steps.
    """

    def __init__(self, title: str, subject: str = "") -> None:
        self.title = title
        self._subject = subject
        self._terminal = sys.stderr.isatty()
        self._started = time.monotonic()
        self._last_percent = -_STEP_PERCENT
        self._shown = False

    def update(self, done: int, total: int, what: str) -> None:
        if self._subject:
            self._announce(f"outboard: {self.title} {self._subject} ({total} steps)")
        percent = 100 * done // max(1, total)
        if self._terminal:
            rest = self._rest(done, total)
            self._rewrite(f"outboard: {self.title} {percent:3d} % ({done}/{total}{rest}) {what}")
        elif percent >= self._last_percent + _STEP_PERCENT or (done == total and total > 1):
            if percent != self._last_percent:
                rest = self._rest(done, total)
                print(f"outboard: {self.title} {percent} % ({done}/{total}{rest})", file=sys.stderr)
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

    def _rest(self, done: int, total: int) -> str:
        """Returns the remaining time, as text; empty while it is unknown."""
        elapsed_s = time.monotonic() - self._started
        known = elapsed_s >= _ESTIMATE_AFTER_S and done >= _ESTIMATE_AFTER_STEPS
        if not known or done >= total:
            return ""
        return f", about {duration(elapsed_s * (total - done) / done)} left"

    def _announce(self, line: str) -> None:
        if self._terminal:
            self._rewrite("")
        print(line, file=sys.stderr)
        self._subject = ""

    def _rewrite(self, text: str) -> None:
        columns = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r\x1b[K{text[: columns - 1]}")
        sys.stderr.flush()


def duration(seconds: float) -> str:
    """Returns a rounded duration for people: "40 s", "6 min", "1 h 20 min"."""
    if seconds < 55:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(max(60, seconds) / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
