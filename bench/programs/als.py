"""Factors a table of ratings into users and items by alternating least squares.

usage: als.py [USERS]
"""

import sys

import numpy as np

users = int(sys.argv[1]) if len(sys.argv) > 1 else 2500
items, rank, steps = 4 * users // 5, 60, 12
rng = np.random.default_rng(7)
ratings = rng.random((users, 8)) @ rng.random((8, items)) + 0.1 * rng.random((users, items))
item = rng.random((items, rank))
ridge = 10 * np.eye(rank)
for _ in range(steps):
    user = np.linalg.solve(item.T @ item + ridge, item.T @ ratings.T).T
    item = np.linalg.solve(user.T @ user + ridge, user.T @ ratings).T
error = np.linalg.norm(ratings - user @ item.T)
print("result", error, np.linalg.norm(user), np.linalg.norm(item))
