"""Random halo plans in all modes. Rank 0 gathers the arrays, and compares them with the whole grid,
which numpy.pad() continues beyond its edges."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from ranks import FIXED_MODES, WORLD, generator, run

from outboard import overlap

RECORD = np.dtype([("x", "<f8"), ("n", "<i4")])  # 12 bytes
TYPES = [np.dtype(t) for t in ("int16", "float32", "float64", "complex128")] + [RECORD]


@dataclass
class Problem:
    grid: list[int]
    periodic: list[bool]
    extents: tuple[int, ...]  # of a rank, without ghost cells
    ghost: NDArray[Any]
    stencil: overlap.Stencil
    reads: list[tuple[int, ...]]
    types: list[np.dtype[Any]]
    order: str
    hold: bool
    marked: NDArray[Any] | None  # of the whole grid: the cells that travel


def draw(random: np.random.Generator, dims: int) -> Problem:
    ghost = random.integers(2 if dims == 2 else 0, 3, (dims, 2))
    lowest = int(ghost.min())
    ranges = [range(-int(low), int(high) + 1) for low, high in ghost]
    around = list(itertools.product(*ranges))
    reads = [around[i] for i in random.choice(len(around), min(4, len(around)), replace=False)]
    stencil = overlap.offsets(reads)
    if dims == 2 or (lowest > 0 and random.integers(2)):
        kind = overlap.star if random.integers(2) else overlap.cube
        stencil, within = kind(lowest), [range(-lowest, lowest + 1)] * dims
        reads = list(itertools.product(*within))
        if kind is overlap.star:
            reads = [cell for cell in reads if np.count_nonzero(cell) <= 1]
    grid = [int(n) for n in random.permutation(MPI.Compute_dims(WORLD.size, dims))]
    extents = tuple(int(n) for n in random.integers(2, 7, dims))
    whole = [g * n for g, n in zip(grid, extents, strict=True)]
    masks = [None, np.indices(whole).sum(0) % 2 == 0, random.integers(0, 3, whole) > 0]
    return Problem(
        grid=grid,
        periodic=[bool(random.integers(2)) for _ in range(dims)],
        extents=extents,
        ghost=ghost,
        stencil=stencil,
        reads=reads,
        types=[TYPES[int(random.integers(len(TYPES)))] for _ in range(int(random.integers(1, 3)))],
        order="CF"[int(random.integers(2))],
        hold=bool(random.integers(2)),
        marked=masks[int(random.integers(3))],
    )


def filled(shape: tuple[int, ...], dtype: np.dtype[Any], value: int, order: str) -> NDArray[Any]:
    """Returns a view with gaps in memory, as of every second cell of a larger array."""
    larger = np.zeros([2 * n for n in shape], dtype, order=order)
    view = larger[tuple(slice(None, None, 2) for _ in shape)]
    view[...] = np.full(shape, value).astype(dtype)
    return view


def own_cells(p: Problem) -> overlap.Box:
    return overlap.Box(
        slice(int(low), int(low) + n) for (low, _), n in zip(p.ghost, p.extents, strict=True)
    )


def part_of(p: Problem, padded: NDArray[Any], coords: list[int]) -> NDArray[Any]:
    """Returns the part of the padded grid that a rank has, with its ghost cells."""
    return padded[
        tuple(
            slice(c * n, c * n + n + int(g.sum()))
            for c, n, g in zip(coords, p.extents, p.ghost, strict=True)
        )
    ]


def continued(p: Problem, whole: NDArray[Any]) -> NDArray[Any]:
    """Returns the grid with ghost cells around it, as if all dimensions were periodic."""
    return np.pad(whole, [(int(low), int(high)) for low, high in p.ghost], mode="wrap")


def verify(p: Problem, cart: MPI.Cartcomm, whole: NDArray[Any], parts: list[NDArray[Any]]) -> None:
    padded, exists = whole, np.ones(whole.shape, bool)
    for d, wraps in enumerate(p.periodic):
        width = [(0, 0)] * whole.ndim
        width[d] = (int(p.ghost[d, 0]), int(p.ghost[d, 1]))
        padded = np.pad(padded, width, mode="wrap")
        exists = np.pad(exists, width, mode="wrap") if wraps else np.pad(exists, width)
    if p.marked is not None:
        exists = exists & continued(p, p.marked)
    read = np.zeros(parts[0].shape, bool)
    own = own_cells(p)
    for cell in p.reads:
        read[own.shift(*cell)] = True
    untouched = np.full((), -1).astype(whole.dtype)
    for rank, part in enumerate(parts):
        coords = cart.Get_coords(rank)
        arrived = part == part_of(p, padded, coords)
        there = part_of(p, exists, coords).copy()
        there[own] = True
        ok = np.where(read & there, arrived, (arrived & there) | (part == untouched))
        assert ok.all() and arrived[own].all(), f"rank {rank}, cells {np.argwhere(~ok)}, {p}"


def exchange(
    p: Problem, cart: MPI.Cartcomm, mode: overlap.Mode, random: np.random.Generator
) -> None:
    """Runs one plan, whole or with sends that leave box by box."""
    whole_shape = [g * n for g, n in zip(p.grid, p.extents, strict=True)]
    shape = tuple(n + int(g.sum()) for n, g in zip(p.extents, p.ghost, strict=True))
    fields = [filled(shape, dtype, -1, p.order) for dtype in p.types]
    own = own_cells(p)
    proxies = int(random.integers(1, 4))
    rt = overlap.Runtime(WORLD, mode, proxies=proxies, check=bool(random.integers(2)))
    mask = None if p.marked is None else part_of(p, continued(p, p.marked), cart.coords)
    halo = overlap.HaloPlan(rt, cart, fields, ghost=p.ghost, stencil=p.stencil, mask=mask)
    halo.commit()
    counted = np.zeros(shape, int)
    for box in [halo.interior, *halo.boundary]:
        counted[box] += 1
    assert counted[own].all() and counted.sum() == np.prod(p.extents), "not a partition"
    first = [c * n for c, n in zip(cart.coords, p.extents, strict=True)]
    mine = tuple(slice(f, f + n) for f, n in zip(first, p.extents, strict=True))
    for step in range(2):
        wholes = [random.integers(0, 30000, whole_shape).astype(dtype) for dtype in p.types]

        def fill(values: list[NDArray[Any]] = wholes) -> None:
            for field, whole in zip(fields, values, strict=True):
                field[own] = whole[mine]

        for field in fields:
            field[...] = np.full((), -1).astype(field.dtype)
        if not p.hold:
            fill()
        tiles: list[overlap.Box] = []
        with halo.start(hold=p.hold) as iteration:
            if p.hold:  # nothing has left
                fill()
            if p.hold and step > 0:  # in step 0 the wait lets all go
                for box in halo.boundary:
                    iteration.ready(box)
            iteration.for_tiles(halo.interior, tiles.append, at_most_s=1e-6)
        layers = halo.interior[0]
        assert sum(tile[0].stop - tile[0].start for tile in tiles) == (
            0 if halo.interior.empty else layers.stop - layers.start
        )
        for field, whole in zip(fields, wholes, strict=True):
            parts = cart.gather(np.ascontiguousarray(field))
            if parts is not None:
                verify(p, cart, whole, parts)
    assert f"mode {mode}" in rt.explain(), rt.explain()
    rt.close()


def halos() -> None:
    random = generator()
    for mode, dims in zip(FIXED_MODES, random.permutation([1, 2, 2, 3, 3]), strict=True):
        p = draw(random, int(dims))
        cart = WORLD.Create_cart(p.grid, p.periodic)
        exchange(p, cart, mode, random)
        cart.Free()


def automatic() -> None:
    """The first iterations try all modes, and one stays."""
    cart = WORLD.Create_cart([WORLD.size], [True])
    u = np.zeros(20)
    with overlap.Runtime(WORLD) as rt, overlap.HaloPlan(rt, cart, u, name="line") as halo:
        halo.commit()
        for step in range(52):
            u[1:-1] = WORLD.rank + step
            with halo.start() as iteration:
                iteration.tick()
            assert u[0] == (WORLD.rank - 1) % WORLD.size + step
        assert "plan line" in rt.explain() and "the fastest of" in rt.explain(), rt.explain()


def lifetimes() -> None:
    """A runtime keeps the arrays of plans that the program has dropped."""
    cart = WORLD.Create_cart([WORLD.size])
    u, v = np.zeros(20), np.zeros(20)
    kept = weakref.ref(u), weakref.ref(v)
    with overlap.Runtime(WORLD, "sync") as rt:
        overlap.HaloPlan(rt, cart, [u])
        closed = overlap.HaloPlan(rt, cart, [v])
        del u, v
        gc.collect()
        assert kept[0]() is not None and kept[1]() is not None
        closed.close()
        del closed
        gc.collect()
        assert kept[0]() is not None and kept[1]() is None
    gc.collect()
    assert kept[0]() is None
    cart.Free()


def threads() -> None:
    """A wait lets another thread of Python run, without which it would not end."""
    cells = np.full(10, float(WORLD.rank))
    with overlap.Runtime(WORLD, "async", patience_s=20) as rt:
        plan = overlap.MovePlan(rt, WORLD)
        if WORLD.rank == 0:
            plan.receive(cells, 1)
        if WORLD.rank == 1:
            plan.send(cells, 0)
        plan.commit()
        if WORLD.rank == 1:
            WORLD.recv(source=0, tag=1)
        with plan.start():
            if WORLD.rank == 0:  # the thread begins to run when this one waits
                threading.Timer(0.1, WORLD.send, (None, 1, 1)).start()
        assert WORLD.rank != 0 or cells[0] == 1


run(halos, automatic, lifetimes, threads)
