"""Mistakes of programs. All ranks hear of those that one rank makes before a collective call."""

from __future__ import annotations

import ctypes

import numpy as np
from mpi4py import MPI
from ranks import WORLD, refused, run

from outboard import overlap
from outboard.overlap import native

FIRST = WORLD.rank == 0


def arrays() -> None:
    """One rank gives an array that does not do. It gets the reason, and the others its words."""
    cart = WORLD.Create_cart([1, WORLD.size])
    good = np.zeros((6, 6))
    records = np.zeros((6, 6), [("a", "i4"), ("b", "f8")])
    read_only = np.zeros((6, 6))
    read_only.flags.writeable = False
    with overlap.Runtime(WORLD, "sync") as rt:
        for bad, kind, words in (
            (good.tolist(), TypeError, "is no NumPy array but list"),
            (good.astype(object), TypeError, "has Python objects"),
            (read_only, ValueError, "is read-only"),
            (np.lib.stride_tricks.as_strided(good, (6, 6), (0, 8)), ValueError, "share memory"),
            (np.lib.stride_tricks.as_strided(good, (6, 5), (8, 8)), ValueError, "share memory"),
            (records["b"], ValueError, "no multiples of its 8 bytes"),
            (np.zeros((1, 1, 1, 6, 6)), ValueError, "has 5 dimensions"),
        ):
            with refused(kind if FIRST else overlap.InvalidArgumentError, "array 0 of halo", words):
                overlap.HaloPlan(rt, cart, [bad] if FIRST else [good])
        for field, words in (
            (np.zeros((6, 6, 6)), "needs a Cartesian communicator of as many (it has 2)"),
            (np.zeros((0, 6)), "extent below 1"),
        ):
            with refused(overlap.InvalidArgumentError, words):
                overlap.HaloPlan(rt, cart, field if FIRST else good)
        with refused(overlap.InvalidArgumentError, "fields of different extents"):
            overlap.HaloPlan(rt, cart, [good, np.zeros((6, 7))])
        for ghost in ((1, 2, 3), 1.5, ((1, 1), (1, 1), (1, 1))):
            with refused(ValueError, "ghost widths", "for each of 2 dimensions"):
                overlap.HaloPlan(rt, cart, good, ghost=ghost)
        with refused(ValueError, "the stencil reads beyond the ghost cells"):
            overlap.HaloPlan(rt, cart, good, stencil=overlap.star(2))
        with refused(ValueError, "offsets that do not have 2 numbers"):
            overlap.HaloPlan(rt, cart, good, stencil=overlap.offsets([(1,)]))
        # Read-only arrays may be sent.
        plan = overlap.MovePlan(rt, WORLD)
        if FIRST:
            plan.send(read_only[1], 1)
        if WORLD.rank == 1:
            with refused(ValueError, "read-only"):
                plan.receive(read_only[1], 0)
        with refused(ValueError, "a region of moves is read-only"):
            plan.commit()
    cart.Free()


def ends_that_differ() -> None:
    """Sizes, types and orders of both ends are compared by the commit, on all ranks."""
    here = np.zeros((4, 5))
    with overlap.Runtime(WORLD, "sync") as rt:
        for there, words in (
            (np.zeros((4, 6)), "160 bytes are sent and 192 received"),
            (np.zeros((4, 5), "float32"), "160 bytes are sent and 80 received"),
            (np.zeros((4, 10), "float32"), "extents, element size, order of dimensions or mask"),
            (np.zeros((4, 5), order="F"), "extents, element size, order of dimensions or mask"),
            (np.zeros((5, 4)), "extents, element size, order of dimensions or mask"),
            (None, "sent but not received"),
        ):
            plan = overlap.MovePlan(rt, WORLD)
            if FIRST:
                plan.send(here, 1, 7)
            elif WORLD.rank == 1 and there is not None:
                plan.receive(there, 0, 7)
            with refused(overlap.InvalidArgumentError, "from rank 0 to rank 1, tag 7", words):
                plan.commit()
        for panel, words in (
            (np.zeros((3, 4), order="F"), "order of dimensions of panel 0"),
            (np.zeros((3, 5)), "the bytes of panel 0"),
        ):
            panels = overlap.PanelPlan(rt, WORLD)
            if FIRST:
                panels.add(0, panel)
            else:
                panels.add(0, shape=(3, 4))
            with refused(overlap.InvalidArgumentError, words):
                panels.commit()
        panels = overlap.PanelPlan(rt, WORLD)
        if FIRST:
            with refused(ValueError, "panel 0 has no array on its owner"):
                panels.add(0, shape=(3, 4))
        else:
            panels.add(0, shape=(3, 4))
        with refused(ValueError, "panel 0 has no array on its owner"):
            panels.commit()


