"""Multiplies square matrices that grow from one product to the next; no size repeats.

usage: growing_products.py [LARGEST_SIZE]
"""

import sys

import numpy as np

largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1600
rng = np.random.default_rng(2)
norms = []
for n in range(largest // 32, largest + 1, largest // 32):
    norms.append(np.linalg.norm(rng.random((n, n)) @ rng.random((n, n))))
print("result", *norms)
