"""Super-instructions in Python, for SIAL programs. docs/sial/plugins.md explains them.

    from outboard.sial_plugin import Call, super_instruction

    @super_instruction("ur")
    def shift_block(call, block, amount):
        block += amount

The job file names the file: `plugins = ["my_blocks.py"]`. This module needs no other, so functions
can be tested outside of a job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_ARGUMENTS = 16

Function = TypeVar("Function", bound=Callable[..., object])
Value = TypeVar("Value")


@dataclass(frozen=True)
class Declaration:
    """The mark of a super-instruction, which the decorator leaves on its function."""

    name: str
    intents: str
    overwrites: bool


@dataclass(frozen=True)
class Argument:
    """The place of an argument. Of numbers and texts, only the intent is there."""

    intent: str
    name: str = ""  # of the array
    segments: tuple[int, ...] = ()  # per dimension: number of the segment, as the program counts
    first: tuple[int, ...] = ()  # per dimension: number of the first element, from 1
    shape: tuple[int, ...] = ()

    @property
    def slices(self) -> tuple[slice, ...]:
        """Returns the part of the whole array that the block is: whole[argument.slices]."""
        return tuple(
            slice(first - 1, first - 1 + extent)
            for first, extent in zip(self.first, self.shape, strict=True)
        )


class Worker(Protocol):
    """The worker's side of a call."""

    worker: int
    workers: int
    line: int
    program: str

    def find_int(self, name: str) -> int | None: ...
    def find_scalar(self, name: str) -> float | None: ...
    def find_array(self, name: str) -> NDArray[np.float64] | None: ...
    def find_key(self, key: str) -> str | None: ...
    def print(self, text: str) -> None: ...


class Call:
    """The surroundings of a call: the first argument of a super-instruction. It is valid until the
    function returns."""

    def __init__(self, worker: Worker, arguments: Sequence[Argument]) -> None:
        self._worker = worker
        self.arguments = tuple(arguments)
        self.worker = worker.worker  # the number of this worker, from 0
        self.workers = worker.workers
        self.line = worker.line  # of the execute statement
        self.program = worker.program

    def print(self, *values: object) -> None:
        """Prints a line, as the print statement does: on worker 0, unless the program says
        otherwise."""
        self._worker.print(" ".join(map(str, values)))

    def integer(self, name: str) -> int:
        """Returns an int of the job. Raises LookupError if it has none of that name."""
        return self._found(self._worker.find_int(name), name, "ints")

    def scalar(self, name: str) -> float:
        """Returns a scalar of the job. Raises LookupError if it has none of that name."""
        return self._found(self._worker.find_scalar(name), name, "scalars")

    def array(self, name: str) -> NDArray[np.float64]:
        """Returns a view of an array of the job, which must not be written. Raises LookupError if
        it has none of that name."""
        return self._found(self._worker.find_array(name), name, "arrays")

    def key(self, name: str, default: str | None = None) -> str:
        """Returns the text of a key of [config.PROGRAM]. Raises LookupError if it is not there and
        there is no default."""
        found = self._worker.find_key(name)
        return self._found(found if found is not None else default, name, f"config.{self.program}")

    @staticmethod
    def _found(value: Value | None, name: str, table: str) -> Value:
        if value is None:
            raise LookupError(f"the job has no {name} in [{table}]; add it to the job file")
        return value


def super_instruction(
    intents: str, *, name: str | None = None, overwrites: bool = False
) -> Callable[[Function], Function]:
    """Declares a function as a super-instruction with one intent per argument, as in `special NAME
    INTENTS`: r is only read, w is zero before the call, u is read and written.

    `name` is the name in programs, by default that of the function. A function that `overwrites`
    writes all elements of its w arguments, so nobody sets them to zero before.

    Raises ValueError for intents and names that programs cannot have."""
    if set(intents) - set("rwu") or len(intents) > MOST_ARGUMENTS:
        raise ValueError(f"the intents '{intents}' are not r, w and u, at most {MOST_ARGUMENTS}")

    def mark(function: Function) -> Function:
        called = name if name is not None else function.__name__
        if not called.isidentifier() or called != called.lower() or not called.isascii():
            raise ValueError(
                f"'{called}' is no name of a super-instruction (those have lower-case letters, "
                "digits and _); pass name="
            )
        # Functions take any attribute; their type does not say so.
        vars(function)["super_instruction"] = Declaration(called, intents, overwrites)
        return function

    return mark
