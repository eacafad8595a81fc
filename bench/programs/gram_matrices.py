"""Sums the Gram matrices of batches of samples, as a covariance of much data is computed.

usage: gram_matrices.py [SAMPLES_PER_BATCH]
"""

import sys

import numpy as np

samples = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
features, batches = 300, 20
rng = np.random.default_rng(8)
gram = np.zeros((features, features))
for _ in range(batches):
    x = rng.random((samples, features), dtype=np.float32).astype(np.float64) - 0.5
    gram += x.T @ x
print("result", gram.trace(), np.linalg.norm(gram))
