"""liboutboard-overlap-MPI.so.1 by ctypes: its structs, its functions, and its failures as
exceptions. There is one library per MPI, and the one for mpi4py's MPI is opened."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any

from outboard import preload
from outboard.overlap.failures import Failure, OverlapError, exception

if TYPE_CHECKING:
    from mpi4py import MPI

DIMS = 4
HOLD = 1
STAR = 0
CUBE = 1
OFFSETS = 2

# By the beginning of the name that MPI gives itself.
_MPIS = {"Open MPI": "openmpi", "MPICH": "mpich"}

Handle = c_void_p
Stuck = ctypes.CFUNCTYPE(None, c_char_p, c_void_p)
Index = c_int64 * DIMS


class BoxStruct(ctypes.Structure):
    _fields_ = (("low", Index), ("high", Index))


class FieldStruct(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("element_bytes", c_int64),
        ("dims", c_int32),
        ("extents", Index),
        ("strides", Index),
    )


class OptionsStruct(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("mode", c_int32),
        ("workers", c_int32),
        ("core", c_int32),
        ("check", c_int32),
        ("patience_s", c_double),
        ("on_stuck", Stuck),
        ("context", c_void_p),
        ("proxies", c_int32),
    )


class HaloStruct(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("name", c_char_p),
        ("ghost_low", Index),
        ("ghost_high", Index),
        ("stencil", c_int32),
        ("reach", c_int64),
        ("offsets", ctypes.POINTER(Index)),
        ("offset_count", c_size_t),
        ("fields", ctypes.POINTER(FieldStruct)),
        ("field_count", c_size_t),
        ("mask", ctypes.POINTER(FieldStruct)),
    )


class PanelsStruct(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("name", c_char_p),
        ("look_ahead", c_int32),
        ("broadcast", c_int32),
    )


class ErrorStruct(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", c_size_t),
        ("code", c_int32),
        ("rank", c_int32),
        ("neighbour", c_int32),
        ("plan", c_char * 64),
        ("message", c_char * 512),
    )


class Comm:
    """Stands for MPI_Comm, whose type each MPI chooses."""


_Box = ctypes.POINTER(BoxStruct)
_Field = ctypes.POINTER(FieldStruct)
_Made = ctypes.POINTER(Handle)

# The arguments of each function. All return a status, and ob_overlap_ticks a truth value.
PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "ob_overlap_last_error": (ctypes.POINTER(ErrorStruct),),
    "ob_overlap_mode_named": (c_char_p, ctypes.POINTER(c_int32)),
    "ob_overlap_attach": (Comm, ctypes.POINTER(OptionsStruct), _Made),
    "ob_overlap_detach": (Handle,),
    "ob_overlap_halo": (Handle, Comm, ctypes.POINTER(HaloStruct), _Made),
    "ob_overlap_moves": (Handle, Comm, c_char_p, _Made),
    "ob_overlap_send": (Handle, _Field, _Box, c_int32, c_int32),
    "ob_overlap_receive": (Handle, _Field, _Box, c_int32, c_int32),
    "ob_overlap_move": (Handle, _Field, _Box, _Field, _Box),
    "ob_overlap_commit": (Handle,),
    "ob_overlap_plan_destroy": (Handle,),
    "ob_overlap_interior": (Handle, _Box),
    "ob_overlap_boundary": (Handle, _Box, ctypes.POINTER(c_int32)),
    "ob_overlap_start": (Handle, c_uint32),
    "ob_overlap_ready": (Handle, _Box),
    "ob_overlap_tick": (Handle,),
    "ob_overlap_ticks": (Handle,),
    "ob_overlap_wait": (Handle,),
    "ob_overlap_panels": (Handle, Comm, ctypes.POINTER(PanelsStruct), _Made),
    "ob_overlap_panel": (Handle, c_int32, _Field),
    "ob_overlap_panel_start": (Handle, c_int64),
    "ob_overlap_panel_wait": (Handle, c_int64),
    "ob_overlap_panel_data": (Handle, c_int64, ctypes.POINTER(c_void_p)),
    "ob_overlap_explain": (Handle, c_char_p, c_size_t, ctypes.POINTER(c_size_t)),
}


def library_name(version: str) -> str:
    """Returns the library for the MPI that describes itself by `version`."""
    for words, mpi in _MPIS.items():
        if version.startswith(words):
            return f"liboutboard-overlap-{mpi}.so.1"
    first_line = version.partition("\n")[0].strip("\0 ")
    raise ImportError(
        f'mpi4py uses "{first_line}", for which there is no overlap library; use an mpi4py for '
        + " or ".join(_MPIS)
    )


def open_library(name: str) -> ctypes.CDLL:
    """Opens a library that uses the same MPI in this process as mpi4py."""
    from mpi4py import MPI

    path = preload.shared_library(name)
    try:
        opened = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"{name} cannot be opened ({error}); install mpicc of this MPI (on Debian "
            "libopenmpi-dev or libmpich-dev) and run `outboard build`, or name the folder of the "
            "build in OUTBOARD_NATIVE_DIR"
        ) from error
    # Found as the library finds it. A second MPI in the process was never initialised.
    running = ctypes.c_int()
    opened.MPI_Initialized(ctypes.byref(running))
    if MPI.Is_initialized() and not running.value:
        raise ImportError(
            f"{path} is linked to another MPI than mpi4py (both are in the process now); build it "
            f"with the mpicc of mpi4py's MPI: {MPI.Get_library_version().splitlines()[0]}"
        )
    return opened


@cache
def library() -> ctypes.CDLL:
    """Opens the library for mpi4py's MPI when it is first needed."""
    from mpi4py import MPI

    opened = open_library(library_name(MPI.Get_library_version()))
    comm_type = ctypes.c_int if MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_int) else c_void_p
    for name, arguments in PROTOTYPES.items():
        function = getattr(opened, name)
        function.argtypes = tuple(comm_type if a is Comm else a for a in arguments)
        function.restype = c_int32
    return opened


def comm_handle(comm: MPI.Comm) -> int:
    """Returns the handle of a communicator."""
    from mpi4py import MPI

    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"{type(comm).__name__} is no communicator of mpi4py; give an MPI.Comm")
    return MPI._handleof(comm)


def last_failure() -> OverlapError:
    """Returns the exception for the last failed call of this thread."""
    error = ErrorStruct(struct_bytes=ctypes.sizeof(ErrorStruct))
    library().ob_overlap_last_error(ctypes.byref(error))
    return exception(
        Failure(
            code=error.code,
            message=error.message.decode(errors="replace") or f"status {error.code}",
            rank=error.rank if error.rank >= 0 else None,
            neighbour=error.neighbour if error.neighbour >= 0 else None,
            plan=error.plan.decode(errors="replace"),
        )
    )


def call(name: str, *arguments: Any) -> None:
    """Calls a function; raises its failure. Other threads of Python run meanwhile."""
    if getattr(library(), name)(*arguments) != 0:
        raise last_failure()
