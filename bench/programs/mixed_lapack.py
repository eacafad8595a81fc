"""Solves, factors and diagonalises matrices of 31 sizes: 93 calls of LAPACK.

usage: mixed_lapack.py [LARGEST_SIZE]
"""

import sys

import numpy as np

largest = int(sys.argv[1]) if len(sys.argv) > 1 else 660
rng = np.random.default_rng(9)
sums = np.zeros(3)
for n in np.linspace(largest // 16, largest, 31).astype(int):
    a = rng.random((n, n))
    a += a.T + 2 * n * np.eye(n)
    sums[0] += np.linalg.solve(a, rng.random((n, 5))).sum()
    sums[1] += np.log(np.linalg.cholesky(a).diagonal()).sum()
    sums[2] += np.log(np.linalg.eigvalsh(a)).sum()
print("result", *sums)
