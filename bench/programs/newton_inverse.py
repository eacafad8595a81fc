"""Inverts a matrix with Newton's iteration, X <- X (2 I - A X), which consists of products.

usage: newton_inverse.py [SIZE]
"""

import sys

import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
rng = np.random.default_rng(6)
a = np.eye(n) + 0.5 / n * rng.random((n, n))
x = a.T / (np.linalg.norm(a, 1) * np.linalg.norm(a, np.inf))
for _ in range(14):
    x = 2 * x - x @ (a @ x)
print("result", x.trace(), np.linalg.norm(x))
