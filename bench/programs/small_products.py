"""Multiplies small matrices some ten thousand times: a chain of rotations of 80 coordinates.

usage: small_products.py [PRODUCTS]
"""

import sys

import numpy as np

products = int(sys.argv[1]) if len(sys.argv) > 1 else 30000
rng = np.random.default_rng(4)
rotations = [np.linalg.qr(rng.standard_normal((80, 80)))[0] for _ in range(8)]
state = np.eye(80)
for i in range(products):
    state = rotations[i % 8] @ state
print("result", *state[:4, :4].ravel())
