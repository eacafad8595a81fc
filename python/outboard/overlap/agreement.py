"""Mistakes that this package finds on one rank, as failures of all ranks.

The other ranks are in a collective call, or come to one, and would wait there for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from outboard.overlap.failures import refusal

if TYPE_CHECKING:
    from mpi4py import MPI

T = TypeVar("T")


def agree(comm: MPI.Comm, failure: Exception | None) -> None:
    """Raises `failure`; on the other ranks, its words. Collective."""
    texts = comm.allgather(None if failure is None else str(failure))
    if failure is not None:
        raise failure
    for rank, text in enumerate(texts):
        if text is not None:
            raise refusal(f"rank {rank}: {text}")


def agreed(comm: MPI.Comm, describe: Callable[[], T]) -> T:
    """Returns what `describe` returns, or fails on all ranks if it fails on one. Collective."""
    try:
        described = describe()
    except Exception as failure:
        agree(comm, failure)
        raise
    agree(comm, None)
    return described
