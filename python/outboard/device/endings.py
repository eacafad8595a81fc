"""Ends queues and devices that the garbage collector finds. Their end waits for commands under way,
and the collector may run anywhere: in the middle of other work, or in a callback."""

from __future__ import annotations

import os
import queue
import sys
import threading
from typing import Any

from outboard.device import native

_Ending = tuple[str, Any, Any]  # function, handle, memory that is kept until then


class _Endings:
    """A thread that ends handles, one after another."""

    def __init__(self) -> None:
        # A destructor may interrupt put(); SimpleQueue permits this.
        self._waiting: queue.SimpleQueue[_Ending] = queue.SimpleQueue()
        self.process = os.getpid()
        threading.Thread(target=self._run, name="outboard-endings", daemon=True).start()

    def add(self, ending: _Ending) -> None:
        self._waiting.put(ending)

    def _run(self) -> None:
        while True:
            name, handle, kept = self._waiting.get()
            native.end(name, handle)
            del kept, handle


_endings: _Endings | None = None
_making = threading.Lock()


def prepare() -> None:
    """Starts the thread of this process. Destructors cannot: they may interrupt the start of
    another thread."""
    global _endings
    with _making:
        if _endings is None or _endings.process != os.getpid():
            _endings = _Endings()


def end_later(name: str, handle: Any, kept: Any) -> None:
    """Ends a handle by a function on another thread, and keeps `kept` until then."""
    if sys.is_finalizing() or _endings is None:
        native.end(name, handle)  # other threads do not run any more
    elif _endings.process == os.getpid():  # else it is the parent's
        _endings.add((name, handle, kept))
