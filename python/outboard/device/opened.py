"""Devices, queues and events."""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from outboard.device import native
from outboard.device.array import Array
from outboard.device.endings import end_later, prepare
from outboard.device.failures import DeviceError, exception
from outboard.device.fft import Plans
from outboard.device.kernels import Module

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray


@dataclass(frozen=True)
class Facts:
    """What is known about a device."""

    backend: str  # "cpu", "null", ...
    description: str  # for people
    memory_bytes: int
    gflops_double: float  # measured rate of dgemm [GFLOP/s]; 0: unknown
    host_visible: bool
    kernels: bool  # runs kernels of the program
    big_endian: bool


@dataclass(frozen=True)
class Report:
    """The work of a queue since the last synchronize."""

    compute_s: float  # routines on the device
    plan_s: float  # waits for plans
    waited_s: float  # waits for the turn to compute
    failure: DeviceError | None = None  # of the queue, in the report of a callback


# Callbacks that have not run yet, by number: the C library has only the number.
_callbacks: dict[int, Callable[[Report], None]] = {}
_callback_numbers = itertools.count(1)


def _report(struct: native.ReportStruct) -> Report:
    failed = struct.error.code != 0
    return Report(
        struct.compute_ns / 1e9,
        struct.plan_ns / 1e9,
        struct.waited_ns / 1e9,
        exception(native.failure_of(struct.error)) if failed else None,
    )


def _call_back(number: int, report: Any) -> None:
    _callbacks.pop(number)(_report(report.contents))


_run_callback = native.Callback(_call_back)  # the C library may call it at any time


