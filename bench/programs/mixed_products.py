"""Multiplies matrices of 60 different shapes, as a program with data of many kinds does.

usage: mixed_products.py [LONGEST_EDGE]
"""

import sys

import numpy as np

longest = int(sys.argv[1]) if len(sys.argv) > 1 else 1400
rng = np.random.default_rng(1)
total = 0.0
for _ in range(60):
    m, k, n = rng.integers(longest // 20, longest, 3)
    total += np.linalg.norm(rng.random((m, k)) @ rng.random((k, n)))
print("result", total)
