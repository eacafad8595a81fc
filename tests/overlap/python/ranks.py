"""What the test programs of outboard.overlap share. All ranks of a job run one of them.

A failed check ends the whole job, since the other ranks would wait for this one.
"""

from __future__ import annotations

import os
import secrets
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from mpi4py import MPI

from outboard import overlap

WORLD = MPI.COMM_WORLD
FIXED_MODES: tuple[overlap.Mode, ...] = ("sync", "async", "ticked", "shared", "proxy")


def generator() -> np.random.Generator:
    """Returns random numbers that are the same on all ranks."""
    seed = int(os.environ.get("OUTBOARD_TEST_SEED", secrets.randbits(32)))
    seed = WORLD.bcast(seed)
    if WORLD.rank == 0:
        print(f"seed: OUTBOARD_TEST_SEED={seed}", flush=True)
    return np.random.default_rng(seed)


@contextmanager
def refused(kind: type[BaseException], *words: str) -> Iterator[None]:
    """Requires a failure of this kind, whose text has all `words`."""
    try:
        yield
    except kind as failure:
        missing = [word for word in words if word not in str(failure)]
        assert not missing, f"{missing} not in: {failure}"
    else:
        raise AssertionError(f"no {kind.__name__}, expected: {words}")


def run(*cases: Callable[[], Any]) -> None:
    try:
        for case in cases:
            case()
            WORLD.barrier()
    except BaseException:
        print(f"rank {WORLD.rank}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        WORLD.Abort(1)
    if WORLD.rank == 0:
        print("all right", flush=True)