class Owner:
    """Owns a handle, and ends it once: with `with`, close(), or the garbage collector."""

    _end = ""
    _end_waits = False  # for commands under way

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def _used_by_commands(self) -> Any:
        """Returns the memory of commands that may still run."""
        return None

    @property
    def handle(self) -> Any:
        """The handle of the C library; None once closed, which the library refuses."""
        return self._handle

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            native.call(self._end, handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # An object whose device is closed has ended with it, and nobody could catch the failure.
        handle, self._handle = getattr(self, "_handle", None), None
        if handle is None:
            return
        if self._end_waits:
            end_later(self._end, handle, self._used_by_commands())
        else:
            native.end(self._end, handle)


class Queue(Owner):
    """Runs commands in order. Threads: one at a time."""

    _end = "ob_queue_destroy"
    _end_waits = True

    def __init__(self, device: Device) -> None:
        self._kept: list[Any] = []  # memory of commands that may still run
        made = native.Handle()
        native.call("ob_queue_create", device.handle, 0, ctypes.byref(made))
        super().__init__(made)
        self.device = device

    def _used_by_commands(self) -> Any:
        return self._kept

    def write(self, to: Array, host: ArrayLike) -> None:
        """Copies the elements of an array of the same shape; the array may change at once."""
        elements = to.packed(host)
        place = native.Place(to.buffer, 0)
        address = elements.ctypes.data
        native.call("ob_write", self.handle, place, address, elements.nbytes, native.CAPTURE)

    def read(self, to: NDArray[Any], source: Array) -> None:
        """Copies to an array of the same shape, element type and order, which is valid after
        synchronize()."""
        source.check_destination(to)
        place = native.Place(source.buffer, 0)
        self._kept.append(to)
        native.call("ob_read", self.handle, to.ctypes.data, place, to.nbytes, 0)

    def call(self, routine: str, operands: Sequence[native.Operand]) -> None:
        """Runs a routine of the table; the operands are those of ob_call()."""
        arguments = (native.Operand * len(operands))(*operands)
        native.call("ob_call", self.handle, routine.encode(), arguments, len(operands))

    def flush(self) -> None:
        """Sends the commands that were handed over, so that the device starts them."""
        native.call("ob_queue_flush", self.handle)

    def synchronize(self, timeout: float | None = None) -> Report:
        """Waits at most `timeout` seconds; raises the first failure of the queue and clears it."""
        report = native.ReportStruct(struct_bytes=ctypes.sizeof(native.ReportStruct))
        native.call(
            "ob_queue_synchronize", self.handle, native.timeout_ms(timeout), ctypes.byref(report)
        )
        self._kept.clear()
        return _report(report)

    def then(self, done: Callable[[Report], None]) -> None:
        """Calls `done` on a thread of the library when the queue has run all commands so far, also
        after a failure. It may hand over commands; functions that wait fail there."""
        number = next(_callback_numbers)
        _callbacks[number] = done
        try:
            native.call("ob_queue_callback", self.handle, _run_callback, number)
        except DeviceError:
            del _callbacks[number]
            raise

    def __await__(self) -> Generator[Any, None, Report]:
        """Waits for all commands so far without blocking the event loop, as synchronize()."""
        yield from self.record().__await__()
        return self.synchronize()

    def fill(self, to: Array, value: complex) -> None:
        """Sets every element of an array."""
        import numpy as np

        element = np.asarray(value).astype(to.dtype).tobytes()
        place = native.Place(to.buffer, 0)
        native.call("ob_fill", self.handle, place, element, len(element), to.size)

    def record(self, timed: bool = False) -> Event:
        """Returns an event that is done when the queue has run all commands so far. With `timed` it
        notes the time on the device."""
        event = Event(self.device, timed)
        native.call("ob_event_record", event.handle, self.handle)
        return event

    def hold(self, event: Event) -> None:
        """Holds later commands until the event is done."""
        native.call("ob_event_hold", event.handle, self.handle)


class Event(Owner):
    """A point in the work of a queue. Threads: any."""

    _end = "ob_event_destroy"

    def __init__(self, device: Device, timed: bool = False) -> None:
        made = native.Handle()
        flags = native.TIMED if timed else 0
        native.call("ob_event_create", device.handle, flags, ctypes.byref(made))
        super().__init__(made)

    def wait(self, timeout: float | None = None) -> None:
        """Waits at most `timeout` seconds.   Raises: DeadlineError"""
        native.call("ob_event_wait", self.handle, native.timeout_ms(timeout))

    def fileno(self) -> int:
        """Returns a descriptor that becomes readable when the event is done; for select and event
        loops. It belongs to the event."""
        descriptor = ctypes.c_int(-1)
        native.call("ob_event_fd", self.handle, ctypes.byref(descriptor))
        return descriptor.value

    def __await__(self) -> Generator[Any, None, None]:
        """Waits without blocking the event loop."""
        return self._done().__await__()

    async def _done(self) -> None:
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        # An event loop has one reader of a descriptor, and the event may have several waiters.
        descriptor = os.dup(self.fileno())
        try:
            loop.add_reader(descriptor, done.set)
            await done.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        self.wait(0)

    def seconds_since(self, earlier: Event) -> float:
        """Returns the time on the device between two timed events that are done [s]."""
        elapsed_ns = ctypes.c_uint64()
        native.call("ob_event_elapsed_ns", earlier.handle, self.handle, ctypes.byref(elapsed_ns))
        return elapsed_ns.value / 1e9


class Device(Owner):
    """An open device. Threads: any; its own queue: one at a time."""

    _end = "ob_device_close"
    _end_waits = True

    def __init__(self, where: str | None, options: native.OptionsStruct) -> None:
        prepare()
        made = native.Handle()
        name = None if where is None else where.encode()
        native.call("ob_device_open", name, ctypes.byref(options), ctypes.byref(made))
        self._begin(made)

    @classmethod
    def leased(cls, handle: native.Handle) -> Device:
        """Returns a device of a lease, which opened it."""
        device = cls.__new__(cls)
        device._begin(handle)
        return device

    def _begin(self, handle: native.Handle) -> None:
        super().__init__(handle)
        self._own_queue: Queue | None = None
        self.plans = Plans()

    @property
    def facts(self) -> Facts:
        facts = native.FactsStruct(struct_bytes=ctypes.sizeof(native.FactsStruct))
        native.call("ob_device_get_facts", self.handle, ctypes.byref(facts))
        return Facts(
            backend=facts.backend.decode(errors="replace"),
            description=facts.description.decode(errors="replace"),
            memory_bytes=facts.memory_bytes,
            gflops_double=facts.gflops_double,
            host_visible=facts.host_visible != 0,
            kernels=facts.kernels != 0,
            big_endian=facts.big_endian != 0,
        )

    @property
    def own_queue(self) -> Queue:
        """The queue of commands for which no other is named."""
        if self._own_queue is None:
            self._own_queue = Queue(self)
        return self._own_queue

    def queue(self) -> Queue:
        """Makes a queue."""
        return Queue(self)

    def module(self, source: str | bytes, options: str = "", kind: str = "portable") -> Module:
        """Compiles kernels in the background. Options are "-D NAME=VALUE", separated by blanks."""
        return Module(self, source, options, kind)

    def empty(self, shape: Sequence[int], dtype: DTypeLike = "float64", order: str = "F") -> Array:
        """Makes an array whose elements are undefined."""
        return Array(self, shape, dtype, order)

    def array(
        self, host: ArrayLike, dtype: DTypeLike | None = None, queue: Queue | None = None
    ) -> Array:
        """Makes an array with these elements; keeps Fortran or C order. `host` is anything that
        NumPy takes, or exports its elements on the processor by DLPack."""
        import numpy as np

        exported: Any = host
        if not hasattr(exported, "__array__") and hasattr(exported, "__dlpack__"):
            exported = np.from_dlpack(exported)
        elements: NDArray[Any] = np.asarray(exported, dtype=dtype)
        fortran = elements.flags.f_contiguous and not elements.flags.c_contiguous
        made = Array(self, elements.shape, elements.dtype, "F" if fortran else "C")
        (queue or self.own_queue).write(made, elements)
        return made


def open_device(
    where: str | None = None,
    *,
    key: str | None = None,
    plain: bool = False,
    streams: int = 1,
    dead_after_s: float | None = None,
) -> Device:
    """Opens a device: "HOST:PORT", "HOST:PORT/INDEX", "unix:PATH", "local:cpu",
    "local:cuda", "local:opencl" or "local:null".

    Without a name: the first daemon of OUTBOARD_SERVER that answers. `key` is the folder of this
    client's key. A daemon that is silent for `dead_after_s` while it owes an answer counts as dead;
    the default is that of the C library.
    """
    options = native.OptionsStruct(
        struct_bytes=ctypes.sizeof(native.OptionsStruct),
        key_folder=None if key is None else key.encode(),
        plain=1 if plain else 0,
        streams=streams,
        dead_after_ms=0 if dead_after_s is None else max(1, round(dead_after_s * 1000)),
    )
    return Device(where, options)
