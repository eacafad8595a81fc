"""Squares the transition matrix of a Markov chain until the chain forgets its start.

usage: markov_chain.py [STATES]
"""

import sys

import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
rng = np.random.default_rng(25)
p = 1e-6 * rng.random((n, n)) + np.eye(n)
p /= p.sum(1, keepdims=True)
for _ in range(12):
    p = p @ p
    p /= p.sum(1, keepdims=True)
print("result", np.linalg.norm(p), p.trace())
