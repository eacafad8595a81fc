"""Kernels of the program: modules, kernels, and launches that are bound once and run often."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from outboard.device import native
from outboard.device.array import Array

if TYPE_CHECKING:
    from outboard.device.array import Owner

KINDS = {"portable": 1, "opencl": 2, "cuda": 3, "ptx": 4, "cubin": 5}

# The formats of struct for the types of OpenCL C, which have these sizes everywhere.
_FORMATS = {
    "char": "b",
    "uchar": "B",
    "short": "h",
    "ushort": "H",
    "int": "i",
    "uint": "I",
    "long": "q",
    "ulong": "Q",
    "float": "f",
    "double": "d",
}
# The element types of arrays for parameters that point to them; a complex number is two.
_ELEMENTS = {
    "int8": "char",
    "uint8": "uchar",
    "int16": "short",
    "uint16": "ushort",
    "int32": "int",
    "uint32": "uint",
    "int64": "long",
    "uint64": "ulong",
    "float32": "float",
    "float64": "double",
    "complex64": "float2",
    "complex128": "double2",
}
_VECTOR = re.compile(r"([a-z]+)(\d*)")


class HasHandle(Protocol):
    """A queue."""

    @property
    def handle(self) -> Any: ...


@dataclass(frozen=True)
class LocalMemory:
    """Local memory of a launch, for a parameter OB_LOCAL_ARG(T, name)."""

    nbytes: int


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel, as its source declares it."""

    kind: str  # "buffer", "scalar" or "local"
    type: str  # "double*", "uint", ...
    name: str
    nbytes: int  # of a number, or of an element of memory; 0: not known
    read_only: bool


_PARAMETER_KINDS = {native.BUFFER: "buffer", native.SCALAR: "scalar", native.LOCAL: "local"}


def packed(value: Any, parameter: Parameter) -> bytes:
    """Returns a number, or the numbers of a vector, as the kernel takes them."""
    match = _VECTOR.fullmatch(parameter.type)
    code = _FORMATS.get(match.group(1)) if match else None
    if match is None or code is None:
        raise TypeError(f"parameter {parameter.name} has the type {parameter.type}")
    width = int(match.group(2) or 1)
    numbers = list(value) if width > 1 else [value]
    if len(numbers) != width:
        raise TypeError(f"parameter {parameter.name} ({parameter.type}) takes {width} numbers")
    if code in "fd":
        numbers = [float(number) for number in numbers]
    try:
        raw = struct.pack(f"={width}{code}", *numbers)
    except struct.error as error:
        raise TypeError(
            f"{value!r} for parameter {parameter.name} ({parameter.type}): {error}"
        ) from error
    return raw.ljust(parameter.nbytes, b"\0")  # a vector of three has the size of four


def _check_array(array: Array, parameter: Parameter, device: Owner) -> None:
    element = _ELEMENTS.get(array.dtype.name)
    wanted = parameter.type.removesuffix("*")
    known = _VECTOR.fullmatch(wanted)
    # A parameter of vectors takes an array of their numbers; one of structs takes any array.
    scalar = known.group(1) if known and known.group(1) in _FORMATS else None
    if scalar is not None and element not in (wanted, scalar):
        raise TypeError(
            f"an array of {array.dtype} for parameter {parameter.name} ({parameter.type}); "
            "convert it"
        )
    if array.device is not device:
        raise ValueError(f"the array for parameter {parameter.name} is on another device")


def _extents(extents: int | Sequence[int]) -> Any:
    values = [extents] if isinstance(extents, int) else list(extents)
    if not 1 <= len(values) <= 3 or any(not 0 <= value < 2**32 for value in values):
        raise ValueError(f"extents {extents!r}; write one to three numbers")
    return (ctypes.c_uint32 * 3)(*values, *[1] * (3 - len(values)))


