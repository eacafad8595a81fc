"""Finds the nearest neighbours of queries among many points, in single precision.

usage: nearest_neighbours.py [POINTS]
"""

import sys

import numpy as np

points = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
queries, chunk, dimensions = 4000, 500, 256
rng = np.random.default_rng(20)
base = rng.random((points, dimensions), dtype=np.float32)
squares = (base**2).sum(1)
total = 0.0
for _ in range(queries // chunk):
    query = rng.random((chunk, dimensions), dtype=np.float32)
    distances = squares - 2 * (query @ base.T)
    total += float((distances.min(1) + (query**2).sum(1)).sum())
print("result", total)
