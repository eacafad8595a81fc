"""liboutboard.so.1 by ctypes: its structs, its functions, and its failures as exceptions."""

from __future__ import annotations

import ctypes
import threading
from ctypes import c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64
from functools import cache
from typing import Any

from outboard import preload
from outboard.device.failures import ORIGINS, DeviceError, Failure, exception

LIBRARY_NAME = "liboutboard.so.1"
API_MAJOR = 1

CAPTURE = 1
WAIT = 2
TIMED = 4
FOREVER = -1
ADDRESS_BYTES = 512
MAY_READ = 1
MAY_WRITE = 2

# Kinds of arguments of kernels.
BUFFER = 1
SCALAR = 2
LOCAL = 3

Handle = ctypes.c_void_p


class ErrorStruct(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("code", c_int32),
        ("origin", c_int32),
        ("command", c_uint64),
        ("name", c_char * 64),
        ("message", c_char * 1024),
    )


class Place(ctypes.Structure):
    _fields_ = (("buffer", Handle), ("offset_bytes", c_uint64))


class Rect(ctypes.Structure):
    _fields_ = (
        ("width_bytes", c_uint64),
        ("rows", c_uint64),
        ("device_pitch_bytes", c_uint64),
        ("host_pitch_bytes", c_uint64),
        ("word_bytes", c_uint32),
        ("flags", c_uint32),
    )


class ReportStruct(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("failed_command", c_uint64),
        ("compute_ns", c_uint64),
        ("plan_ns", c_uint64),
        ("waited_ns", c_uint64),
        ("error", ErrorStruct),
    )


class FactsStruct(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("memory_bytes", c_uint64),
        ("gflops_double", c_double),
        ("host_visible", c_uint32),
        ("kernels", c_uint32),
        ("big_endian", c_uint32),
        ("peers", c_uint32),
        ("backend", c_char * 64),
        ("description", c_char * 1024),
    )


class OptionsStruct(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("key_folder", c_char_p),
        ("plain", c_uint32),
        ("streams", c_uint32),
        ("dead_after_ms", c_uint32),
    )


class FftStruct(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("kind", c_int32),
        ("precision", c_int32),
        ("sign", c_int32),
        ("in_place", c_int32),
        ("rank", c_int32),
        ("n", c_uint64 * 7),
        ("batch", c_uint64),
        ("real", c_int32 * 7),
    )


class Value(ctypes.Union):
    _fields_ = (
        ("integer", c_int64),
        ("real", c_double),
        ("pair", ctypes.POINTER(c_double)),
        ("place", Place),
        ("host", ctypes.c_void_p),
        ("flag", c_char),
    )


class Operand(ctypes.Structure):
    _fields_ = (("value", Value), ("ld", c_int64))


class RequestStruct(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("pool", c_char_p),
        ("kind", c_char_p),
        ("near", c_char_p),
        ("count", c_uint32),
        ("exclusive", c_uint32),
        ("share_percent", c_uint32),
        ("wait_ms", c_uint32),
        ("seconds", c_uint32),
        ("reserved", c_uint32),
        ("memory_bytes", c_uint64),
    )


LeaseChange = ctypes.CFUNCTYPE(None, ctypes.c_void_p, c_int32, ctypes.c_void_p)
Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ReportStruct))


class Variant(ctypes.Structure):
    _fields_ = (
        ("kind", c_int32),
        ("flags", c_uint32),
        ("bytes", c_char_p),
        ("count", c_size_t),
        ("architecture", c_char_p),
    )


class ParameterStruct(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("kind", c_int32),
        ("bytes", c_uint32),
        ("read_only", c_uint32),
        ("count", c_uint32),
        ("type", c_char * 64),
        ("name", c_char * 64),
    )


class ArgumentValue(ctypes.Union):
    _fields_ = (("place", Place), ("value", ctypes.c_void_p))


class Argument(ctypes.Structure):
    _fields_ = (
        ("kind", c_int32),
        ("bytes", c_uint32),
        ("value", ArgumentValue),
        ("extent_bytes", c_uint64),
        ("access", c_uint32),
        ("reserved", c_uint32),
    )


