"""Communication behind computation, for programs with NumPy and mpi4py.

    from mpi4py import MPI
    from outboard import overlap

    with overlap.Runtime(MPI.COMM_WORLD) as rt:
        halo = overlap.HaloPlan(rt, cart, u)  # u has ghost cells
        halo.commit()
        for step in range(steps):
            with halo.start() as run:
                run.for_tiles(halo.interior, update)
            for box in halo.boundary:
                update(box)

docs/overlap.md says more. The package calls the C library for mpi4py's MPI by ctypes, and needs
mpi4py only when a runtime is made.
"""

from __future__ import annotations

from outboard.overlap.box import Box
from outboard.overlap.failures import (
    ConnectionLostError,
    DeadlineError,
    InvalidArgumentError,
    OverlapError,
    OverlapMemoryError,
    UnsupportedError,
)
from outboard.overlap.halo import HaloPlan, Stencil, cube, offsets, star
from outboard.overlap.moves import MovePlan
from outboard.overlap.panels import Broadcast, PanelPlan
from outboard.overlap.plan import Iteration
from outboard.overlap.runtime import Mode, Runtime

__all__ = [
    "Box",
    "Broadcast",
    "ConnectionLostError",
    "DeadlineError",
    "HaloPlan",
    "InvalidArgumentError",
    "Iteration",
    "Mode",
    "MovePlan",
    "OverlapError",
    "OverlapMemoryError",
    "PanelPlan",
    "Runtime",
    "Stencil",
    "UnsupportedError",
    "cube",
    "offsets",
    "star",
]
