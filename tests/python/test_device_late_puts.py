"""Puts whose bytes are late: one of the two daemons is stopped in the middle. When the put has
failed, or its grant has ended, none of them may be written any more."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from device_places import Daemon, make_keys, serve, stopped
from outboard import device, paths
from outboard.device import native as c_api

ELEMENTS = 1 << 23  # 64 MiB, far more than sockets hold
BEFORE, SENT, AFTER = 1.0, 2.0, 3.0


class Side:
    """A daemon, and a device of it with an array that holds one number everywhere."""

    def __init__(self, name: str, daemon: Daemon) -> None:
        self.daemon = daemon
        # The test stops daemons for longer than the usual limit.
        self.device = device.open(name, dead_after_s=60)
        self.queue = self.device.queue()
        self.array = self.device.empty((ELEMENTS,))

    def set(self, value: float) -> None:
        self.queue.fill(self.array, value)
        self.queue.synchronize()

    def elements(self, count: int = ELEMENTS, first: int = 0) -> Any:
        read = np.full(count, np.nan)
        place = c_api.Place(self.array.buffer, first * read.itemsize)
        c_api.call("ob_read", self.queue.handle, read.ctypes.data, place, read.nbytes, c_api.WAIT)
        return read

    def put(self, count: int, address: str, value: float) -> None:
        """Puts so many elements, and waits for the end."""
        some = self.device.empty((count,))
        self.queue.fill(some, value)
        device.put(self.queue, address, some)
        self.queue.synchronize()


@pytest.fixture(params=["tcp", "tls"])
def sides(
    request: pytest.FixtureRequest,
    native: paths.Native,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[Side, Side]]:
    """Yields the owner of a buffer, and a side that puts."""
    if request.param == "tls":
        make_keys(tmp_path)
        monkeypatch.setenv("OUTBOARD_KEY", str(tmp_path))
    with contextlib.ExitStack() as stack:
        daemons = [stack.enter_context(serve(native, request.param, tmp_path)) for _ in range(2)]
        owner, sender = (Side(*each) for each in daemons)
        with owner.device, sender.device:
            sender.set(SENT)
            yield owner, sender


def begin_put(owner: Side, sender: Side) -> device.Grant:
    """Hands over a put, and returns when its first bytes have arrived."""
    owner.set(BEFORE)
    grant = device.Grant(owner.array, write=True)
    device.put(sender.queue, grant.address, sender.array)
    sender.queue.flush()
    while owner.elements(1)[0] == BEFORE:
        pass
    return grant


def end(grant: device.Grant, owner: Side) -> None:
    """Ends a grant, and waits until its daemon has done so: it has answered a later command."""
    grant.close()
    device.Grant(owner.array, read=True).close()


def test_nothing_of_a_sender_that_was_stopped_lands_after_the_end_of_the_grant(
    sides: tuple[Side, Side],
) -> None:
    owner, sender = sides
    for _ in range(20):
        grant = begin_put(owner, sender)
        with stopped(sender.daemon):
            in_the_middle = owner.elements(1, ELEMENTS - 1)[0] == BEFORE
            end(grant, owner)
            owner.set(AFTER)
        with contextlib.suppress(device.DeviceError):
            sender.queue.synchronize()
        np.testing.assert_array_equal(owner.elements(), AFTER)
        if in_the_middle:
            return
    pytest.fail("no put was stopped in the middle")


def test_nothing_of_a_put_that_has_failed_lands_when_its_owner_goes_on(
    sides: tuple[Side, Side],
) -> None:
    owner, sender = sides
    owner.set(BEFORE)
    grant = device.Grant(owner.array, write=True)
    sender.put(1, grant.address, BEFORE)  # opens the stream
    with stopped(owner.daemon):
        device.put(sender.queue, grant.address, sender.array)
        with pytest.raises(device.DeviceError, match="lost the daemon of a grant"):
            sender.queue.synchronize()
    sender.put(2, grant.address, AFTER)
    end(grant, owner)  # and with it all puts that are under way
    found = owner.elements()
    np.testing.assert_array_equal(found[:2], AFTER)
    np.testing.assert_array_equal(found[2:], BEFORE)
