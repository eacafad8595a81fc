"""Solves one large system of linear equations.

usage: one_solve.py [SIZE]
"""

import sys

import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 3500
rng = np.random.default_rng(15)
a = rng.random((n, n))
a[np.diag_indices(n)] += n
x = np.linalg.solve(a, rng.random((n, 2)))
print("result", *np.linalg.norm(x, axis=0))
