"""Multiplies matrices with NumPy, and checks the products. It knows nothing of accelerators."""

import numpy as np

ORDER, PRODUCTS = 1000, 3

random = np.random.default_rng(1)
for _ in range(PRODUCTS):
    # Sums of whole numbers below 2**53 are exact in any order, so the check is exact, too.
    a, b = random.integers(-9, 10, (2, ORDER, ORDER)).astype(float)
    ones = np.ones(ORDER)
    if not np.array_equal((a @ b) @ ones, a @ (b @ ones)):
        raise SystemExit("a product is wrong")
print(f"right: {PRODUCTS} products of order {ORDER}")
