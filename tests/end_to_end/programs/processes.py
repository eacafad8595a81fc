"""Uses NumPy before, inside and after a pool of forked processes. Each process checks its own
products and solves.
"""

import multiprocessing
import os
import sys

import numpy as np


def work(seed):
    rng = np.random.default_rng(seed)
    a, b, x = (
        rng.standard_normal((120, 120)),
        rng.standard_normal((120, 120)),
        rng.standard_normal(120),
    )
    product = np.linalg.norm((a @ b) @ x - a @ (b @ x)) <= 1e-9
    solution = np.linalg.norm(a @ np.linalg.solve(a, x) - x) <= 1e-8
    return product and solution, os.getpid()


def main():
    before = work(1)[0]
    with multiprocessing.get_context("fork").Pool(3) as pool:
        inside = pool.map(work, range(10, 34), chunksize=4)
        pool.close()
        pool.join()
    after = work(2)[0]
    wrong = [before, after, *(good for good, _ in inside)].count(False)
    print(f"{len({pid for _, pid in inside})} children, {wrong} wrong")
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
