"""The failures of the library as exceptions."""

from __future__ import annotations

from dataclasses import dataclass

ORIGINS = ("nobody", "caller", "connection", "daemon", "device", "compiler", "kernel")


@dataclass(frozen=True)
class Failure:
    """What the library says about a failure."""

    code: int
    origin: str  # one of ORIGINS
    command: int  # number of the failed command in its queue, from 1; 0: none
    name: str  # the routine or kernel of that command, or ""
    message: str


class DeviceError(Exception):
    """A failure of a device. Its text says the problem, why, and what to do."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.code = failure.code
        self.origin = failure.origin
        self.command = failure.command
        self.name = failure.name


class InvalidArgumentError(DeviceError, ValueError):
    """An argument is wrong; found here, or on the device when the command ran."""


class UnsupportedError(DeviceError, NotImplementedError):
    """The device or this version of the library cannot do it."""


class DeviceMemoryError(DeviceError, MemoryError):
    """There is not enough memory on the device, or here."""


class DeadlineError(DeviceError, TimeoutError):
    """The time limit of a wait has passed."""


class ConnectionLostError(DeviceError, ConnectionError):
    """The device is gone, and its data with it."""


class BusyError(DeviceError):
    """Others use it, and the time limit of the wait has passed."""


class FencedError(DeviceError):
    """The lease of the device is over."""


class BuildError(DeviceError):
    """A module of kernels does not compile; Module.log has the compiler's words."""


class KernelFaultError(DeviceError):
    """A kernel failed while it ran; what it was to write is undefined."""


# By the number of the status in outboard/device.h.
_CLASSES: dict[int, type[DeviceError]] = {
    1: InvalidArgumentError,
    2: UnsupportedError,
    3: DeviceMemoryError,
    4: DeadlineError,
    8: ConnectionLostError,
    12: BusyError,
    14: BuildError,
    15: KernelFaultError,
    16: FencedError,
}


def exception(failure: Failure) -> DeviceError:
    """Returns the exception for a failure."""
    return _CLASSES.get(failure.code, DeviceError)(failure)
