"""Fits models with more and more parameters to the same measurements, by least squares.

usage: least_squares.py [MEASUREMENTS]
"""

import sys

import numpy as np

measurements = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
rng = np.random.default_rng(13)
data = rng.standard_normal((measurements, measurements // 5))
wanted = rng.standard_normal((measurements, 3))
fits = []
for share in np.linspace(0.1, 1, 10):
    used = data[:, : int(share * data.shape[1])]
    fits.append(np.linalg.norm(np.linalg.lstsq(used, wanted, rcond=None)[0]))
print("result", *fits)
