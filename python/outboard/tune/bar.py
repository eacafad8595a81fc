"""Shows the progress of the measurements and the remaining time: as a bar in a terminal, as lines
in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from outboard.report import format_time


class Bar:
    """Context manager that writes to stderr. Each stage has its share of the whole time."""

    def __init__(self, stages: list[tuple[str, float]]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._stages = stages
        self._whole = sum(seconds for _, seconds in stages)
        self._index = -1
        self._console = Console(stderr=True, highlight=False)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:3.0f} %  {task.fields[left]}"),
            console=self._console,
            transient=True,
        )
        self._terminal = self._console.is_terminal
        self._task = self._progress.add_task("", total=self._whole, left="")

    def __enter__(self) -> Bar:
        if self._terminal:
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._terminal:
            self._progress.stop()

    def next_stage(self) -> None:
        self._index += 1
        title, seconds = self._stages[self._index]
        if not self._terminal:
            print(f"outboard: measuring {title}, up to {seconds:.0f} s", file=sys.stderr)
        self.update("", 0.0)

    def update(self, what: str, part: float) -> None:
        """Shows that `part` of the present stage (0 to 1) is done."""
        title, seconds = self._stages[self._index]
        done = sum(s for _, s in self._stages[: self._index]) + part * seconds
        left = f"{self._whole - done:.0f} s left at most"
        text = f"{title}: {what}" if what else title
        self._progress.update(self._task, description=text, completed=done, left=left)


class Stopwatch:
    """Measures the time since its creation, for the last line."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def text(self) -> str:
        return format_time((time.monotonic() - self._begin) * 1e9)
