"""Who waits for a change of a lease or of a daemon's desired state. Event loop only."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from outboard.pool.core.replies import LeaseChanged, Notice

_SLOT_S = 0.01
_LEAST_PART = 0.8  # of the time of a wait


class Waits:
    def __init__(self) -> None:
        self.spread = Spread()
        self._waiting: dict[tuple[str, str], set[asyncio.Future[None]]] = {}
        self._changed: dict[str, int] = {}  # daemon -> revision of its last change
        self._any = asyncio.Event()
        self.rev = 0

    def deliver(self, notices: list[Notice], rev: int) -> None:
        if rev != self.rev:
            self.rev = rev
            self._any.set()
            self._any = asyncio.Event()
        for notice in notices:
            if isinstance(notice, LeaseChanged):
                key = ("lease", notice.id)
            else:
                key = ("daemon", notice.daemon)
                self._changed[notice.daemon] = rev
            for future in self._waiting.pop(key, ()):
                _end(future)

    def daemon_changed(self, daemon: str, rev: int) -> bool:
        """Returns whether the desired state has changed after `rev`, or may have (the manager has
        just started)."""
        return self._changed.get(daemon, 1 << 62) > rev

    def know(self, daemon: str, rev: int) -> None:
        """Notes that the daemon is about to hear of everything up to `rev`."""
        self._changed.setdefault(daemon, rev)

    @contextlib.contextmanager
    def watching(self, kind: str, name: str) -> Iterator[asyncio.Future[None]]:
        """The future gets its result at the next change. Look at the state after it was made, so
        that no change falls between the look and the wait."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        key = (kind, name)
        self._waiting.setdefault(key, set()).add(future)
        try:
            yield future
        finally:
            others = self._waiting.get(key)
            if others is not None:
                others.discard(future)
                if not others:
                    del self._waiting[key]

    async def wait_any(self, seconds: float) -> None:
        """Waits for a commit."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._any.wait()

    def wake_all(self) -> None:
        """The manager stops: long polls end now."""
        self._any.set()
        for futures in list(self._waiting.values()):
            for future in list(futures):
                _end(future)


class Spread:
    """Lets waits end evenly over time. Those that began together, as after a commit, would
    otherwise end together, and so would those that follow, for ever."""

    def __init__(self) -> None:
        self._ends: dict[int, int] = {}  # slot of time -> waits that end in it

    async def passed(self, change: asyncio.Future[None], seconds: float) -> None:
        """As passed(), but the time may be up to a fifth shorter."""
        now = asyncio.get_running_loop().time()
        first, last = (int((now + seconds * part) / _SLOT_S) for part in (_LEAST_PART, 1))
        # The last of those with the fewest, so that daemons do not ask more often than need be.
        slot = min(range(last, first - 1, -1), key=self._count)
        self._ends[slot] = self._count(slot) + 1
        try:
            await passed(change, slot * _SLOT_S - now)
        finally:
            self._ends[slot] -= 1
            if not self._ends[slot]:
                del self._ends[slot]

    def _count(self, slot: int) -> int:
        return self._ends.get(slot, 0)


async def passed(change: asyncio.Future[None], seconds: float) -> None:
    """Waits for a change, or for a time."""
    timer = asyncio.get_running_loop().call_later(seconds, _end, change)
    try:
        await change
    finally:
        timer.cancel()


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
