"""Factors tall matrices of 24 shapes into Q and R.

usage: qr_factors.py [LONGEST_EDGE]
"""

import sys

import numpy as np

longest = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
rng = np.random.default_rng(14)
total = 0.0
for _ in range(24):
    rows = int(rng.integers(longest // 3, longest))
    columns = int(rng.integers(rows // 10, rows // 2))
    _, r = np.linalg.qr(rng.standard_normal((rows, columns)))
    total += np.log(np.abs(r.diagonal())).sum()
print("result", total)
