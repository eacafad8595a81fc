"""Finds the largest eigenvalues of a symmetric matrix by subspace iteration.

usage: subspace_iteration.py [SIZE]
"""

import sys

import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
width, steps = max(4, n // 30), 60
rng = np.random.default_rng(5)
a = rng.standard_normal((n, n))
a += a.T
a[np.diag_indices(n)] += np.linspace(0, 20 * np.sqrt(n), n)
q = rng.standard_normal((n, width))
for _ in range(steps):
    q, _ = np.linalg.qr(a @ q)
print("result", np.trace(q.T @ (a @ q)))
