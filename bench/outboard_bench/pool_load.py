"""Load for the manager of a pool: simulated daemons or holders, many in one process.

    python -m outboard_bench.pool_load daemons|holders URL KEYS FIRST COUNT EACH

KEYS holds a key folder for each member. It prints "ready" when all are registered, or hold their
leases, and goes on until its standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import uvloop

from outboard.pool.client import MANAGER_NAME, client_tls

T = TypeVar("T")
_AT_ONCE = 20  # handshakes
_HELD_S = 3600.0


class Connection:
    """A kept connection to the manager, with TLS."""

    def __init__(self, url: str, key: Path) -> None:
        self._url, self._key = urlsplit(url), key

    async def open(self) -> Connection:
        self._reader, self._writer = await asyncio.open_connection(
            self._url.hostname,
            self._url.port,
            ssl=client_tls(self._key),
            server_hostname=MANAGER_NAME,
        )
        return self

    async def ask(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        status, raw = await self.ask_raw(method, path, body)
        return status, json.loads(raw) if raw else None

    async def ask_raw(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        data = json.dumps(body).encode() if body is not None else b""
        head = f"{method} {path} HTTP/1.1\r\nhost: m\r\ncontent-length: {len(data)}\r\n\r\n"
        self._writer.write(head.encode() + data)
        top = await self._reader.readuntil(b"\r\n\r\n")
        status, length = int(top[9:12]), 0
        for line in top.split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line[15:])
        return status, await self._reader.readexactly(length)


async def daemon(url: str, keys: Path, number: int, devices: int, ready: asyncio.Event) -> None:
    name = f"d{number}"
    connection = await Connection(url, keys / name).open()
    own = [
        {"id": f"{name}/{i}", "kind": "gpu", "model": "m", "memory_bytes": 1 << 36}
        for i in range(devices)
    ]
    instance, path = os.urandom(8).hex(), f"/v1/daemons/{name}"
    status, told = await connection.ask("PUT", path, {"instance": instance, "devices": own})
    assert status == 200, told
    seq = 0
    while True:
        seq += 1
        reports = [
            {
                "id": device["id"],
                "floor": device["floor"],
                "sessions": [{"epoch": x["epoch"], "busy": True} for x in device["leases"]],
            }
            for device in told["devices"]
        ]
        body = {
            "instance": instance,
            "seq": seq,
            "rev": told["rev"],
            "devices": reports,
            "wait_s": 2 if seq > 1 else 0,
        }
        status, told = await connection.ask("POST", f"{path}/heartbeat", body)
        assert status == 200, told
        ready.set()


async def holder(url: str, keys: Path, number: int, leases: int, ready: asyncio.Event) -> None:
    connection = await Connection(url, keys / f"h{number}").open()
    ids = [f"h{number}-{i}" for i in range(leases)]
    ttl_s = 30.0
    for lease in ids:
        status, told = await connection.ask("PUT", f"/v1/leases/{lease}", {"ttl_s": 30})
        assert status == 200, told
        ttl_s = told["ttl_s"]
    ready.set()
    while True:
        await asyncio.sleep(ttl_s / 3 * (0.9 + 0.2 * (number % 10) / 10))
        status, told = await connection.ask("POST", "/v1/renew", {"ids": ids})
        assert status == 200, told
        lost = [row for row in told["leases"] if row.get("problem")]
        assert not lost, lost[:2]
        ttl_s = min(row["ttl_s"] for row in told["leases"])


async def measure(
    url: str, key: Path, rate: float, seconds: float, first_s: float = 0.0
) -> list[float]:
    """Acquires and releases at a rate, whatever the answers take. Returns the seconds of each
    acquire, from the time when it was due, but not those of the first `first_s` seconds."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(32):
        free.put_nowait(await Connection(url, key).open())
    await _acquire(free, rate, first_s)
    return await _acquire(free, rate, seconds)


async def _acquire(free: asyncio.Queue[Connection], rate: float, seconds: float) -> list[float]:
    taken: list[float] = []
    name = os.urandom(6).hex()

    async def one(number: int) -> None:
        due = time.perf_counter()
        connection = await free.get()
        path = f"/v1/leases/{name}-{number}"
        status, told = await connection.ask("PUT", path, {"wait_s": 5})
        assert status == 200, told
        taken.append(time.perf_counter() - due)
        status, told = await connection.ask("DELETE", path, None)
        assert status == 204, told
        free.put_nowait(connection)

    begin, tasks = time.perf_counter(), []
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, begin + number / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(one(number)))
    await asyncio.gather(*tasks)
    return taken


async def pages(url: str, key: Path, count: int) -> list[float]:
    """Returns the seconds that each of `count` requests for the page took."""
    connection = await Connection(url, key).open()
    taken: list[float] = []
    for _ in range(count):
        begin = time.perf_counter()
        status, text = await connection.ask_raw("GET", "/")
        taken.append(time.perf_counter() - begin)
        assert status == 200 and text.endswith(b"</html>"), text[-200:]
    return taken


async def _load(role: str, url: str, keys: Path, first: int, count: int, each: int) -> None:
    work = {"daemons": daemon, "holders": holder}[role]
    opening = asyncio.Semaphore(_AT_ONCE)
    tasks: list[asyncio.Task[None]] = []

    async def begin(number: int) -> None:
        async with opening:
            ready = asyncio.Event()
            task = asyncio.create_task(work(url, keys, number, each, ready))
            tasks.append(task)
            waiting = asyncio.create_task(ready.wait())
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()

    await asyncio.gather(*(begin(first + n) for n in range(count)))
    print("ready", flush=True)
    end = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await asyncio.wait({*tasks, asyncio.ensure_future(end)}, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        if task.done():
            task.result()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Returns the result of the coroutine. The load is to leave the processors to the manager."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


if __name__ == "__main__":
    run(_load(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *map(int, sys.argv[4:7])))
    os._exit(0)
