"""The failures of the library as exceptions."""

from __future__ import annotations

from dataclasses import dataclass

INVALID_ARGUMENT = 1


@dataclass(frozen=True)
class Failure:
    """What the library says about a failure."""

    code: int
    message: str
    rank: int | None = None  # in the communicator of the runtime
    neighbour: int | None = None  # in the communicator of the plan
    plan: str = ""


class OverlapError(Exception):
    """A failure of the overlap library. Its text says the problem, why, and what to do."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.code = failure.code
        self.rank = failure.rank
        self.neighbour = failure.neighbour
        self.plan = failure.plan


class InvalidArgumentError(OverlapError, ValueError):
    """An argument or the order of calls is wrong, here or on another rank."""


class UnsupportedError(OverlapError, NotImplementedError):
    """This MPI, this plan or this version of the library cannot do it."""


class OverlapMemoryError(OverlapError, MemoryError):
    """There is not enough memory."""


class DeadlineError(OverlapError, TimeoutError):
    """Nothing has moved for the patience. The run is still under way, so wait() may be repeated."""


class ConnectionLostError(OverlapError, ConnectionError):
    """A function of MPI has failed, and its plan stays failed."""


# By the number of the status in outboard/device.h.
_CLASSES: dict[int, type[OverlapError]] = {
    INVALID_ARGUMENT: InvalidArgumentError,
    2: UnsupportedError,
    3: OverlapMemoryError,
    4: DeadlineError,
    8: ConnectionLostError,
}


def exception(failure: Failure) -> OverlapError:
    """Returns the exception for a failure."""
    return _CLASSES.get(failure.code, OverlapError)(failure)


def refusal(message: str) -> OverlapError:
    """Returns the exception for a mistake that is found before the library is called."""
    return exception(Failure(INVALID_ARGUMENT, message))
