#!/usr/bin/env python3
"""The heat equation in two dimensions by explicit steps, with NumPy and mpi4py.

    mpirun -n 4 python3 -m mpi4py examples/overlap/heat.py --n 512 --steps 100 --verify

Ghost cells travel while the cells inside are updated. docs/overlap.md says more.
"""

import argparse
import sys

import numpy as np
from mpi4py import MPI

from outboard import overlap

RATE = 0.2  # time step * conductivity / width of a cell squared; below 0.25, or it is not stable


def update(new, old, box):
    """Sets the cells of a box to their temperatures after a step."""
    north, south = old[box.shift(-1, 0)], old[box.shift(1, 0)]
    west, east = old[box.shift(0, -1)], old[box.shift(0, 1)]
    new[box] = old[box] + RATE * (north + south + west + east - 4 * old[box])


def step(halo, new, old):
    with halo.start() as run:  # it waits at the end
        run.for_tiles(halo.interior, lambda box: update(new, old, box))
    for box in halo.boundary:  # these cells read ghost cells
        update(new, old, box)


def serial(u, steps):
    """Returns the temperatures that one process computes. The edge stays at 0."""
    u, inside = np.pad(u, 1), overlap.Box(slice(1, n + 1) for n in u.shape)
    for _ in range(steps):
        v = np.zeros_like(u)
        update(v, u, inside)
        u = v
    return u[inside]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=256, help="cells along an edge")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--mode", default="automatic", help="who moves messages")
    parser.add_argument("--verify", action="store_true", help="compares with a serial run")
    a = parser.parse_args()
    cart = MPI.COMM_WORLD.Create_cart(MPI.Compute_dims(MPI.COMM_WORLD.size, 2))
    places = zip(cart.coords, cart.dims, strict=True)
    part = tuple(slice(a.n * c // ranks, a.n * (c + 1) // ranks) for c, ranks in places)
    whole = np.random.default_rng(1).random((a.n, a.n))
    old = np.pad(whole[part], 1)
    new = np.zeros_like(old)
    with overlap.Runtime(cart, a.mode) as rt:
        there, back = overlap.HaloPlan(rt, cart, old), overlap.HaloPlan(rt, cart, new)
        there.commit()
        back.commit()
        for _ in range(a.steps):
            step(there, new, old)
            there, back, old, new = back, there, new, old
        print(rt.explain() if cart.rank == 0 else "", end="")
    if a.verify:
        right = serial(whole, a.steps)[part]
        different = cart.allreduce(np.count_nonzero(right != old[1:-1, 1:-1]))
        print(f"{different} cells differ\n" if cart.rank == 0 else "", end="")
        return 1 if different else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
