"""Two devices from Python: copies between them, events of the other one, messages, grants, and
routines on both. The cases are those of tests/api/peers.c."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from device_places import random_array
from outboard import device
from outboard.device import several

SHAPE = (60, 50)


class Side:
    """A device with a queue and an array."""

    def __init__(self, where: str) -> None:
        self.device = device.open(where)
        self.queue = self.device.queue()
        self.array = self.device.empty(SHAPE)

    def set(self, value: float) -> None:
        self.queue.fill(self.array, value)

    def elements(self) -> Any:
        read = np.full(SHAPE, -7.0, order="F")
        self.queue.read(read, self.array)
        self.queue.synchronize()
        return read

    def expect(self, value: float) -> None:
        np.testing.assert_array_equal(self.elements(), np.full(SHAPE, value))


@pytest.fixture
def sides(pair: tuple[str, str]) -> Iterator[tuple[Side, Side]]:
    first, second = Side(pair[0]), Side(pair[1])
    with first.device, second.device:
        yield first, second


@contextlib.contextmanager
def remote() -> Iterator[None]:
    """Skips a case that devices of this process refuse, and daemons on Unix sockets."""
    try:
        yield
    except device.UnsupportedError as failure:
        pytest.skip(str(failure))


def test_arrays_are_copied_between_devices(sides: tuple[Side, Side], generator: Any) -> None:
    here, there = sides
    host = np.asfortranarray(random_array(generator, SHAPE, "float64"))
    here.queue.write(here.array, host)
    device.copy_between(here.queue, here.array, there.queue, there.array)
    np.testing.assert_array_equal(there.elements(), host)
    with pytest.raises(ValueError, match="do not fit"):
        device.copy_between(here.queue, here.array, there.queue, there.device.empty((2, 2)))


def test_a_queue_holds_for_an_event_of_another_device(sides: tuple[Side, Side]) -> None:
    here, there = sides
    there.set(0)
    for value in range(1, 101):
        here.set(value)
    there.queue.hold(here.queue.record())
    device.copy_between(here.queue, here.array, there.queue, there.array)
    there.expect(100)


def test_messages_arrive(sides: tuple[Side, Side]) -> None:
    here, there = sides
    with (
        remote(),
        device.Mailbox(there.device) as mailbox,
        device.Peer(here.device, mailbox.address) as peer,
    ):
        sent = device.Event(here.device)
        here.set(5)
        there.set(-1)
        mailbox.receive(there.queue, 7, there.array)
        peer.send(here.queue, 7, here.array, sent)
        there.queue.flush()
        here.queue.hold(sent)
        here.set(6)  # behind the message
        there.expect(5)


def test_puts_and_gets_land(sides: tuple[Side, Side]) -> None:
    here, there = sides
    with remote():
        grant = device.Grant(there.array, read=True, write=True)
        here.set(8)
        device.put(here.queue, grant.address, here.array)
        here.queue.synchronize()
    grant.hold(there.queue, 1)
    there.expect(8)
    there.set(9)
    there.queue.synchronize()
    device.get(here.queue, grant.address, here.array)
    here.expect(9)
    grant.close()
    device.get(here.queue, grant.address, here.array)
    with pytest.raises(device.DeviceError, match=r"no such (mailbox or )?grant"):
        here.queue.synchronize()


def test_routines_run_on_both_devices(sides: tuple[Side, Side], generator: Any) -> None:
    devices = [side.device for side in sides]
    a = random_array(generator, (70, 40), "float64")
    b = random_array(generator, (40, 55), "float64")
    # |error| <= 2 k eps |a||b| on both sides
    tolerance = 4 * 40 * np.finfo("float64").eps
    np.testing.assert_allclose(several.matmul(devices, a, b), a @ b, rtol=0, atol=tolerance)
