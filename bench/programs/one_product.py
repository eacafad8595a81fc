"""Multiplies two large matrices, once.

usage: one_product.py [SIZE]
"""

import sys

import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 4500
rng = np.random.default_rng(3)
c = rng.random((n, n)) @ rng.random((n, n))
print("result", c.trace(), np.linalg.norm(c))
