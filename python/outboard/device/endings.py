"""Ends queues and devices that the garbage collector finds. Their end waits for commands under way,
and the collector may run anywhere: in the middle of other work, or in a callback."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

_Ending = tuple[Callable[[Any], Any], Any, Any]


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
            end, handle, kept = self._waiting.get()
            end(handle)  # an object whose device is closed has ended with it
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


def end_later(end: Callable[[Any], Any], handle: Any, kept: Any) -> None:
    """Ends a handle on another thread, and keeps `kept` until then."""
    if sys.is_finalizing() or _endings is None:
        end(handle)  # other threads do not run any more
    elif _endings.process == os.getpid():  # else it is the parent's
        _endings.add((end, handle, kept))
