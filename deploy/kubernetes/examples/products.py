"""Multiplies two matrices, and knows nothing of accelerators."""

import numpy as np

numbers = np.random.default_rng(1).integers(-8, 9, (2, 1500, 1500))
a, b = numbers.astype(float)
product = a @ b
# Sums of whole numbers are exact in any order.
assert (product[0] == numbers[0][0] @ numbers[1]).all(), "a wrong product"
print("right")
