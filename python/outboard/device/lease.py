"""Leases of the devices of a pool. In this version the library answers that it has none."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from outboard.device import native


@dataclass(frozen=True)
class Request:
    """What a program asks of a pool; None and 0 ask for nothing special."""

    count: int = 1
    pool: str | None = None
    kind: str | None = None
    near: str | None = None
    exclusive: bool = False
    share_percent: int = 0
    wait_s: float = 0
    seconds: int = 0
    memory_bytes: int = 0


class Lease:
    """Devices of a pool, until close()."""

    def __init__(self, request: Request) -> None:
        self._handle: native.Handle | None = None
        struct = native.RequestStruct(
            struct_bytes=ctypes.sizeof(native.RequestStruct),
            pool=_text(request.pool),
            kind=_text(request.kind),
            near=_text(request.near),
            count=request.count,
            exclusive=request.exclusive,
            share_percent=request.share_percent,
            wait_ms=int(request.wait_s * 1000),
            seconds=request.seconds,
            memory_bytes=request.memory_bytes,
        )
        made = native.Handle()
        native.call("ob_lease_acquire", ctypes.byref(struct), ctypes.byref(made))
        self._handle = made

    def close(self) -> None:
        """Gives all devices back."""
        handle, self._handle = self._handle, None
        if handle is not None:
            native.call("ob_lease_release", handle)


def _text(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
