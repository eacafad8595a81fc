"""Computes the bands of a crystal: eigenvectors of a complex Hamiltonian at each wave vector.

usage: band_structure.py [ORBITALS]
"""

import sys

import numpy as np

orbitals = int(sys.argv[1]) if len(sys.argv) > 1 else 300
rng = np.random.default_rng(11)
shape = (orbitals, orbitals)
hops = [rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for _ in range(3)]
energy = []
for k in np.linspace(0, np.pi, 16):
    h = sum(hop * np.exp(1j * k * (i + 1)) for i, hop in enumerate(hops))
    levels, states = np.linalg.eigh(h + h.conj().T)
    energy.append(levels[: orbitals // 2].sum() + (np.abs(states) ** 2).sum())
print("result", *energy)
