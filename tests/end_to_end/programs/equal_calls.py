"""Makes equal calls of many routines, one after the other, and compares their results bit by bit.

usage: equal_calls.py CALLS SIZE...

Prints one line for each routine and size: its name, the size, the number of different results, how
often the result changed from one call to the next, and the median time of a call in seconds. It
does not use Outboard.
"""

import hashlib
import itertools
import statistics
import sys
import time

import numpy as np
import scipy.linalg.blas as blas
import scipy.linalg.lapack as lapack

PRODUCTS = "dgemm sgemm zgemm cgemm dsymm zhemm".split()
UPDATES = "dsyrk ssyrk zherk dsyr2k zher2k".split()
TRIANGULAR = "dtrmm ztrmm dtrsm strsm ztrsm".split()
GENERAL = "dgetrf zgetrf dgeqrf zgeqrf dgesvd zgesvd dgesdd zgesdd dgeev zgeev dgees sgesdd".split()
DEFINITE = "dpotrf zpotrf dsyev dsyevd dsyevr zheev zheevd zheevr".split()
SOLVERS = "dgesv zgesv sgesv dgels".split()
DEFINITE_SOLVERS = "dposv zposv".split()


def operands(name, n):
    """Returns a general and a positive definite matrix of the routine's precision."""
    kind = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}[name[0]]
    rng = np.random.default_rng(n)
    general = rng.standard_normal((n, n))
    if name[0] in "cz":
        general = general + 1j * rng.standard_normal((n, n))
    definite = general @ general.conj().T / n + np.eye(n)
    return (np.asfortranarray(m.astype(kind)) for m in (general, definite))


def calls(n):
    """Returns the calls of all routines, by name."""
    found = {}
    for name in PRODUCTS + UPDATES + TRIANGULAR:
        function = getattr(blas, name)
        a, b = operands(name, n)
        second = () if name in ("dsyrk", "ssyrk", "zherk") else (b,)
        found[name] = lambda f=function, a=a, s=second: f(1.0, a, *s)
    for name in GENERAL + DEFINITE + SOLVERS + DEFINITE_SOLVERS:
        function = getattr(lapack, name)
        a, b = operands(name, n)
        first = b if name in DEFINITE + DEFINITE_SOLVERS else a
        second = (a,) if name in SOLVERS + DEFINITE_SOLVERS else ()
        if name == "dgees":
            found[name] = lambda f=function, a=first: f(lambda re, im: 0, a)
        else:
            found[name] = lambda f=function, a=first, s=second: f(a, *s)
    return found


def digest(result):
    found = hashlib.sha256()
    for part in result if isinstance(result, tuple) else (result,):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.digest()


def main():
    count, sizes = int(sys.argv[1]), [int(word) for word in sys.argv[2:]]
    for n in sizes:
        for name, call in calls(n).items():
            seen, taken = [], []
            for _ in range(count):
                begin = time.perf_counter()
                result = call()
                taken.append(time.perf_counter() - begin)
                seen.append(digest(result))
            changes = sum(one != other for one, other in itertools.pairwise(seen))
            print(name, n, len(set(seen)), changes, statistics.median(taken), flush=True)


if __name__ == "__main__":
    main()
