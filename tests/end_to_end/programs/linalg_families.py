"""Runs dense linear algebra through the BLAS and LAPACK of NumPy and SciPy, and prints residuals.

It writes every result to the given file, as float64, so that two runs can be compared. It does not
use Outboard.
"""

import sys

import numpy as np

try:
    import scipy
    import scipy.linalg as sla
except ImportError:
    scipy = None

EPS = np.finfo(float).eps
results = []
worst = 0.0


def check(what, got, want, scale):
    """Checks that |got - want| is within 50 n eps of the scale of the input."""
    global worst
    error = np.linalg.norm(np.ravel(got - want)) / (scale * max(got.shape) * EPS * 50)
    print(f"{what}: {error:.3f} of the limit")
    worst = max(worst, error)


def keep(array):
    array = np.asarray(array)
    if np.iscomplexobj(array):
        results.extend([array.real.astype(float).ravel(), array.imag.astype(float).ravel()])
    else:
        results.append(array.astype(float).ravel())


def numpy_part(rng, n):
    norm = np.linalg.norm
    for dtype in (np.float64, np.complex128):
        a, b = rng.standard_normal((n, n)), rng.standard_normal((n, n))
        if dtype is np.complex128:
            a, b = a + 1j * b, b - 0.5j * a
        x = rng.standard_normal((n, 3)).astype(dtype)
        c = a @ b
        check(f"matmul {dtype.__name__}", c @ x, a @ (b @ x), norm(a) * norm(b) * norm(x))
        transposed = a.T @ b[:, ::1]
        check("transposed product", transposed @ x, a.T @ (b @ x), norm(a) * norm(b) * norm(x))
        gram = a @ a.T
        check("a times its own transpose", gram @ x, a @ (a.T @ x), norm(a) ** 2 * norm(x))
        y = np.linalg.solve(a, x)
        check("solve", a @ y, x, norm(a) * norm(y))
        definite = a @ a.conj().T + n * np.eye(n)
        factor = np.linalg.cholesky(definite)
        check("cholesky", factor @ (factor.conj().T @ x), definite @ x, norm(definite) * norm(x))
        _, logarithm = np.linalg.slogdet(definite)
        check(
            "determinant",
            np.array([logarithm]),
            np.array([2 * np.log(np.diag(factor).real).sum()]),
            n,
        )
        for array in (c, transposed, gram, y, factor, np.array([logarithm])):
            keep(array)
    single = a.real.astype(np.float32)
    keep(single @ single)


def scipy_part(rng, n):
    norm = np.linalg.norm
    for dtype in (np.float64, np.complex128):
        a, b = rng.standard_normal((n, n)), rng.standard_normal((n, n))
        if dtype is np.complex128:
            a, b = a + 1j * b, b - 0.5j * a
        x = rng.standard_normal((n, 3)).astype(dtype)
        (gemm,) = sla.get_blas_funcs(("gemm",), (a, b))
        c = gemm(1.0, a, b)
        check(f"scipy gemm {dtype.__name__}", c @ x, a @ (b @ x), norm(a) * norm(b) * norm(x))
        lu, pivots = sla.lu_factor(a)
        y = sla.lu_solve((lu, pivots), x)
        check("lu_factor, lu_solve", a @ y, x, norm(a) * norm(y))
        definite = a @ a.conj().T + n * np.eye(n)
        factor = sla.cho_factor(definite)
        z = sla.cho_solve(factor, x)
        check("cho_factor, cho_solve", definite @ z, x, norm(definite) * norm(z))
        solved = sla.solve(a, x)
        check("scipy solve", a @ solved, x, norm(a) * norm(solved))
        (trsm,) = sla.get_blas_funcs(("trsm",), (a, x))
        t = np.triu(a) + n * np.eye(n)
        w = trsm(1.0, t, x)
        check("trsm", t @ w, x, norm(t) * norm(w))
        for array in (c, y, z, solved, w):
            keep(array)


def main():
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 150
    rng = np.random.default_rng(5)
    print("numpy", np.__version__, "scipy", scipy.__version__ if scipy else "-")
    numpy_part(rng, n)
    if scipy:
        scipy_part(rng, n)
    with open(sys.argv[1], "wb") as file:
        file.write(np.concatenate(results).tobytes())
    print(f"worst {worst:.3f} of the limit")
    return 0 if worst <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
