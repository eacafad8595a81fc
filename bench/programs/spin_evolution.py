"""Moves the density matrix of a quantum system through time, with complex products.

usage: spin_evolution.py [STATES]
"""

import sys

import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 420
rng = np.random.default_rng(17)
step = np.linalg.qr(rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))[0]
density = np.diag(np.linspace(1, 0, n)).astype(complex)
density /= density.trace()
seen = []
for _ in range(25):
    density = step @ density @ step.conj().T
    seen.append(density[: n // 2, : n // 2].trace().real)
print("result", *seen)
