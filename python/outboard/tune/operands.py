"""Operands in plain memory, without numpy: a child that measures needs only Python itself."""

from __future__ import annotations

import ctypes
import random
from array import array
from typing import Any

# The values repeat after a prime number of them, so columns of a matrix begin at different values.
# The matrix therefore has full rank.
_PERIOD = 65537
_REALS: dict[str, tuple[str, Any, int]] = {
    "s": ("f", ctypes.c_float, 1),
    "d": ("d", ctypes.c_double, 1),
    "c": ("f", ctypes.c_float, 2),
    "z": ("d", ctypes.c_double, 2),
}


class Operands:
    """Makes the arguments of one call, and remembers the operands that the call overwrites."""

    def __init__(self, precision: str) -> None:
        self.code, self.real, self.parts = _REALS[precision]
        self._block = _block(self.code)
        self._overwritten: list[tuple[Any, Any]] = []

    @property
    def element_bytes(self) -> int:
        return ctypes.sizeof(self.real) * self.parts

    def random(self, count: int) -> Any:
        """Returns values between -0.5 and 0.5. They are the same in each call."""
        made = (self.real * (count * self.parts))()
        fill(made, self._block)
        return made

    def dominant(self, n: int) -> Any:
        """Returns an n x n matrix with a large diagonal. It is well conditioned, and positive
        definite if one of its triangles stands for both."""
        made = self.random(n * n)
        for i in range(n):
            made[self.parts * i * (n + 1)] = float(n)
        return made

    def empty(self, count: int) -> Any:
        return (self.real * (count * self.parts))()

    def overwritten(self, operand: Any) -> Any:
        """Notes that the call changes `operand`, so that restore() puts it back."""
        copy = type(operand)()
        ctypes.memmove(copy, operand, ctypes.sizeof(operand))
        self._overwritten.append((operand, copy))
        return operand

    def restore(self) -> None:
        for operand, copy in self._overwritten:
            ctypes.memmove(operand, copy, ctypes.sizeof(operand))

    def scalar(self, value: float) -> Any:
        """Returns a scalar of the routine's element type."""
        return (self.real * self.parts)(value)

    def real_scalar(self, value: float) -> Any:
        return ctypes.byref(self.real(value))


def integer(value: int) -> Any:
    """Returns an integer of 64 bits by reference. A library that reads 32 bits reads the same
    number."""
    return ctypes.byref(ctypes.c_int64(value))


def text(letter: str) -> Any:
    return ctypes.byref(ctypes.c_char(letter.encode()))


def fill(made: Any, block: array[float]) -> None:
    """Fills `made` with repetitions of `block`."""
    whole = ctypes.sizeof(made)
    done = min(whole, block.itemsize * len(block))
    ctypes.memmove(made, block.buffer_info()[0], done)
    while done < whole:
        more = min(done, whole - done)
        ctypes.memmove(ctypes.byref(made, done), made, more)
        done += more


_blocks: dict[str, array[float]] = {}


def _block(code: str) -> array[float]:
    if code not in _blocks:
        values = random.Random(_PERIOD)
        _blocks[code] = array(code, (values.uniform(-0.5, 0.5) for _ in range(_PERIOD)))
    return _blocks[code]
