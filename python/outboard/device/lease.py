"""Leases of the devices of a pool."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from outboard.device import native
from outboard.device.endings import prepare
from outboard.device.failures import InvalidArgumentError
from outboard.device.opened import Device, Owner

_FOREVER = -1
_WHAT = {1: "given", 2: "expires", 3: "taken", 4: "gone"}

Changed = Callable[[str, Device | None], None]


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


class Lease(Owner):
    """Devices of a pool, until close(), which gives them back after their queues have run. The
    library renews it meanwhile."""

    _end = "ob_lease_release"
    _end_waits = True

    def __init__(self, request: Request) -> None:
        self._changed: Any = None  # the C library may call it until the lease is closed
        self._devices: dict[int, Device] = {}
        prepare()
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
        super().__init__(made)

    @property
    def devices(self) -> list[Device]:
        """The devices that were not taken back."""
        found: list[Device] = []
        if self._handle is None:
            return found
        while True:
            made = native.Handle()
            try:
                native.call("ob_lease_device", self._handle, len(found), ctypes.byref(made))
            except InvalidArgumentError:  # there are no more
                return found
            found.append(self._device(made))

    def grow(self, count: int = 1, wait_s: float | None = None) -> None:
        """Adds devices, all of them or none.   `wait_s`: for them; None: without end"""
        wait_ms = _FOREVER if wait_s is None else int(wait_s * 1000)
        native.call("ob_lease_grow", self._handle, count, wait_ms)

    def shrink(self, device: Device) -> None:
        """Gives a device back, after its queues have run; this closes it."""
        native.call("ob_lease_shrink", self._handle, device.handle)

    def watch(self, changed: Changed | None) -> None:
        """Calls `changed` on a thread of the library when something happens: "given" or "taken"
        with the device; "expires" while the manager does not answer; "gone"."""

        def call(_user: Any, what: int, device: Any) -> None:
            assert changed is not None
            changed(
                _WHAT.get(what, str(what)), self._device(native.Handle(device)) if device else None
            )

        kept = native.LeaseChange(call) if changed else native.LeaseChange()
        native.call("ob_lease_watch", self._handle, kept, None)
        self._changed = kept

    def _used_by_commands(self) -> Any:
        return self._changed

    def __del__(self) -> None:
        # At the end of the process, the library gives the lease back by itself; its release would
        # wait for callbacks, which Python does not run any more.
        if not sys.is_finalizing():
            super().__del__()

    def _device(self, handle: native.Handle) -> Device:
        """Returns the same object for the same device."""
        number = int(handle.value or 0)
        if number not in self._devices:
            self._devices[number] = Device.leased(handle)
        return self._devices[number]


def _text(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
