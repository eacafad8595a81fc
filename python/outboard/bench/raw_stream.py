"""A plain TCP stream between two processes, what a link is measured with. Run as a program:

raw_stream.py sink ADDRESS WINDOWS SECONDS     prints its port, then Gb/s of each window
raw_stream.py source ADDRESS PORT              sends until the sink has enough
"""

from __future__ import annotations

import contextlib
import socket
import sys
import time

# Fits into a core's own cache, so that the copies in and out cost little.
_PART_BYTES = 128 << 10
# A connection begins slowly, and a rate limit lets a burst through first.
_WARM_UP_S = 0.2


def sink(address: str, windows: int, seconds: float) -> None:
    with socket.create_server((address, 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        connection, _ = listener.accept()
    part = bytearray(_PART_BYTES)
    with connection:
        receive(connection, part, _WARM_UP_S)
        for _ in range(windows):
            print(f"{receive(connection, part, seconds):.6g}", flush=True)


def receive(connection: socket.socket, part: bytearray, seconds: float) -> float:
    """Gb/s over that time."""
    start = now = time.perf_counter()
    count = 0
    while now < start + seconds:
        got = connection.recv_into(part)
        if got == 0:
            raise SystemExit("the source ended early")
        count += got
        now = time.perf_counter()
    return count * 8e-9 / (now - start)


def source(address: str, port: int) -> None:
    part = bytes(_PART_BYTES)
    with (
        socket.create_connection((address, port)) as connection,
        contextlib.suppress(ConnectionError),
    ):
        while True:
            connection.sendall(part)


if __name__ == "__main__":
    if sys.argv[1] == "sink":
        sink(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        source(sys.argv[2], int(sys.argv[3]))
