"""Accelerators anywhere as if they were here: arrays, queues and products on a device.

    from outboard import device
    with device.open("node7:7770") as gpu:
        a = gpu.array(numpy_array)
        result = (a @ a.T).numpy()

docs/device-api.md says more. The package calls the C library liboutboard.so.1 by ctypes.
"""

from __future__ import annotations

from outboard.device import fft, linalg, several
from outboard.device.array import Array
from outboard.device.failures import (
    BuildError,
    BusyError,
    ConnectionLostError,
    DeadlineError,
    DeviceError,
    DeviceMemoryError,
    FencedError,
    InvalidArgumentError,
    KernelFaultError,
    UnsupportedError,
)
from outboard.device.kernels import Bound, Kernel, LocalMemory, Module, Parameter
from outboard.device.lease import Lease, Request
from outboard.device.opened import Device, Event, Facts, Queue, Report, open_device
from outboard.device.peers import Grant, Mailbox, Peer, copy_between, get, put

open = open_device  # `device.open` reads best; the builtin is not used in this package

__all__ = [
    "Array",
    "Bound",
    "BuildError",
    "BusyError",
    "ConnectionLostError",
    "DeadlineError",
    "Device",
    "DeviceError",
    "DeviceMemoryError",
    "Event",
    "Facts",
    "FencedError",
    "Grant",
    "InvalidArgumentError",
    "Kernel",
    "KernelFaultError",
    "Lease",
    "LocalMemory",
    "Mailbox",
    "Module",
    "Parameter",
    "Peer",
    "Queue",
    "Report",
    "Request",
    "UnsupportedError",
    "copy_between",
    "fft",
    "get",
    "linalg",
    "open",
    "open_device",
    "put",
    "several",
]
