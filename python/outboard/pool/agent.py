"""Registers a daemon with the manager, and speaks for it while it runs.

It stands in for the agent inside `outboardd`, which does not exist yet: it sees no sessions and
ends none. So it confirms each end of a lease without proof, and the daemon serves whoever may
connect (decision 0040).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Any, NamedTuple

from outboard.errors import OutboardError, say
from outboard.pool.client import PoolClient, PoolError, UnreachableError, name_in_path
from outboard.pool.machine import machine

_RETRY_S = 1.0
_LONGEST_RETRY_S = 10.0


class Node(NamedTuple):
    """What is told about a daemon. `devices` as in the body of the registration."""

    name: str
    addresses: tuple[str, ...]
    devices: list[dict[str, Any]]
    labels: dict[str, str]
    wire: int


class Agent(threading.Thread):
    def __init__(self, client: PoolClient, node: Node) -> None:
        super().__init__(name="pool", daemon=True)
        self._client, self._node = client, node
        self._instance = os.urandom(12).hex()
        self._path = f"/v1/daemons/{name_in_path(node.name)}"
        self._floors: dict[str, int] = {}
        self._rev = self._seq = 0
        self._stop_asked = threading.Event()
        self._told = ""

    def register(self) -> None:
        """Raises OutboardError."""
        node = self._node
        body = {
            "instance": self._instance,
            "devices": node.devices,
            "wire": [node.wire],
            "addresses": list(node.addresses),
            "machine": machine(),
            "labels": node.labels,
        }
        self._apply(self._client.ask("PUT", self._path, body))

    def run(self) -> None:
        registered, pause_s = True, _RETRY_S
        while not self._stop_asked.is_set():
            try:
                if not registered:
                    self.register()
                    registered = True
                    self._say("registered again")
                self._beat()
                pause_s = _RETRY_S
            except PoolError as error:
                registered = error.name not in ("not-registered", "other-instance")
                self._say(error.message)
            except UnreachableError as error:
                self._say(error.message)
            else:
                continue
            self._stop_asked.wait(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_RETRY_S)

    def stop(self) -> None:
        """Tells the manager that the daemon stops."""
        self._stop_asked.set()
        with contextlib.suppress(OutboardError):
            query = {"instance": self._instance}
            self._client.ask("DELETE", self._path, query=query)

    def _beat(self) -> None:
        self._seq += 1
        begin = time.monotonic()
        devices = [{"id": name, "floor": floor} for name, floor in self._floors.items()]
        body = {
            "instance": self._instance,
            "seq": self._seq,
            "rev": self._rev,
            "devices": devices,
            "wait_s": 2,
        }
        self._apply(self._client.ask("POST", f"{self._path}/heartbeat", body, wait_s=2))
        if time.monotonic() - begin < 0.02:
            self._stop_asked.wait(0.02)  # a pool that changes all the time

    def _apply(self, told: Any) -> None:
        self._rev = told["rev"]
        own = {device["id"] for device in self._node.devices}
        self._floors = {d["id"]: d["floor"] for d in told["devices"] if d["id"] in own}

    def _say(self, text: str) -> None:
        """Says the same only once in a row."""
        if text != self._told:
            self._told = text
            say(f"pool: {text}")
