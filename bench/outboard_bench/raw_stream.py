"""Plain TCP streams between two processes, with which a link is measured. Run it as a program:

raw_stream.py sink ADDRESS WINDOWS SECONDS [STREAMS]    prints its port, then Gb/s of each window
raw_stream.py source ADDRESS PORT [STREAMS]             sends until the sink has enough
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time

# This fits into a core's own cache, so that the copies in and out cost little.
_PART_BYTES = 128 << 10
# A connection begins slowly, and a rate limit lets a burst through first.
_WARM_UP_S = 0.2


def sink(address: str, windows: int, seconds: float, streams: int) -> None:
    with socket.create_server((address, 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        connections = [listener.accept()[0] for _ in range(streams)]
    counts = [0] * streams
    for i in range(1, streams):
        threading.Thread(target=_count, args=(connections[i], counts, i), daemon=True).start()
    receive(connections[0], counts, _WARM_UP_S)
    for _ in range(windows):
        print(f"{receive(connections[0], counts, seconds):.6g}", flush=True)


def receive(connection: socket.socket, counts: list[int], seconds: float) -> float:
    """Returns the Gb/s over that time, of this connection and of those that others count."""
    part = bytearray(_PART_BYTES)
    before = sum(counts)
    start = now = time.perf_counter()
    while now < start + seconds:
        got = connection.recv_into(part)
        if got == 0:
            raise SystemExit("the source ended early")
        counts[0] += got
        now = time.perf_counter()
    return (sum(counts) - before) * 8e-9 / (now - start)


def _count(connection: socket.socket, counts: list[int], index: int) -> None:
    part = bytearray(_PART_BYTES)
    while got := connection.recv_into(part):
        counts[index] += got
    print("the source ended early", file=sys.stderr)
    os._exit(1)


def source(address: str, port: int, streams: int) -> None:
    connections = [socket.create_connection((address, port)) for _ in range(streams)]
    for connection in connections[1:]:
        threading.Thread(target=_send, args=(connection,), daemon=True).start()
    _send(connections[0])


def _send(connection: socket.socket) -> None:
    part = bytes(_PART_BYTES)
    with contextlib.suppress(ConnectionError):
        while True:
            connection.sendall(part)


if __name__ == "__main__":
    if sys.argv[1] == "sink":
        sink(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int([*sys.argv, "1"][5]))
    else:
        source(sys.argv[2], int(sys.argv[3]), int([*sys.argv, "1"][4]))
