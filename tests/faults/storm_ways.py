"""The ways in which the programs of a storm reach their daemons."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Way:
    """A program's way to its daemons: the one that a fault may hit, and the other."""

    name: str
    first: str
    second: str
    streams: int = 1
    key: bool = False
    plain: bool = False


WAYS = (
    Way("tcp", "tcp", "tcp"),
    Way("tcp in 4 streams", "tcp", "tcp", streams=4),
    Way("tcp, then shm", "tcp", "shm"),
    Way("shm", "shm", "shm"),
    Way("shm, then tcp in 4 streams", "shm", "tcp", streams=4),
    Way("tcp with a key", "tcp", "tcp", key=True),
    Way("tcp with a key, in plain", "tcp", "tcp", key=True, plain=True),
    Way("shm, then tcp with a key", "shm", "tcp", key=True),
    Way("ucx", "ucx", "ucx"),
    Way("ucx, then tcp", "ucx", "tcp"),
    Way("ucx with a key, in plain", "ucx", "ucx", key=True, plain=True),
)