def order_of_calls() -> None:
    u = np.zeros(10)
    cart = WORLD.Create_cart([WORLD.size])
    rt = overlap.Runtime(WORLD, "shared")
    halo = overlap.HaloPlan(rt, cart, u)
    with refused(overlap.InvalidArgumentError, "start before commit"):
        halo.start()
    halo.commit()
    with halo.start() as run:
        with refused(overlap.InvalidArgumentError, "start twice without wait"):
            halo.start()
        with refused(ValueError, "no step"):
            run.ready((slice(1, 9, 2),))
        run.wait()
        with refused(overlap.InvalidArgumentError, "the iteration is over"):
            run.wait()
    with refused(overlap.InvalidArgumentError, "wait without start"):
        halo.wait()
    moves = overlap.MovePlan(rt, WORLD)
    with refused(overlap.InvalidArgumentError, "tag 99999 is not in 0 to 16383"):
        moves.send(u, 0, 99999)
    panels = overlap.PanelPlan(rt, WORLD)
    panels.add(0, u)
    panels.commit()
    with refused(overlap.InvalidArgumentError, "panel"):
        panels.start(1)
    with refused(overlap.InvalidArgumentError, "panel"):
        panels[0]
    halo.close()
    halo.close()  # does nothing
    with refused(overlap.InvalidArgumentError, "the plan is closed"):
        halo.start()
    rt.close()
    rt.close()
    for use in (moves.start, moves.commit, panels.commit, rt.tick, rt.explain):
        with refused(overlap.InvalidArgumentError, "the runtime is closed"):
            use()
    with refused(overlap.InvalidArgumentError, "the runtime is closed"):
        overlap.HaloPlan(rt, cart, u)
    moves.close()  # it has ended with its runtime
    cart.Free()


def runtimes() -> None:
    with refused(TypeError, "int is no communicator of mpi4py"):
        overlap.Runtime(3)
    with refused(ValueError, "mode fast (unknown)", "automatic, sync, async"):
        overlap.Runtime(WORLD, "fast" if FIRST else "sync")
    with refused(overlap.InvalidArgumentError, "the modes of ranks differ"):
        overlap.Runtime(WORLD, "sync" if FIRST else "async")
    with refused(overlap.InvalidArgumentError, "affinity mask"):
        overlap.Runtime(WORLD, "proxy", core=1000)
    with refused(overlap.InvalidArgumentError, "65 proxies"):
        overlap.Runtime(WORLD, "proxy", proxies=65)
    # An exception of all ranks passes, and ends the runtime.
    with refused(KeyError), overlap.Runtime(WORLD) as rt:
        raise KeyError
    assert rt.closed


def checks() -> None:
    """The check of the library finds a write to a region that is being received."""
    u = np.zeros(10)
    with overlap.Runtime(WORLD, "shared", check=True) as rt:
        plan = overlap.MovePlan(rt, WORLD, name="checked")
        if FIRST:
            plan.send(u, 1)
        if WORLD.rank == 1:
            plan.receive(u, 0)
        plan.commit()
        run = plan.start()
        if WORLD.rank == 1:
            u[3] = 5
            with refused(overlap.InvalidArgumentError, "checked"):
                run.wait()
        else:
            run.wait()


def another_mpi() -> None:
    """The library for another MPI than mpi4py's is not used, although it can be opened."""
    mpi = native.library_name(MPI.Get_library_version())
    other = mpi.replace("openmpi", "mpich") if "openmpi" in mpi else mpi.replace("mpich", "openmpi")
    with refused(ImportError, "is linked to another MPI than mpi4py"):
        native.open_library(other)
    with refused(ImportError, 'mpi4py uses "Other MPI 1"', "Open MPI or MPICH"):
        native.library_name("Other MPI 1\nmore")
    with refused(ImportError, "cannot be opened", "outboard build"):
        native.open_library("liboutboard-overlap-none.so.1")
    assert isinstance(native.library(), ctypes.CDLL)


run(arrays, ends_that_differ, order_of_calls, runtimes, checks, another_mpi)