# The arguments of each function. All return a status.
_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "ob_last_error": (ctypes.POINTER(ErrorStruct),),
    "ob_device_open": (c_char_p, ctypes.POINTER(OptionsStruct), ctypes.POINTER(Handle)),
    "ob_device_get_facts": (Handle, ctypes.POINTER(FactsStruct)),
    "ob_device_close": (Handle,),
    "ob_buffer_create": (Handle, c_uint64, c_uint32, ctypes.POINTER(Handle)),
    "ob_buffer_destroy": (Handle,),
    "ob_buffer_map": (Handle, ctypes.POINTER(ctypes.c_void_p)),
    "ob_queue_create": (Handle, c_uint32, ctypes.POINTER(Handle)),
    "ob_queue_destroy": (Handle,),
    "ob_queue_flush": (Handle,),
    "ob_queue_synchronize": (Handle, c_int64, ctypes.POINTER(ReportStruct)),
    "ob_queue_callback": (Handle, Callback, ctypes.c_void_p),
    "ob_fill": (Handle, Place, c_char_p, c_uint32, c_uint64),
    "ob_write": (Handle, Place, ctypes.c_void_p, c_uint64, c_uint32),
    "ob_read": (Handle, ctypes.c_void_p, Place, c_uint64, c_uint32),
    "ob_copy": (Handle, Place, Place, c_uint64),
    "ob_event_create": (Handle, c_uint32, ctypes.POINTER(Handle)),
    "ob_event_destroy": (Handle,),
    "ob_event_record": (Handle, Handle),
    "ob_event_hold": (Handle, Handle),
    "ob_event_wait": (Handle, c_int64),
    "ob_event_fd": (Handle, ctypes.POINTER(ctypes.c_int)),
    "ob_event_elapsed_ns": (Handle, Handle, ctypes.POINTER(c_uint64)),
    "ob_copy_between": (Handle, Place, Handle, Place, ctypes.POINTER(Rect)),
    "ob_mailbox_open": (Handle, c_char_p, ctypes.POINTER(Handle)),
    "ob_mailbox_close": (Handle,),
    "ob_peer_connect": (Handle, c_char_p, ctypes.POINTER(Handle)),
    "ob_peer_disconnect": (Handle,),
    "ob_send": (Handle, Handle, c_uint64, Place, ctypes.POINTER(Rect), Handle),
    "ob_receive": (Handle, Handle, c_uint64, Place, ctypes.POINTER(Rect), Handle, Handle),
    "ob_grant_create": (
        Handle,
        c_uint64,
        c_uint64,
        c_uint32,
        c_char_p,
        c_uint32,
        c_uint32,
        c_char_p,
        ctypes.POINTER(Handle),
    ),
    "ob_grant_wait": (Handle, Handle, c_uint64),
    "ob_grant_revoke": (Handle,),
    "ob_put": (Handle, c_char_p, c_uint64, Place, c_uint64, Handle),
    "ob_get": (Handle, c_char_p, c_uint64, Place, c_uint64, Handle),
    "ob_call": (Handle, c_char_p, ctypes.POINTER(Operand), c_size_t),
    "ob_on_devices": (
        ctypes.POINTER(Handle),
        c_size_t,
        c_char_p,
        ctypes.POINTER(Operand),
        c_size_t,
    ),
    "ob_plan_create": (Handle, ctypes.POINTER(FftStruct), ctypes.POINTER(Handle)),
    "ob_plan_destroy": (Handle,),
    "ob_plan_execute": (Handle, Handle, Place, Place),
    "ob_module_load": (
        Handle,
        ctypes.POINTER(Variant),
        c_size_t,
        c_char_p,
        ctypes.POINTER(Handle),
    ),
    "ob_module_wait": (Handle, c_int64),
    "ob_module_log": (Handle, c_char_p, ctypes.POINTER(c_size_t)),
    "ob_module_unload": (Handle,),
    "ob_kernel_create": (Handle, c_char_p, ctypes.POINTER(Handle)),
    "ob_kernel_destroy": (Handle,),
    "ob_kernel_get_parameter": (Handle, c_uint32, ctypes.POINTER(ParameterStruct)),
    "ob_kernel_set": (Handle, c_uint32, ctypes.POINTER(Argument)),
    "ob_kernel_run": (
        Handle,
        Handle,
        ctypes.POINTER(c_uint32),
        ctypes.POINTER(c_uint32),
    ),
    "ob_lease_acquire": (ctypes.POINTER(RequestStruct), ctypes.POINTER(Handle)),
    "ob_lease_release": (Handle,),
    "ob_lease_grow": (Handle, c_uint32, c_int64),
    "ob_lease_shrink": (Handle, Handle),
    "ob_lease_device": (Handle, c_uint32, ctypes.POINTER(Handle)),
    "ob_lease_watch": (Handle, LeaseChange, ctypes.c_void_p),
}


