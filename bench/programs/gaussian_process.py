"""Computes the likelihood of a Gaussian process for a row of length scales.

usage: gaussian_process.py [POINTS]
"""

import sys

import numpy as np
import scipy.linalg

points = int(sys.argv[1]) if len(sys.argv) > 1 else 2400
rng = np.random.default_rng(10)
x = np.sort(rng.random(points))
y = np.sin(12 * x) + 0.1 * rng.standard_normal(points)
squares = (x[:, None] - x[None, :]) ** 2
likelihoods = []
for scale in np.geomspace(0.02, 0.5, 12):
    covariance = np.exp(-squares / (2 * scale**2)) + 0.01 * np.eye(points)
    factor = scipy.linalg.cho_factor(covariance, lower=True)
    alpha = scipy.linalg.cho_solve(factor, y)
    likelihoods.append(-0.5 * y @ alpha - np.log(np.diag(factor[0])).sum())
print("result", *likelihoods)
