"""Filters measurements of a moving system: products and solves of medium size, step by step.

usage: kalman_filter.py [STEPS]
"""

import sys

import numpy as np

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 250
states, sensors = 180, 60
rng = np.random.default_rng(26)
move = np.eye(states) + 0.02 * rng.standard_normal((states, states)) / np.sqrt(states)
move *= 0.98
look = rng.standard_normal((sensors, states))
covariance, x = np.eye(states), np.zeros((states, 1))
for _ in range(steps):
    x, covariance = move @ x, move @ covariance @ move.T + 0.01 * np.eye(states)
    seen = look @ covariance
    gain = np.linalg.solve(seen @ look.T + np.eye(sensors), seen).T
    x = x + gain @ (rng.standard_normal((sensors, 1)) - look @ x)
    covariance = covariance - gain @ seen
print("result", np.linalg.norm(x), covariance.trace())
