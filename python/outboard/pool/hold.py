"""Holds a lease while a command runs: acquires it, renews it in a thread, and gives it back."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from typing import Any, NamedTuple

from outboard.errors import OutboardError, say
from outboard.pool.client import (
    PoolClient,
    PoolError,
    UnreachableError,
    name_in_path,
    new_id,
    passes,
)
from outboard.pool.machine import machine

TTL_S = 120.0  # a lease of `outboard run`
_POLL_S = 25.0
_RETRY_S = 2.0
_AGAIN_S = 0.5  # a restart of the manager takes about 1 s


class Wish(NamedTuple):
    """What `outboard run` asks for. `least` below `most`: what there is. `wait_s`: for devices."""

    least: int
    most: int
    share: float  # 0: exclusive
    memory_bytes: int
    kind: str
    wait_s: float
    labels: tuple[tuple[str, str], ...] = ()  # of daemons
    priority: str = "normal"


class Hold:
    """Context manager. `handles` are the devices, as the manager describes them."""

    def __init__(self, client: PoolClient, wish: Wish) -> None:
        self._client, self._wish = client, wish
        self.id = new_id()
        self.handles: list[dict[str, Any]] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._ttl_s = TTL_S

    def __enter__(self) -> Hold:
        """Raises OutboardError if there are no devices."""
        try:
            self.handles = self._acquire()["handles"]
        except BaseException:
            self._release()
            raise
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        # The thread takes no signals: the command's end must reach the thread that waits for it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self._thread.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5)
        self._release(early=True)

    def _acquire(self) -> Any:
        until = time.monotonic() + self._wish.wait_s
        for count in range(self._wish.most, self._wish.least - 1, -1):
            last = count == self._wish.least
            try:
                answer = self._ask(count, until if last else 0)
            except PoolError as error:
                if last or error.name != "can-never-fit":
                    raise
                continue
            if answer["state"] == "held":
                return answer
            self._release()
            self.id = new_id()
        raise OutboardError(
            "no accelerators are free (others hold them, or their daemons are away) give --wait "
            "TIME, or see `outboard pool status`"
        )

    def _ask(self, count: int, until: float) -> Any:
        left = max(0.0, min(_POLL_S, until - time.monotonic()))
        body = {
            "count": count,
            "class": {"kind": self._wish.kind, "labels": dict(self._wish.labels)},
            "priority": self._wish.priority,
            "exclusive": not self._wish.share,
            "share": round((self._wish.share or 1) * 1000),
            "memory_bytes": self._wish.memory_bytes,
            "static": True,
            "ttl_s": TTL_S,
            "replace": not self._wish.share,  # the program goes on with another device
            "near": {"machine": machine()},
        }
        path = f"/v1/leases/{self.id}"
        answer = self._put(path, {**body, "wait_s": left}, until)
        while answer["state"] == "queued" and (left := until - time.monotonic()) > 0:
            # Repeated, it keeps its place, also where the manager was restarted.
            answer = self._put(path, {**body, "wait_s": min(_POLL_S, left)}, until)
        self._ttl_s = answer["ttl_s"]
        return answer

    def _put(self, path: str, body: dict[str, Any], until: float) -> Any:
        """Asks until there is an answer: who waits for devices waits for the manager, too, and for
        the first daemon with a label, which may come later than this, as in a job that has both."""
        while True:
            try:
                return self._client.ask("PUT", path, body, wait_s=body["wait_s"])
            except (PoolError, UnreachableError) as error:
                comes = bool(self._wish.labels) and getattr(error, "name", "") == "can-never-fit"
                if not (comes or passes(error)) or time.monotonic() + _AGAIN_S > until:
                    raise
                time.sleep(_AGAIN_S)

    def _renew(self) -> None:
        pause_s = self._ttl_s / 3
        while not self._stop.wait(pause_s):
            try:
                answer = self._client.ask("POST", "/v1/renew", {"ids": [self.id]})
            except (PoolError, UnreachableError):
                pause_s = _RETRY_S
                continue
            row = answer["leases"][0]
            if row.get("problem"):
                say(f"the lease is lost ({row['problem']}); others may get its accelerators")
                return
            pause_s = row["ttl_s"] / 3

    def _release(self, early: bool = False) -> None:
        """Gives the devices back. `early`: the manager answers before it has stored that."""
        with contextlib.suppress(OutboardError):  # it ends by itself after its lease time
            path = f"/v1/leases/{name_in_path(self.id)}"
            self._client.ask("DELETE", path, query={"early": "1" if early else ""})
