"""Computes the response of a linear system at many frequencies: complex systems of equations.

usage: frequency_response.py [STATES]
"""

import sys

import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 500
rng = np.random.default_rng(18)
a = rng.standard_normal((n, n)) / np.sqrt(n) - 2 * np.eye(n)
source = rng.standard_normal((n, 4))
gains = [
    np.linalg.norm(np.linalg.solve(1j * frequency * np.eye(n) - a, source))
    for frequency in np.geomspace(0.1, 10, 24)
]
print("result", *gains)
