"""A rank stops, or dies: dead.py stopped|killed|raised."""

from __future__ import annotations

import os
import signal
import sys

import numpy as np
from ranks import WORLD, refused, run

from outboard import overlap


class Late:
    """A plan in which the last rank sends to rank 0."""

    def __init__(self, rt: overlap.Runtime) -> None:
        self.last = WORLD.size - 1
        self.cells = np.full(1000, float(WORLD.rank))
        self.plan = overlap.MovePlan(rt, WORLD, name="late")
        if WORLD.rank == self.last:
            self.plan.send(self.cells, 0, 3)
        if WORLD.rank == 0:
            self.plan.receive(self.cells, self.last, 3)
        self.plan.commit()


def stopped() -> None:
    """Rank 0 gets a report that names the rank that does not run, and goes on when it does."""
    for mode in ("sync", "shared"):
        reports: list[str] = []
        with overlap.Runtime(WORLD, mode, patience_s=0.3, on_stuck=reports.append) as rt:
            late = Late(rt)
            pid = WORLD.bcast(os.getpid(), late.last)
            if WORLD.rank == late.last:
                os.kill(pid, signal.SIGSTOP)
            if WORLD.rank == 0:
                words = f"nothing from rank {late.last}, 8000 bytes of [0:1000]"
                with refused(overlap.DeadlineError, "late", words), late.plan.start() as iteration:
                    iteration.wait()
                assert len(reports) == 1 and words in reports[0], reports
                os.kill(pid, signal.SIGCONT)
                while late.plan.under_way:
                    try:
                        late.plan.wait()
                    except overlap.DeadlineError:  # it had not stopped when it was to go on
                        os.kill(pid, signal.SIGCONT)
                assert (late.cells == late.last).all()
            else:
                late.plan.start().wait()


def killed() -> None:
    with overlap.Runtime(WORLD, "shared") as rt:
        late = Late(rt)
        if WORLD.rank == late.last:
            os.kill(os.getpid(), signal.SIGKILL)
        late.plan.start().wait()
        WORLD.barrier()


def raised() -> None:
    """The exception of one rank is seen, although others wait for this rank."""
    with overlap.Runtime(WORLD, "shared") as rt:
        late = Late(rt)
        if WORLD.rank == 0:
            late.plan.start()
            raise KeyError("of rank 0 alone")
        WORLD.barrier()


if sys.argv[1] == "raised":
    raised()  # as a program: `python -m mpi4py` ends the job
else:
    run({"stopped": stopped, "killed": killed}[sys.argv[1]])
