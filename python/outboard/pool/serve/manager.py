"""What the handlers share."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from outboard.pool.core.commands import Command
from outboard.pool.core.records import Audit
from outboard.pool.core.replies import Problem
from outboard.pool.core.state import State
from outboard.pool.serve.logins import Logins
from outboard.pool.serve.metrics import Metrics
from outboard.pool.serve.minutes import Minutes, minute_of, until_next_s
from outboard.pool.serve.peer import Peer
from outboard.pool.serve.problems import ProblemError
from outboard.pool.serve.settings import Settings
from outboard.pool.serve.waits import Waits
from outboard.pool.serve.writer import Writer
from outboard.pool.store.base import Store, StoreError
from outboard.pool.tokens import Signer

MOST_POLLS = 256  # of one holder at a time
# This limits all clients together, which could send more, faster than the store takes them.
MOST_UNWAITED = 256
SOON_S = 0.1  # a store that answers takes less
_log = logging.getLogger("outboard.pool")


class Manager:
    def __init__(
        self,
        writer: Writer,
        waits: Waits,
        store: Store,
        signer: Signer,
        settings: Settings,
        name: str,
        version: str,
        metrics: Metrics,
        logins: Logins,
    ) -> None:
        self.writer, self.waits, self.store = writer, waits, store
        self.signer, self.settings = signer, settings
        self.name, self.version, self.metrics = name, version, metrics
        self.logins = logins
        self.description = b"{}"  # of the interface, in OpenAPI
        self.stopping = False
        self.ahead: set[str] = set()  # daemons that know a newer state, which the log has told
        self.minutes = Minutes()
        self._polls: dict[str, int] = {}
        self._unwaited: deque[float] = deque()  # when those of start() began that are not stored
        self.reader = ThreadPoolExecutor(1, "reader")  # of a remote store, and of backups

    def now_ms(self) -> int:
        return self.writer.clock.now_ms()

    async def count_minutes(self) -> None:
        """Keeps the page's history. It goes on until it is cancelled."""
        while True:
            self.minutes.add(await self.do(minute_of))
            await asyncio.sleep(until_next_s(self.now_ms()))

    async def do(
        self,
        make: Command | Callable[[State], Any],
        show: Callable[[State, Any], Any] | None = None,
        patient: bool = False,
    ) -> Any:
        """Returns the answer to a command, as `show` turns it. Raises for problems.
        `patient`: only a daemon waits for it."""
        value = await self.writer.do(make, show, patient)
        if isinstance(value, Problem):
            raise RefusedError(value)
        return value

    def start(self, make: Command | Callable[[State], Any]) -> bool:
        """Does as do(), but nobody waits for the answer, or learns of a problem. What is asked
        later sees the effect. Returns False, and does nothing, if too many of these wait for the
        store, or one for too long: the store may be gone, and then the effect would be lost."""
        began, now = self._unwaited, time.monotonic()
        if len(began) >= MOST_UNWAITED or (began and now > began[0] + SOON_S):
            return False
        began.append(now)
        # The writer's thread would take the interpreter from the answer that is being made.
        asyncio.get_running_loop().call_soon(self._begin, make)
        return True

    def _begin(self, make: Command | Callable[[State], Any]) -> None:
        self.writer.do(make).add_done_callback(self._over)

    def _over(self, job: asyncio.Future[Any]) -> None:
        self._unwaited.popleft()  # the writer does them in order
        if not job.cancelled() and (error := job.exception()) is not None:
            _log.error("a command that nobody waits for failed", exc_info=error)

    async def audits(self, after: int, limit: int, who: str) -> list[Audit]:
        """As Store.audits(), and the writer goes on while a remote store is slow. Raises for
        problems."""
        try:
            if self.store.remote:
                loop = asyncio.get_running_loop()
                facts = (after, limit, who)
                return await loop.run_in_executor(self.reader, self.store.audits, *facts)
            found: list[Audit] = await self.do(lambda state: self.store.audits(after, limit, who))
        except StoreError as error:
            text = f"the records cannot be read ({error}) ask again later"
            raise ProblemError("storage", text) from error
        return found

    @contextlib.contextmanager
    def watching(self, peer: Peer, lease: str) -> Iterator[asyncio.Future[None]]:
        """As Waits.watching(), for a holder, who has a limited number of requests that wait."""
        with self.counted(peer), self.waits.watching("lease", lease) as change:
            yield change

    @contextlib.contextmanager
    def counted(self, peer: Peer) -> Iterator[None]:
        """Counts a request that waits. Raises ProblemError if its holder has too many."""
        count = self._polls.get(peer.holder, 0)
        if count >= MOST_POLLS:
            why = f"{peer.holder} has {count} requests that wait"
            raise ProblemError("too-many-waiting", f"the request cannot wait ({why}) ask later")
        self._polls[peer.holder] = count + 1
        try:
            yield
        finally:
            left = self._polls[peer.holder] - 1
            if left:
                self._polls[peer.holder] = left
            else:
                del self._polls[peer.holder]


class RefusedError(Exception):
    """The core refuses."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem
