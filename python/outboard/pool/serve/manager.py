"""What the handlers share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from outboard.pool.core.commands import Command
from outboard.pool.core.replies import Problem
from outboard.pool.core.state import State
from outboard.pool.serve.metrics import Metrics
from outboard.pool.serve.peer import Peer
from outboard.pool.serve.problems import ProblemError
from outboard.pool.serve.settings import Settings
from outboard.pool.serve.waits import Waits
from outboard.pool.serve.writer import Writer
from outboard.pool.store.base import Store
from outboard.pool.tokens import Signer

MOST_POLLS = 256  # of one holder at a time


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
    ) -> None:
        self.writer, self.waits, self.store = writer, waits, store
        self.signer, self.settings = signer, settings
        self.name, self.version, self.metrics = name, version, metrics
        self.description = b"{}"  # of the interface, in OpenAPI
        self.stopping = False
        self._polls: dict[str, int] = {}

    def now_ms(self) -> int:
        return self.writer.clock.now_ms()

    async def do(
        self,
        make: Command | Callable[[State], Any],
        show: Callable[[State, Any], Any] | None = None,
    ) -> Any:
        """Returns the answer to a command, as `show` turns it. Raises for problems."""
        value = await self.writer.do(make, show)
        if isinstance(value, Problem):
            raise RefusedError(value)
        return value

    @contextlib.contextmanager
    def watching(self, peer: Peer, kind: str, name: str) -> Iterator[asyncio.Future[None]]:
        """As Waits.watching(); a holder has a limited number of requests that wait."""
        count = self._polls.get(peer.holder, 0)
        if count >= MOST_POLLS and kind != "daemon":
            why = f"{peer.holder} has {count} requests that wait"
            raise ProblemError("too-many-waiting", f"the request cannot wait ({why}) ask later")
        self._polls[peer.holder] = count + 1
        try:
            with self.waits.watching(kind, name) as change:
                yield change
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
