#!/usr/bin/env python3
"""Measures how fast a library computes the routines of the table, for what ships about libraries.

    tools/measure_local_rates.py --label "tuned OpenBLAS Haswell" --clock 3.5e9 --width 16 \\
        --library libopenblas.so.0 dgemm zgesdd >> tests/policy/local_rates.csv

Each line of the output is one size: the label, clock and width of one core, the threads, the
routine, the flop by the table's own count, and the shortest seconds of many warm calls. The
operands follow from the table's rows, so a new row needs no code here. The label begins with the
kind of library: tuned, reference-lapack, reference, or fftw. docs/decision.md says what the figures
are for.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "codegen"), str(ROOT / "python")]

import table  # noqa: E402
from arguments import Argument  # noqa: E402
from outboard.tune import transforms  # noqa: E402
from outboard.tune.operands import Operands, integer, text  # noqa: E402

_GROWTH = 4.0  # from size to size, in flop
_RIGHT_SIDES = 16
_BUSY = (
    "count the processor time of the calling thread, without that of other programs; for libraries "
    "whose calling thread computes, and waits without sleeping (OpenBLAS)"
)
_LEAST_CALLS, _MOST_CALLS = 4, 400
# Flags with another meaning or a rarely used first value: vectors are wanted, in compact form.
_FLAGS = {"jobz": "VS", "jobu": "S", "jobvt": "S", "jobvl": "N", "jobvr": "V", "range": "A"}
# Matrices of these routines are factors or become them, so they are well conditioned.
_DOMINANT_FILES = ("blas", "lapack")
_DEFINITE = {"sygv": "b", "sygvd": "b", "sygvx": "b"}
_REAL_KINDS = (0, 5)  # fftw3.h: half-complex, and the usual cosine transform
_ESTIMATE = 1 << 6  # fftw3.h
_LEAST_POWER, _MOST_POWER = 10, 23  # of two, in points
_PREFIXES, _SUFFIXES = ("", "scipy_"), ("_", "_64_")
_ELEMENTS = {"integer": ctypes.c_int64, "logical": ctypes.c_int64, "double": ctypes.c_double}


class Problem:
    """One routine at one size: its arguments in Fortran's order, and its flop."""

    wide = False  # the library's integers have 64 bits
    values_only = False  # no vectors of eigenvalues and singular values

    def __init__(self, routine: table.Routine, precision: str, n: int, inner: int) -> None:
        self._routine = routine
        self._precision = precision
        sizes = {a.name: n for a in routine.arguments if a.role in ("dim", "integer")}
        fixed = {"nrhs": _RIGHT_SIDES, "itype": 1, "il": 1, "ilo": 1}
        fixed |= {"k": inner} if inner else {}
        self._values: dict[str, Any] = {**sizes, **{k: v for k, v in fixed.items() if k in sizes}}
        for a in (a for a in routine.arguments if a.is_flag):
            legal = a.values_of(precision)
            usual = "N" if self.values_only else _FLAGS.get(a.name, "")
            wanted = [c for c in usual if c in legal]
            self._values[a.name] = (wanted or [legal[0]])[0]
        functions = {"min": min, "max": max, "log2": lambda x: int(math.log2(x)) if x > 1 else 0}
        self._scope = {"__builtins__": {}, **functions, **self._values}
        self.flop = float(eval(routine.flops, self._scope)) * (4 if precision in "cz" else 1)
        self.operands = Operands(precision)

    def _extent(self, expression: str) -> int:
        return int(eval(expression, self._scope))

    def _matrix(self, a: Argument) -> list[Any]:
        rows, columns = (self._extent(e) for e in a.shape)
        plain = self._routine.file in _DOMINANT_FILES and a.name == "a"
        if rows == columns and (plain or _DEFINITE.get(self._routine.name) == a.name):
            made = self.operands.dominant(rows)
        else:
            made = self.operands.random(max(1, rows * columns))
        if a.use in ("inout", "consumed"):
            self.operands.overwritten(made)
        return [made, integer(max(1, rows))]

    def _array(self, a: Argument, count: int) -> Any:
        if a.type == "element":
            return self.operands.random(max(1, count))
        return (_ELEMENTS.get(a.type, self.operands.real) * max(1, count))()

    def _work(self, a: Argument, best: dict[int, int], at: int) -> list[Any]:
        count = max(self._extent(a.size), best.get(at, 0), 1)
        return [self._array(a, count)] + ([integer(count)] if a.query else [])

    def _one(self, a: Argument, best: dict[int, int], at: int) -> list[Any]:
        if a.is_flag:
            return [text(self._values[a.name])]
        if a.role in ("dim", "integer"):
            return [integer(self._values[a.name])]
        if a.role == "matrix":
            return self._matrix(a)
        if a.role == "work":
            return self._work(a, best, at)
        if a.role == "index_vector":
            # Pivots that leave each row in its place.
            count = max(1, self._extent(a.shape[0]))
            kind = ctypes.c_int64 if self.wide else ctypes.c_int32
            return [(kind * count)(*range(1, count + 1))]
        if a.role == "scalar":
            return [self.operands.scalar(1.0)]
        if a.role == "real_scalar":
            return [self.operands.real_scalar(1.0 if a.name == "alpha" else 0.0)]
        if a.role == "vector":
            return [self._array(a, self._extent(a.shape[0]))]
        if a.role == "character":
            return [text("N")]
        return [integer(0)] if a.role == "info" else [None]

    def arguments(self, best: dict[int, int]) -> tuple[list[Any], dict[int, int]]:
        """Returns the arguments, and the position of each workspace that has a query."""
        row = [a for a in self._routine.arguments if self._precision in a.precisions]
        made: list[Any] = []
        queried: dict[int, int] = {}
        for at, a in enumerate(row):
            if a.role == "work" and a.query:
                queried[at] = len(made)
            made += self._one(a, best, at)
        return made + [ctypes.c_size_t(1)] * sum(a.is_text for a in row), queried

    def ask(self, function: Any) -> dict[int, int]:
        """Asks the library for the best lengths of workspace."""
        made, queried = self.arguments({})
        for place in queried.values():
            made[place + 1] = integer(-1)
        if queried:
            function(*made)
        # An integer of 32 bits lies in the low half.
        return {at: int(made[place][0]) & 0x7FFFFFFF for at, place in queried.items()}


