"""Random SIAL programs with an oracle in NumPy.

All numbers are small integers, so results are exact whatever the order of additions."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass
class RandomProgram:
    """A program, its job, and the statics that it must end with."""

    seed: int
    source: str = ""
    segments: list[int] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    expected: dict[str, Array] = field(default_factory=dict)
    scalars: dict[str, float] = field(default_factory=dict)

    def job(self, name: str) -> str:
        """Returns the text of the job file for the program `name`."""
        lines = ["sial_job = 1", f'programs = ["{name}"]', "[ints]", f"n = {len(self.segments)}"]
        lines += ["[segments]", f"ao = {self.segments}", "[arrays]"]
        for array, data in self.inputs.items():
            lines.append(f"{array} = {{ data = {data.tolist()} }}")
        return "\n".join(lines) + "\n"


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.program = RandomProgram(seed)
        self.segments = [self.random.randint(1, 4) for _ in range(self.random.randint(1, 4))]
        self.program.segments = self.segments
        self.size = sum(self.segments)
        self.lines: list[str] = []
        self.arrays: dict[str, Array] = {}  # of rank 2
        self.starts = np.concatenate([[0], np.cumsum(self.segments)])
        self.scalars = 0

    def emit(self, text: str) -> None:
        self.lines += text.strip("\n").splitlines()

    def matrix(self) -> Array:
        elements = [float(self.random.randint(-3, 3)) for _ in range(self.size**2)]
        return np.array(elements).reshape(self.size, self.size)

    def block(self, segment: int) -> slice:
        return slice(int(self.starts[segment]), int(self.starts[segment + 1]))

    def schedule(self) -> str:
        return self.random.choice(["", "", ' "static"', ' "balanced"', ' "guided"', ' "measured"'])

    def some(self) -> str:
        return self.random.choice(sorted(self.arrays))

    # Phases. Each ends with a barrier.

    def from_static(self) -> None:
        target = f"d{len(self.arrays)}"
        source = f"input{len(self.program.inputs)}"
        data = self.matrix()
        self.program.inputs[source] = data
        self.emit(f"""
  pardo i, j{self.schedule()}
    t[i,j] = {source}[i,j]
    put {target}[i,j] = t[i,j]
  endpardo i, j""")
        self.arrays[target] = data.copy()

    def product(self) -> None:
        a, b, c = self.some(), self.some(), f"d{len(self.arrays)}"
        swapped = self.random.random() < 0.5
        right = "j,k" if swapped else "k,j"
        self.emit(f"""
  pardo i, j{self.schedule()}
    t[i,j] = 0.0
    do k
      get {a}[i,k]
      get {b}[{right}]
      t[i,j] += {a}[i,k] * {b}[{right}]
    enddo k
    put {c}[i,j] = t[i,j]
  endpardo i, j""")
        self.arrays[c] = self.arrays[a] @ (self.arrays[b].T if swapped else self.arrays[b])

    def accumulated_product(self) -> None:
        a, b, c = self.some(), self.some(), f"d{len(self.arrays)}"
        sign = self.random.choice(["+=", "-="])
        self.emit(f"""
  pardo k, i{self.schedule()}
    get {a}[i,k]
    do j
      get {b}[k,j]
      t[i,j] = {a}[i,k] * {b}[k,j]
      put {c}[i,j] {sign} t[i,j]
    enddo j
  endpardo k, i""")
        product = self.arrays[a] @ self.arrays[b]
        self.arrays[c] = product if sign == "+=" else -product

    def transposed(self) -> None:
        a, c = self.some(), f"d{len(self.arrays)}"
        self.emit(f"""
  pardo j, i{self.schedule()}
    get {a}[i,j]
    t[j,i] = {a}[i,j]
    t[j,i] *= -2.0
    put {c}[j,i] = t[j,i]
  endpardo j, i""")
        self.arrays[c] = -2.0 * self.arrays[a].T

    def combined(self) -> None:
        a, b, c = self.some(), self.some(), f"d{len(self.arrays)}"
        factor = float(self.random.randint(-2, 2))
        self.emit(f"""
  pardo i, j{self.schedule()}
    get {a}[i,j]
    get {b}[i,j]
    t[i,j] = {a}[i,j] - {b}[i,j]
    t[i,j] += {factor} * {a}[i,j]
    u[i,j] = t[i,j]
    t[i,j] += u[i,j]
    put {c}[i,j] = t[i,j]
  endpardo i, j""")
        self.arrays[c] = 2.0 * (self.arrays[a] - self.arrays[b] + factor * self.arrays[a])

    def on_server(self) -> None:
        name = self.some()
        form, value = self.random.choice([("*=", 2.0), ("+=", 1.0), ("-=", 3.0), ("=", 5.0)])
        self.emit(f"""
  pardo i, j{self.schedule()}
    where i <= j
    put {name}[i,j] {form} {value}
  endpardo i, j""")
        data = self.arrays[name]
        for i in range(len(self.segments)):
            for j in range(i, len(self.segments)):
                part = data[self.block(i), self.block(j)]
                if form == "*=":
                    part *= value
                elif form == "=":
                    part[...] = value
                else:
                    part += value if form == "+=" else -value

    def triangle(self) -> None:
        a, c = self.some(), f"d{len(self.arrays)}"
        self.emit(f"""
  pardo i, j{self.schedule()}
    where i < j
    get {a}[i,j]
    put {c}[i,j] = {a}[i,j]
    t[j,i] = {a}[i,j]
    put {c}[j,i] = t[j,i]
  endpardo i, j
  do i
    t[i,i] = 1.0
    if my_rank == 0.0
      put {c}[i,i] = t[i,i]
    endif
  enddo i""")
        data, made = self.arrays[a], np.zeros_like(self.arrays[a])
        for i in range(len(self.segments)):
            made[self.block(i), self.block(i)] = 1.0
            for j in range(i + 1, len(self.segments)):
                made[self.block(i), self.block(j)] = data[self.block(i), self.block(j)]
                made[self.block(j), self.block(i)] = data[self.block(i), self.block(j)].T
        self.arrays[c] = made

    def reduced(self) -> None:
        a, b, x = self.some(), self.some(), f"x{self.scalars}"
        self.scalars += 1
        self.emit(f"""
  partial = 0.0
  pardo i, j{self.schedule()}
    get {a}[i,j]
    get {b}[i,j]
    partial += {a}[i,j] * {b}[i,j]
  endpardo i, j
  {x} = 0.0
  collective {x} += partial""")
        self.program.scalars[x] = float(np.sum(self.arrays[a] * self.arrays[b]))

    def swept(self) -> None:
        """Reads an array again and again in a do loop with barriers inside."""
        a, c = self.some(), f"d{len(self.arrays)}"
        rounds = self.random.randint(1, 3)
        self.emit(f"""
  count = 0
  do r
    pardo i, j{self.schedule()}
      get {a}[i,j]
      t[i,j] = {a}[i,j]
      put {c}[i,j] += t[i,j]
    endpardo i, j
    sip_barrier
    count += 1
    if count == {rounds}
      exit
    endif
  enddo r""")
        self.arrays[c] = rounds * self.arrays[a]

    def guarded(self) -> None:
        """Gets behind conditions: some depend on indices only, one on what the loop computes."""
        a, b, c = self.some(), self.some(), f"d{len(self.arrays)}"
        relation, holds = self.random.choice(
            [("<=", lambda k, j: k <= j), ("!=", lambda k, j: k != j), (">", lambda k, j: k > j)]
        )
        every = self.random.randint(1, 3)
        self.emit(f"""
  pardo i, j{self.schedule()}
    t[i,j] = 0.0
    count = 0
    do k
      if k {relation} j
        get {a}[i,k]
        get {b}[k,j]
        t[i,j] += {a}[i,k] * {b}[k,j]
      else
        get {b}[i,j]
        t[i,j] -= {b}[i,j]
      endif
      count += 1
      if count == {every}
        get {a}[i,j]
        t[i,j] += {a}[i,j]
        count = 0
      endif
    enddo k
    put {c}[i,j] = t[i,j]
  endpardo i, j""")
        left, right, made = self.arrays[a], self.arrays[b], np.zeros_like(self.arrays[a])
        numbers = range(len(self.segments))
        for i, j in ((i, j) for i in numbers for j in numbers):
            part = made[self.block(i), self.block(j)]
            for k in numbers:
                if holds(k, j):
                    part += left[self.block(i), self.block(k)] @ right[self.block(k), self.block(j)]
                else:
                    part -= right[self.block(i), self.block(j)]
            part += len(self.segments) // every * left[self.block(i), self.block(j)]
        self.arrays[c] = made

    def left_early(self) -> None:
        """A loop around a loop, both left before their end."""
        a, c = self.some(), f"d{len(self.arrays)}"
        last = self.random.randint(1, len(self.segments))
        self.emit(f"""
  pardo i{self.schedule()}
    do j
      t[i,j] = 0.0
      do k
        if k > {last}
          exit
        endif
        get {a}[i,k]
        get {a}[k,j]
        t[i,j] += {a}[i,k] * {a}[k,j]
      enddo k
      put {c}[i,j] = t[i,j]
      if j == {last}
        cycle
      endif
      put {c}[i,j] += t[i,j]
    enddo j
  endpardo i""")
        rows = int(self.starts[last])
        made = 2.0 * (self.arrays[a][:, :rows] @ self.arrays[a][:rows, :])
        made[:, self.block(last - 1)] /= 2.0
        self.arrays[c] = made

    def added_up(self) -> None:
        """Products and scaled blocks that are made in a temp and added to another one."""
        a, b, c = self.some(), self.some(), f"d{len(self.arrays)}"
        sign, factor = self.random.choice("+-"), float(self.random.randint(-2, 2))
        permuted = self.random.random() < 0.5
        again = self.random.random() < 0.3  # the temp is needed once more
        into = "v[j,i]" if permuted else "v[i,j]"
        self.emit(f"""
  pardo i, j{self.schedule()}
    {into} = {factor}
    do k
      get {a}[i,k]
      get {b}[k,j]
      t[i,j] = {a}[i,k] * {b}[k,j]
      {into} {sign}= t[i,j]
    enddo k
    t[i,j] = {into}
    get {a}[i,j]
    u[i,j] = {factor} * {a}[i,j]
    t[i,j] {sign}= u[i,j]
    {"t[i,j] += u[i,j]" if again else ""}
    put {c}[i,j] = t[i,j]
  endpardo i, j""")
        sum_of = self.arrays[a] @ self.arrays[b]
        scaled = factor * self.arrays[a]
        made = factor + (sum_of + scaled if sign == "+" else -(sum_of + scaled))
        self.arrays[c] = made + scaled if again else made

    def narrowed(self) -> None:
        """Where clauses that bound the indices, in a pardo and in a do."""
        a, c = self.some(), f"d{len(self.arrays)}"
        shift, most = self.random.randint(-2, 2), self.random.randint(0, len(self.segments))
        clauses: list[tuple[str, Callable[[int, int], bool]]] = [
            (f"i < j + {shift}" if shift >= 0 else f"i < j - {-shift}", lambda i, j: i < j + shift),
            ("2 * i >= j", lambda i, j: 2 * i >= j),
            ("i + j == n", lambda i, j: i + j == len(self.segments)),
            (f"{most} >= i", lambda i, j: most >= i),
            ("i != j", lambda i, j: i != j),
        ]
        chosen = self.random.sample(clauses, self.random.randint(1, 3))
        lines = "\n    ".join(f"where {text}" for text, _ in chosen)
        word, ends = self.random.choice([("pardo i, j", "endpardo i, j"), ("do j", "enddo j")])
        inner = word == "do j"
        self.emit(f"""
  {"pardo i" if inner else "i0 = 0"}
  {word}
    {lines}
    get {a}[i,j]
    t[i,j] = {a}[i,j]
    put {c}[i,j] = t[i,j]
  {ends}
  {"endpardo i" if inner else "i0 = 1"}
  sip_barrier
  pardo i, j
    put {c}[i,j] += 1.0
  endpardo i, j""")
        data, made = self.arrays[a], np.ones_like(self.arrays[a])
        numbers = range(1, len(self.segments) + 1)
        for i, j in ((i, j) for i in numbers for j in numbers):
            if all(holds(i, j) for _, holds in chosen):
                made[self.block(i - 1), self.block(j - 1)] += data[
                    self.block(i - 1), self.block(j - 1)
                ]
        self.arrays[c] = made

    def write(self) -> RandomProgram:
        self.from_static()
        self.emit("  sip_barrier")
        phases = [
            self.from_static, self.product, self.accumulated_product, self.transposed,
            self.combined, self.on_server, self.triangle, self.reduced, self.swept,
            self.guarded, self.left_early, self.added_up, self.narrowed,
        ]  # fmt: skip
        for _ in range(self.random.randint(1, 6)):
            self.random.choice(phases)()
            self.emit("  sip_barrier")
        results = []
        for name in sorted(self.arrays):
            results.append(f"out_{name}")
            self.emit(f"""
  do j
    do i
      get {name}[i,j]
      out_{name}[i,j] = {name}[i,j]
    enddo i
  enddo j""")
            self.program.expected[f"out_{name}"] = self.arrays[name]
        head = [
            "sial random", "  predefined int n", "  aoindex i = 1:n", "  aoindex j = 1:n",
            "  aoindex k = 1:n", "  index r = 1:3",
            "  temp t[i,j]", "  temp u[i,j]", "  temp v[i,j]",
            "  scalar partial", "  scalar my_rank", "  int count", "  int i0",
            "  special get_my_rank w",
        ]  # fmt: skip
        head += [f"  predefined static {name}[i,j]" for name in self.program.inputs]
        head += [f"  distributed {name}[i,j]" for name in sorted(self.arrays)]
        head += [f"  static {name}[i,j]" for name in results]
        head += [f"  scalar x{number}" for number in range(self.scalars)]
        body = ["  execute get_my_rank my_rank", *self.lines]
        self.program.source = "\n".join([*head, *body, "endsial random", ""])
        return self.program


def random_program(seed: int) -> RandomProgram:
    """Returns the program of a seed."""
    return _Writer(seed).write()
