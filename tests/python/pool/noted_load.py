"""Holders that acquire, compute and give back, and daemons beside real managers. All of them take
notes of what they hear and do, for the history checker."""

from __future__ import annotations

import base64
import contextlib
import random
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
from pool_server import MEMORY, FakeDaemon

from outboard.errors import OutboardError
from outboard.pool.client import PoolClient
from outboard.pool.tokens import Claims, verify


class Notes:
    """The log of all holders and daemons of a test. Any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._events: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def note(self, event: str, **facts: Any) -> None:
        with self._lock:
            self._events.append({"t": time.monotonic_ns(), "event": event, **facts})

    def write(self) -> None:
        self.path.write_bytes(b"".join(msgspec.json.encode(e) + b"\n" for e in self._events))


class NotedDaemon(FakeDaemon):
    """Also runs commands: their part that the gate sees."""

    def __init__(self, notes: Notes, client: PoolClient, name: str, devices: int) -> None:
        super().__init__(client, name, devices)
        self._notes = notes

    def apply(self, told: Any) -> None:
        super().apply(told)
        if told["rev"] == self.gate.rev:  # an older one changes nothing
            for device in told["devices"]:
                self._notes.note("floor", device=device["id"], floor=device["floor"])

    def compute(self, token: str, now_ms: int, seconds: float, commands: int) -> int:
        """Runs commands one after the other. Returns how many have begun."""
        keys = {kid: base64.b64decode(der) for kid, der in self.keys.items()}
        try:
            claims = verify(token, keys)
        except ValueError as error:
            assert "no key in use" in str(error), error
            return 0  # of a manager at which this daemon has not registered yet
        session = self.open(claims, now_ms)
        if not isinstance(session, int):
            return 0
        begun = 0
        while begun < commands and self._begin(session, claims):
            begun += 1
            time.sleep(seconds)
            with self.lock:
                self._notes.note("end", device=claims.dev, epoch=claims.epo)
                self.gate.end(session)
        with self.lock:
            self.gate.close(session)
        return begun

    def _begin(self, session: int, claims: Claims) -> bool:
        with self.lock:
            if not self.gate.begin(session):
                return False
            exclusive = claims.mod == "x"
            self._notes.note("begin", device=claims.dev, epoch=claims.epo, exclusive=exclusive)
            return True


class NotedHolder(threading.Thread):
    """Acquires again and again until `ended`, and computes with what it gets."""

    def __init__(
        self,
        notes: Notes,
        client: PoolClient,
        daemons: dict[str, NotedDaemon],
        name: str,
        seed: int,
        ended: threading.Event,
    ) -> None:
        super().__init__(daemon=True)
        self._notes, self._client, self._daemons = notes, client, daemons
        self._name, self._random, self._ended = name, random.Random(seed), ended
        self.commands = 0
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            turn = 0
            while not self._ended.is_set():
                turn += 1
                with contextlib.suppress(OutboardError):  # nobody answers; the lease may be there
                    self._turn(f"{self._name}-{turn}")
        except BaseException as error:
            self.failed = error

    def _turn(self, lease: str) -> None:
        body: dict[str, Any] = {"count": self._random.choice((1, 1, 2)), "ttl_s": 5, "wait_s": 2}
        if self._random.random() < 0.3:
            body |= {"exclusive": False, "share": 500, "memory_bytes": MEMORY // 2}
        told = self._ask("PUT", lease, body)
        for handle in told["handles"]:
            daemon = self._daemons[handle["daemon"]]
            seconds, commands = self._random.uniform(0, 0.02), self._random.randrange(3)
            self.commands += daemon.compute(handle["token"], told["now_ms"], seconds, commands)
        if self._random.random() < 0.3:
            self._ask("GET", lease)
        self._client.ask("DELETE", f"/v1/leases/{lease}")

    def _ask(self, method: str, lease: str, body: Any = None) -> Any:
        asked = time.monotonic_ns()
        told = self._client.ask(method, f"/v1/leases/{lease}", body, wait_s=2)
        handles = [[h["device"], h["epoch"]] for h in told["handles"]]
        self._notes.note("answer", lease=lease, rev=told["rev"], asked=asked, handles=handles)
        return told


class NotedLoad:
    """A few holders and daemons that run until the end of a `with`."""

    def __init__(self, url: str, notes: Notes, seed: int) -> None:
        self.notes = notes
        self._ended = threading.Event()
        self._daemons = {n: NotedDaemon(notes, PoolClient(url), n, 2) for n in ("n1", "n2")}
        self.holders = [
            NotedHolder(notes, PoolClient(url), self._daemons, f"h{n}", seed + n, self._ended)
            for n in range(4)
        ]

    def __enter__(self) -> NotedLoad:
        for daemon in self._daemons.values():
            daemon.register()
        for thread in (*self._daemons.values(), *self.holders):
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        for holder in self.holders:
            holder.join(60)
            assert holder.failed is None, holder.failed
        for daemon in self._daemons.values():
            daemon.ended.set()
        for daemon in self._daemons.values():
            daemon.stop()
        self.notes.write()

    def goes_on(self, commands: int = 10) -> None:
        """Waits until each holder has run some more commands."""
        enough = {holder: holder.commands + commands for holder in self.holders}
        end = time.monotonic() + 120
        while any(holder.commands < least for holder, least in enough.items()):
            assert time.monotonic() < end, "the holders get no devices any more"
            assert all(holder.is_alive() for holder in self.holders)
            time.sleep(0.05)
