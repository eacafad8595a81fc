"""Iterates a self-consistent field: orbitals of a Hamiltonian that depends on their density.

usage: self_consistent_field.py [ORBITALS]
"""

import sys

import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 600
electrons = n // 4
rng = np.random.default_rng(16)
core = rng.standard_normal((n, n))
core += core.T
charge = np.zeros(n)
for _ in range(10):
    levels, orbitals = np.linalg.eigh(core + np.diag(3 * charge))
    occupied = orbitals[:, :electrons]
    density = occupied @ occupied.T
    charge = 0.5 * charge + 0.5 * np.clip(2 * density.diagonal(), 0, 2)
print("result", levels[:electrons].sum(), np.linalg.norm(charge))