@cache
def library() -> ctypes.CDLL:
    """Opens the library when it is first needed."""
    path = preload.shared_library(LIBRARY_NAME)
    try:
        opened = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"{LIBRARY_NAME} cannot be opened ({error}); run `outboard build`, or name the folder "
            "of the build in OUTBOARD_NATIVE_DIR"
        ) from error
    opened.ob_api.argtypes = ()
    opened.ob_api.restype = c_uint32
    if opened.ob_api() >> 16 != API_MAJOR:
        raise ImportError(
            f"{path} has version {opened.ob_api() >> 16} of the device API, and this package "
            f"version {API_MAJOR}; install matching releases"
        )
    for name, arguments in _PROTOTYPES.items():
        function = getattr(opened, name)
        function.argtypes = arguments
        function.restype = c_int32
    return opened


def failure_of(error: ErrorStruct) -> Failure:
    known = 0 <= error.origin < len(ORIGINS)
    return Failure(
        code=error.code,
        origin=ORIGINS[error.origin] if known else "unknown",
        command=error.command,
        name=error.name.decode(errors="replace"),
        message=error.message.decode(errors="replace"),
    )


def last_failure() -> DeviceError:
    """Returns the exception for the last failed call of this thread."""
    error = ErrorStruct(struct_bytes=ctypes.sizeof(ErrorStruct))
    library().ob_last_error(ctypes.byref(error))
    return exception(failure_of(error))


class _Calls(threading.local):
    """What a thread is doing with the library."""

    def __init__(self) -> None:
        self.under_way = False
        self.ends: list[tuple[str, Handle]] = []  # handles that destructors gave up meanwhile


_calls = _Calls()


def call(name: str, *arguments: Any) -> None:
    """Calls a function; raises its failure."""
    calls = _calls
    calls.under_way = True
    try:
        if getattr(library(), name)(*arguments) != 0:
            raise last_failure()
    finally:
        calls.under_way = False
        while calls.ends:
            end(*calls.ends.pop())


def end(name: str, handle: Handle) -> None:
    """Ends a handle for a destructor, by a function. Ignores its failure: an object whose device is
    closed has ended with it.

    The garbage collector may run a destructor after a function has failed and before the failure
    is read. A failure of the destructor would then stand in its place, so the end comes later.
    """
    if _calls.under_way:
        _calls.ends.append((name, handle))
    else:
        getattr(library(), name)(handle)


def timeout_ms(seconds: float | None) -> int:
    """Returns a time limit as the library takes it; None: no limit."""
    return FOREVER if seconds is None else max(0, int(seconds * 1000))


def flag(character: str) -> Operand:
    operand = Operand()
    operand.value.flag = character.encode()
    return operand


def integer(number: int) -> Operand:
    operand = Operand()
    operand.value.integer = number
    return operand


def scalar(number: complex, is_complex: bool) -> tuple[Operand, Any]:
    """Returns a scalar of a routine, and the memory that must live as long as the call."""
    operand = Operand()
    if not is_complex:
        operand.value.real = number.real
        return operand, None
    pair = (c_double * 2)(number.real, number.imag)
    operand.value.pair = ctypes.cast(pair, ctypes.POINTER(c_double))
    return operand, pair


def matrix(buffer: Any, ld: int, offset_bytes: int = 0) -> Operand:
    operand = Operand()
    operand.value.place = Place(buffer, offset_bytes)
    operand.ld = ld
    return operand


def host(address: int, ld: int = 0) -> Operand:
    """Returns an operand of ob_on_devices(), in the memory of this process."""
    operand = Operand()
    operand.value.host = address
    operand.ld = ld
    return operand
