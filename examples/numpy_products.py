"""Matrix products, a linear solve and a Cholesky factorisation in plain NumPy.

usage: numpy_products.py [N ...]     matrices of N x N, by default 600 and 1000
"""

import os
import sys
import time

import numpy as np

# A result passes if its residual, relative to the norms of the input, is below this many times n *
# eps.
SLACK = 10


def check(what, residual, size, seconds):
    limit = SLACK * size * np.finfo(float).eps
    verdict = "good" if residual <= limit else f"BAD, more than {limit:.1e}"
    print(f"  {what:<42} {seconds * 1000:8.1f} ms   residual {residual:.1e} ({verdict})")
    return residual <= limit


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start


def one_size(size, rng):
    """Computes everything for one size. Returns the results, and true if all residuals are
    small."""
    norm = np.linalg.norm
    a = rng.standard_normal((size, size))
    b = rng.standard_normal((size, size))
    x = rng.standard_normal(size)
    print(f"{size} x {size}:")

    c, seconds = timed(np.matmul, a, b)
    residual = norm(c @ x - a @ (b @ x)) / (norm(a) * norm(b) * norm(x))
    good = check("product of two matrices", residual, size, seconds)

    ac, bc = a + 1j * b, b - 2j * a
    z, seconds = timed(np.matmul, ac, bc)
    residual = norm(z @ x - ac @ (bc @ x)) / (norm(ac) * norm(bc) * norm(x))
    good &= check("product of two complex matrices", residual, size, seconds)

    right = rng.standard_normal((size, 4))
    solution, seconds = timed(np.linalg.solve, a, right)
    residual = norm(a @ solution - right) / (norm(a) * norm(solution))
    good &= check("linear system, 4 right-hand sides", residual, size, seconds)

    definite = a @ a.T + size * np.eye(size)
    factor, seconds = timed(np.linalg.cholesky, definite)
    residual = norm(factor @ (factor.T @ x) - definite @ x) / (norm(definite) * norm(x))
    good &= check("Cholesky factor of a definite matrix", residual, size, seconds)
    return [c, z, solution, factor], good


def main():
    sizes = [int(argument) for argument in sys.argv[1:]] or [600, 1000]
    rng = np.random.default_rng(
        2024
    )  # the same numbers every time, so that two runs can be compared
    results, good = [], True
    for size in sizes:
        arrays, fine = one_size(size, rng)
        results += arrays
        good &= fine
    path = os.environ.get("OUTBOARD_EXAMPLE_OUTPUT")
    if path:
        with open(path, "wb") as file:
            for array in results:
                file.write(np.ascontiguousarray(array).tobytes())
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
