"""Trains a small neural network in single precision.

usage: network_training.py [SAMPLES_PER_STEP]
"""

import itertools
import sys

import numpy as np

batch = int(sys.argv[1]) if len(sys.argv) > 1 else 512
sizes, steps, rate = (784, 1024, 1024, 10), 60, np.float32(0.02)
rng = np.random.default_rng(19)
weights = [
    (rng.standard_normal((m, n)) / np.sqrt(m)).astype(np.float32)
    for m, n in itertools.pairwise(sizes)
]
losses = []
for _ in range(steps):
    layers = [rng.random((batch, sizes[0]), dtype=np.float32)]
    wanted = np.sin(layers[0][:, : sizes[-1]] * 6)
    for w in weights[:-1]:
        layers.append(np.maximum(layers[-1] @ w, 0))
    error = layers[-1] @ weights[-1] - wanted
    losses.append(float(np.mean(error**2)))
    for i in reversed(range(len(weights))):
        gradient = layers[i].T @ error
        if i > 0:
            error = (error @ weights[i].T) * (layers[i] > 0)
        weights[i] -= rate / batch * gradient
print("result", *losses)
