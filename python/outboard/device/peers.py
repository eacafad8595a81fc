"""Copies from device to device: messages, and grants for one-sided copies.

device.copy_between(queue_a, a, queue_b, b)

mailbox = device.Mailbox(gpu)                 # in one process; send mailbox.address to another
mailbox.receive(queue, 1, array)

peer = device.Peer(other_gpu, address)        # there
peer.send(queue, 1, array)
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from outboard.device import native
from outboard.device.opened import Device, Event, Owner, Queue

if TYPE_CHECKING:
    from outboard.device.array import Array


def _whole(array: Array) -> native.Rect:
    word = array.dtype.itemsize // 2 if array.dtype.kind == "c" else array.dtype.itemsize
    known = word if word in (1, 2, 4, 8) else 0
    return native.Rect(array.nbytes, 1, array.nbytes, array.nbytes, known, 0)


def _place(array: Array) -> native.Place:
    return native.Place(array.buffer, 0)


def _handle(owner: Owner | None) -> native.Handle | None:
    return None if owner is None else owner.handle


def copy_between(from_queue: Queue, source: Array, to_queue: Queue, to: Array) -> None:
    """Copies the elements of an array to one of as many bytes, of any device. Each queue is held
    until its part is done (ob_copy_between)."""
    if source.nbytes != to.nbytes:
        raise ValueError(f"{source.nbytes} bytes do not fit an array of {to.nbytes}")
    native.call(
        "ob_copy_between",
        from_queue.handle,
        _place(source),
        to_queue.handle,
        _place(to),
        ctypes.byref(_whole(source)),
    )


class Mailbox(Owner):
    """The mailbox of a device. Threads: any."""

    _end = "ob_mailbox_close"

    def __init__(self, device: Device) -> None:
        address = ctypes.create_string_buffer(native.ADDRESS_BYTES)
        made = native.Handle()
        native.call("ob_mailbox_open", device.handle, address, ctypes.byref(made))
        super().__init__(made)
        self.address = address.value.decode()

    def receive(
        self,
        queue: Queue,
        number: int,
        to: Array,
        next: Peer | None = None,
        arrived: Event | None = None,
    ) -> None:
        """Receives the message with this number. Without an event, the queue waits for it."""
        native.call(
            "ob_receive",
            queue.handle,
            self.handle,
            number,
            _place(to),
            ctypes.byref(_whole(to)),
            _handle(next),
            _handle(arrived),
        )


class Peer(Owner):
    """A link of a device to another device's mailbox. Threads: any."""

    _end = "ob_peer_disconnect"

    def __init__(self, device: Device, address: str) -> None:
        made = native.Handle()
        native.call("ob_peer_connect", device.handle, address.encode(), ctypes.byref(made))
        super().__init__(made)

    def send(self, queue: Queue, number: int, source: Array, sent: Event | None = None) -> None:
        """Sends an array under this number. The event marks when the array may change."""
        native.call(
            "ob_send",
            queue.handle,
            self.handle,
            number,
            _place(source),
            ctypes.byref(_whole(source)),
            _handle(sent),
        )


class Grant(Owner):
    """The right of others to read or write an array, while its owner does nothing.
    Threads: any."""

    _end = "ob_grant_revoke"

    def __init__(
        self,
        array: Array,
        *,
        read: bool = False,
        write: bool = False,
        user: str | None = None,
        seconds: int = 3600,
        uses: int = 0,
    ) -> None:
        address = ctypes.create_string_buffer(native.ADDRESS_BYTES)
        made = native.Handle()
        may = (native.MAY_READ if read else 0) | (native.MAY_WRITE if write else 0)
        native.call(
            "ob_grant_create",
            array.buffer,
            0,
            array.nbytes,
            may,
            None if user is None else user.encode(),
            seconds,
            uses,
            address,
            ctypes.byref(made),
        )
        super().__init__(made)
        self.address = address.value.decode()

    def hold(self, queue: Queue, landed: int) -> None:
        """Holds later commands of a queue until so many puts have landed."""
        native.call("ob_grant_wait", self.handle, queue.handle, landed)


def put(
    queue: Queue, address: str, source: Array, offset_bytes: int = 0, landed: Event | None = None
) -> None:
    """Copies an array to the range of a grant. The queue is held until it has landed."""
    native.call(
        "ob_put",
        queue.handle,
        address.encode(),
        offset_bytes,
        _place(source),
        source.nbytes,
        _handle(landed),
    )


def get(
    queue: Queue, address: str, to: Array, offset_bytes: int = 0, landed: Event | None = None
) -> None:
    """Copies a part of the range of a grant to an array. The queue is held until it has it."""
    native.call(
        "ob_get",
        queue.handle,
        address.encode(),
        offset_bytes,
        _place(to),
        to.nbytes,
        _handle(landed),
    )
