"""The transforms of FFTW to measure, with their planning and execution."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from outboard.tune.operands import Operands
from outboard.tune.plan import Size, SkippedError

_MEASURE, _ESTIMATE = 0, 1 << 6  # fftw3.h
_FORWARD = -1
_POWERS = (14, 16, 18, 20, 22, 24)
_FEW_POWERS = (14, 17, 20, 23)


@dataclass(frozen=True)
class Kind:
    """A function of FFTW that makes plans of one kind."""

    maker: str  # fftw_plan_...
    dimensions: int
    signed: bool  # takes a direction
    inputs: int  # real numbers per point
    outputs: int
    flop: float  # factor of points x log2(points)


KINDS = {
    "c2c": (Kind("dft_1d", 1, True, 2, 2, 5), Kind("dft_2d", 2, True, 2, 2, 5)),
    "r2c": (Kind("dft_r2c_1d", 1, False, 1, 2, 2.5), Kind("dft_r2c_2d", 2, False, 1, 2, 2.5)),
    "c2r": (Kind("dft_c2r_1d", 1, False, 2, 1, 2.5),),
}


class TransformCall:
    """A plan with its arrays."""

    def __init__(
        self, library: Any, prefix: str, plan: int, operands: Operands, result: Any
    ) -> None:
        self._execute = getattr(library, f"{prefix}_execute")
        self._destroy = getattr(library, f"{prefix}_destroy_plan")
        self._plan = ctypes.c_void_p(plan)
        self._operands = operands
        self._result = result  # the plan holds its address

    def __call__(self) -> float:
        self._operands.restore()
        begin = time.perf_counter()
        self._execute(self._plan)
        return time.perf_counter() - begin

    def close(self) -> None:
        self._destroy(self._plan)


class TransformSeries:
    """One kind of transform in one precision, in one or two dimensions."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        scope: Any,
        originals: Sequence[Any],
        plan_s: float,
        few: bool,
    ) -> None:
        self.name = name
        self._kind = kind
        self._prefix = name.partition(" ")[0]
        self._scope = scope
        self._originals = originals
        self._plan_s = plan_s  # seconds for planning; 0 means an estimated plan
        self._few = few

    def sizes(self) -> Iterator[Size]:
        element = 4 if self._prefix == "fftwf" else 8
        for power in _FEW_POWERS if self._few else _POWERS:
            if power % self._kind.dimensions:
                power += 1
            points = 1 << power
            side = 1 << (power // self._kind.dimensions)
            label = f"{side} points" if self._kind.dimensions == 1 else f"{side} x {side} points"
            # The input is restored before each call.
            count = points * (2 * self._kind.inputs + self._kind.outputs)
            work = self._kind.flop * points * math.log2(points)
            yield Size(label, work, count * element, side)

    def prepare(self, size: Size) -> TransformCall:
        symbol = f"{self._prefix}_plan_{self._kind.maker}"
        if not any(hasattr(library, symbol) for library in self._originals):
            raise SkippedError("the local library does not have it")
        operands = Operands("s" if self._prefix == "fftwf" else "d")
        # The last dimension of a half spectrum holds half of the points plus one.
        points = size.n ** (self._kind.dimensions - 1) * (size.n + 2)
        given = operands.random(points * self._kind.inputs)
        taken = operands.empty(points * self._kind.outputs)
        operands.overwritten(given)
        maker = getattr(self._scope, symbol)
        maker.restype = ctypes.c_void_p
        flags = _MEASURE if self._plan_s else _ESTIMATE
        limit = getattr(self._scope, f"{self._prefix}_set_timelimit")
        limit(ctypes.c_double(self._plan_s))
        lengths = [ctypes.c_int(size.n)] * self._kind.dimensions
        direction = [ctypes.c_int(_FORWARD)] if self._kind.signed else []
        plan = maker(*lengths, given, taken, *direction, ctypes.c_uint(flags))
        if not plan:
            raise SkippedError("no plan could be made")
        return TransformCall(self._scope, self._prefix, plan, operands, taken)