def fastest(call: Callable[[], float], seconds: float) -> float:
    """Returns the shortest of many warm calls: other programs only add time."""
    call()
    best, until, calls = math.inf, time.monotonic() + seconds, 0
    while calls < _LEAST_CALLS or (calls < _MOST_CALLS and time.monotonic() < until):
        best = min(best, call())
        calls += 1
    return best


def timed(function: Any, arguments: list[Any], clock: Callable[[], float]) -> float:
    begin = clock()
    function(*arguments)
    return clock() - begin


def find(libraries: list[Any], name: str) -> Any:
    for library in libraries:
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                if function := getattr(library, prefix + name + suffix, None):
                    function.restype = None
                    Problem.wide = "64" in suffix
                    return function
    return None


def matrix_rates(
    routine: table.Routine, precision: str, function: Any, args: argparse.Namespace
) -> Iterator[tuple[float, float]]:
    clock = time.thread_time if args.busy else time.perf_counter
    # The way through ctypes does not belong to a call.
    nothing = ctypes.CDLL(None).ffs
    n, flop, seconds = 4, 0.0, 0.0
    while seconds < args.longest:
        while Problem(routine, precision, n, args.inner).flop < max(args.least, flop * _GROWTH):
            n += max(1, n // 16)
        problem = Problem(routine, precision, n, args.inner)
        flop = problem.flop
        if flop > args.most:
            return
        arguments, _ = problem.arguments(problem.ask(function))

        def call(p: Problem = problem, a: list[Any] = arguments) -> float:
            p.operands.restore()
            return timed(function, a, clock)

        def way(a: list[Any] = arguments) -> float:
            return timed(nothing, a, clock)

        seconds = fastest(call, args.seconds) - fastest(way, 0.01)
        yield flop, seconds


class Transform:
    """An estimated plan of FFTW with its arrays."""

    def __init__(self, library: Any, prefix: str, kind: transforms.Kind, side: int, last: int):
        """`last` is the direction, or the kind of a transform of reals."""
        self._operands = Operands("s" if prefix == "fftwf" else "d")
        # The last dimension of a half spectrum holds half of the points plus one.
        points = side ** (kind.dimensions - 1) * (side + 2)
        given = self._operands.overwritten(self._operands.random(points * kind.inputs))
        self._taken = self._operands.empty(points * kind.outputs)
        maker = getattr(library, f"{prefix}_plan_{kind.maker}")
        maker.restype = ctypes.c_void_p
        lengths = [ctypes.c_int(side)] * kind.dimensions
        numbers = [ctypes.c_int(last)] if kind.signed else []
        plan = maker(*lengths, given, self._taken, *numbers, ctypes.c_uint(_ESTIMATE))
        self._plan = ctypes.c_void_p(plan)
        self._execute = getattr(library, f"{prefix}_execute")
        self._destroy = getattr(library, f"{prefix}_destroy_plan")

    def seconds(self, clock: Callable[[], float]) -> float:
        self._operands.restore()
        return timed(self._execute, [self._plan], clock)

    def close(self) -> None:
        self._destroy(self._plan)


def transform_rates(
    name: str, libraries: list[Any], args: argparse.Namespace
) -> Iterator[tuple[float, float]]:
    clock = time.thread_time if args.busy else time.perf_counter
    prefix, _, kind = name.partition(" ")
    library = next(one for one in libraries if hasattr(one, f"{prefix}_execute"))
    forms = [(one, -1) for one in transforms.KINDS.get(kind, ())]
    if kind == "r2r":
        forms = [(transforms.Kind("r2r_1d", 1, True, 1, 1, 2.5), real) for real in _REAL_KINDS]
    for one, last in forms:
        for power in range(_LEAST_POWER, _MOST_POWER, one.dimensions):
            flop = one.flop * (1 << power) * power
            made = Transform(library, prefix, one, 1 << (power // one.dimensions), last)
            yield flop, fastest(lambda m=made: m.seconds(clock), args.seconds)  # type: ignore[misc]
            made.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", action="append", required=True, help="opened in this order")
    parser.add_argument("--label", required=True, help="first column of the output")
    parser.add_argument("--clock", required=True, help="Hz; printed as it is")
    parser.add_argument("--width", required=True, help="flop per cycle; printed as it is")
    parser.add_argument("--threads", default="1", help="printed as it is; the environment sets it")
    parser.add_argument("--least", type=float, default=1e5, help="flop of the smallest size")
    parser.add_argument("--most", type=float, default=1.2e10, help="flop of the largest size")
    parser.add_argument("--seconds", type=float, default=0.08, help="time for each size")
    parser.add_argument("--longest", type=float, default=0.5, help="a longer call is the last one")
    parser.add_argument("--busy", action="store_true", help=_BUSY)
    parser.add_argument("--inner", type=int, default=0, help="k of products; 0: as n")
    parser.add_argument("--values-only", action="store_true", help="without vectors")
    parser.add_argument("routines", nargs="+")
    args = parser.parse_args()
    Problem.values_only = args.values_only
    libraries = [ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for path in args.library]
    files = sorted((ROOT / "routines").glob("*.toml"))
    rows = table.load(f for f in files if f.stem.partition("_")[0] in table.LIBRARIES)
    known = {name: (row, p) for row in rows for p, name in row.names().items()}
    for name in args.routines:
        if " " in name:
            rates = transform_rates(name, libraries, args)
        elif function := find(libraries, name):
            row, precision = known[name]
            rates = matrix_rates(row, precision, function, args)
        else:
            print(f"{name}: none of the libraries has it", file=sys.stderr)
            continue
        for flop, seconds in rates:
            head = f"{args.label},{args.clock},{args.width},{args.threads}"
            print(f"{head},{name},{flop:.4g},{seconds:.4g}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
