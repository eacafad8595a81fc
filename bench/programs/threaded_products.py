"""Multiplies matrices of different sizes in four threads at the same time.

usage: threaded_products.py [PRODUCTS_PER_THREAD]
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

products = int(sys.argv[1]) if len(sys.argv) > 1 else 40


def work(thread):
    rng = np.random.default_rng(21 + thread)
    n = 400 + 100 * thread
    a, x = rng.random((n, n)), rng.random((n, n))
    for _ in range(products):
        x = a @ x
        x /= x.max()
    return np.linalg.norm(x)


with ThreadPoolExecutor(4) as pool:
    print("result", *pool.map(work, range(4)))