class Bound:
    """A kernel with its arguments. `bound(queue, groups, group_size)` runs it. Threads: one at a
    time."""

    def __init__(self, kernel: Kernel, arguments: Sequence[Any]) -> None:
        self._handle: Any = None
        parameters = kernel.parameters
        if len(arguments) != len(parameters):
            raise TypeError(
                f"{len(arguments)} arguments for kernel {kernel.name}, which takes "
                f"{len(parameters)}: " + ", ".join(f"{p.type} {p.name}" for p in parameters)
            )
        self._kept = [*arguments, kernel]  # arrays must live as long as the kernel may run
        self._handle = kernel.make()
        for index, (argument, parameter) in enumerate(zip(arguments, parameters, strict=True)):
            self._set(index, argument, parameter, kernel.module.device)

    def _set(self, index: int, value: Any, parameter: Parameter, device: Owner) -> None:
        argument = native.Argument()
        number = None
        if isinstance(value, Array):
            if parameter.kind == "buffer":
                _check_array(value, parameter, device)
            argument.kind = native.BUFFER
            argument.value.place = native.Place(value.buffer, 0)
            argument.extent_bytes = value.nbytes
        elif isinstance(value, LocalMemory):
            argument.kind = native.LOCAL
            argument.bytes = value.nbytes
        elif parameter.kind == "scalar":
            raw = packed(value, parameter)
            number = ctypes.create_string_buffer(raw, len(raw))
            argument.kind = native.SCALAR
            argument.bytes = len(raw)
            argument.value.value = ctypes.addressof(number)
        else:
            raise TypeError(
                f"{value!r} for parameter {parameter.name} ({parameter.type}); pass an array of "
                "the device, or LocalMemory"
            )
        native.call("ob_kernel_set", self._handle, index, ctypes.byref(argument))
        del number  # the library has a copy

    def __call__(
        self, queue: HasHandle, groups: int | Sequence[int], group_size: int | Sequence[int]
    ) -> None:
        """Hands a launch of groups x group_size work-items over."""
        native.call(
            "ob_kernel_run", self._handle, queue.handle, _extents(groups), _extents(group_size)
        )

    def __del__(self) -> None:
        # If the device is closed, the kernel has ended with it.
        if self._handle is not None:
            native.end("ob_kernel_destroy", self._handle)


class Kernel:
    """A kernel of a module."""

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name

    def make(self) -> Any:
        """Makes a kernel object of the library."""
        made = native.Handle()
        native.call("ob_kernel_create", self.module.handle, self.name.encode(), ctypes.byref(made))
        return made

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters, after the module is compiled."""
        self.module.wait()
        handle = self.make()
        try:
            told = native.ParameterStruct(struct_bytes=ctypes.sizeof(native.ParameterStruct))
            found: list[Parameter] = []
            while True:
                native.call("ob_kernel_get_parameter", handle, len(found), ctypes.byref(told))
                if told.count > 0:
                    found.append(
                        Parameter(
                            kind=_PARAMETER_KINDS.get(told.kind, "unknown"),
                            type=told.type.decode(errors="replace"),
                            name=told.name.decode(errors="replace"),
                            nbytes=told.bytes,
                            read_only=told.read_only != 0,
                        )
                    )
                if len(found) >= told.count:
                    return found
        finally:
            native.end("ob_kernel_destroy", handle)

    def bind(self, *arguments: Any) -> Bound:
        """Returns the kernel with arguments: arrays of the device, numbers, tuples of numbers for
        vectors, and LocalMemory. Waits for the compiler."""
        return Bound(self, arguments)


class Module:
    """Kernels that are compiled in the background. Threads: any."""

    def __init__(
        self, device: Owner, source: str | bytes, options: str = "", kind: str = "portable"
    ) -> None:
        self.handle: Any = None
        if kind not in KINDS:
            raise ValueError(f'a module of the kind "{kind}"; write one of {", ".join(KINDS)}')
        text = source.encode() if isinstance(source, str) else source
        variant = native.Variant(kind=KINDS[kind], bytes=text, count=len(text))
        made = native.Handle()
        native.call(
            "ob_module_load",
            device.handle,
            ctypes.byref(variant),
            1,
            options.encode(),
            ctypes.byref(made),
        )
        self.handle = made
        self.device = device

    def wait(self, timeout: float | None = None) -> None:
        """Waits for the compiler at most `timeout` seconds.   Raises: BuildError, DeadlineError"""
        native.call("ob_module_wait", self.handle, native.timeout_ms(timeout))

    @property
    def log(self) -> str:
        """The compiler's words, also those of a module that does not compile."""
        native.library().ob_module_wait(self.handle, native.FOREVER)
        size = ctypes.c_size_t()
        native.call("ob_module_log", self.handle, None, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        native.call("ob_module_log", self.handle, text, ctypes.byref(size))
        return text.value.decode(errors="replace")

    def kernel(self, name: str) -> Kernel:
        return Kernel(self, name)

    def __del__(self) -> None:
        if self.handle is not None:
            native.end("ob_module_unload", self.handle)
