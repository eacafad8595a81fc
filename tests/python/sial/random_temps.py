"""Random SIAL programs that write and read temps in all orders, errors at run time included.

They have no oracle of their own: the byte code of level 0 is one for that of the other levels."""

from __future__ import annotations

import random
from collections.abc import Sequence

SEGMENTS = [2, 1, 3]
HEAD = """sial temps
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  aoindex k = 1:n
  index r = 1:2
  predefined static s[i,j]
  static out[i,j]
  distributed d[i,j]
  distributed e[i,j]
  temp t[i,j]
  temp u[i,j]
  temp v[i,j]
  temp w[i,j]
  local l[i,j]
  scalar x
  int c
  special multiply_elements urr
  special fill_block_cyclic wr
"""
SETUP = """  pardo i, j
    t[i,j] = s[i,j]
    put d[i,j] = t[i,j]
  endpardo i, j
  sip_barrier
"""
TEMPS = "tuvw"
Labels = tuple[str, str]


def job() -> str:
    """Returns the job of all these programs, `temps.sial`."""
    size = sum(SEGMENTS)
    data = [
        [float((3 * row + 5 * column) % 7 - 3) for column in range(size)] for row in range(size)
    ]
    return (
        "sial_job = 1\nprograms = ['temps.sial']\n[ints]\nn = 3\n"
        f"[segments]\nao = {SEGMENTS}\n[arrays]\ns = {{ data = {data} }}\n"
    )


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.left = self.random.randint(6, 40)  # statements
        pairs = [("i", "j"), ("j", "i"), ("i", "k"), ("k", "j")]
        self.usual = {name: self.random.choice(pairs[: self.random.choice([1, 4])])
                      for name in TEMPS}  # fmt: skip
        self.habit = self.random.choice([1.0, 1.0, 0.8])  # how often the usual labels are taken
        self.procs = self.random.random() < 0.4
        self.in_proc = False

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def emit(self, level: int, text: str) -> None:
        self.lines.append("  " * level + text)

    def block(self, name: str, labels: Labels) -> str:
        return f"{name}[{','.join(labels)}]"

    def labels(self, name: str, bound: Sequence[str]) -> Labels | None:
        """Chooses labels of a temp among the bound indices."""
        usual = self.usual.get(name, ("i", "j"))
        if self.chance(self.habit) and set(usual) <= set(bound):
            return usual
        if (self.habit == 1.0 and name in TEMPS) or len(set(bound) - {"r"}) < 2:
            return None
        first, second = self.random.sample([one for one in bound if one != "r"], 2)
        return first, second

    def source(self, bound: Sequence[str], written: set[str], labels: set[str]) -> str | None:
        """Chooses a block to read with these labels in any order."""
        fitting = [one for one in sorted(written) if set(one[2:-1].split(",")) == labels]
        if fitting and self.chance(0.97):
            return self.random.choice(fitting)
        if self.chance(0.8):
            first, second = self.random.sample(sorted(labels), 2)
            return self.block("s", (first, second))
        name = self.random.choice(TEMPS)
        one = self.labels(name, bound)
        return self.block(name, one) if one and set(one) == labels else None

    def product(self, bound: Sequence[str], labels: Labels, written: set[str]) -> str | None:
        """Returns a contraction with these free labels."""
        rest = [one for one in bound if one not in (*labels, "r")]
        if not rest:
            return None
        summed = self.random.choice(rest)
        left = self.source(bound, written, {labels[0], summed})
        right = self.source(bound, written, {labels[1], summed})
        return f"{left} * {right}" if left and right else None

    def right_side(self, bound: Sequence[str], labels: Labels, written: set[str]) -> str:
        kind = self.random.choice(["product", "product", "copy", "scaled", "number"])
        if kind == "product" and (found := self.product(bound, labels, written)):
            return found
        source = self.source(bound, written, set(labels))
        if source and kind == "copy":
            return source
        if source and kind == "scaled" and source[2:-1] == ",".join(labels):
            return f"0.5 * {source}"
        return f"{self.random.randint(-2, 2)}.5"

    def target(self, bound: Sequence[str]) -> tuple[str, Labels] | None:
        name = self.random.choice("tuvwtuvwol")
        name = {"o": "out"}.get(name, name)
        labels = self.labels(name, bound)
        return (name, labels) if labels else None

    # One statement each.

    def assign(self, level: int, bound: Sequence[str], written: set[str]) -> None:
        target = self.target(bound)
        if target is None:
            return
        block = self.block(*target)
        value = self.right_side(bound, target[1], written)
        fresh = block not in written and target[0] != "out"
        operator = "=" if fresh and self.chance(0.95) else self.random.choice(["=", "+=", "-="])
        self.emit(level, f"{block} {operator} {value}")
        written.add(block)

    def pair(self, level: int, bound: Sequence[str], written: set[str]) -> None:
        """The pattern that becomes one statement, unless something else needs the temp."""
        name = self.random.choice(TEMPS)
        labels = self.labels(name, bound)
        target = self.target(bound)
        if not labels or not target:
            return
        into, block = self.block(*target), self.block(name, labels)
        if set(target[1]) != set(labels) or into == block:
            return
        if into not in written and target[0] != "out" and self.chance(0.9):
            self.emit(level, f"{into} = 1.0")
            written.add(into)
        value = self.product(bound, labels, written) if self.chance(0.7) else None
        same = self.source(bound, written, set(labels))
        if value is None and same and same[2:-1] == ",".join(labels):
            value = f"(x + 0.25) * {same}"
        if value is None:
            return
        self.emit(level, f"{block} = {value}")
        if self.chance(0.1):
            self.emit(level, "c += 1")
        self.emit(level, f"{into} {self.random.choice(['+=', '-='])} {block}")
        written.add(into)
        if self.chance(0.25):
            written.add(block)

    def read(self, level: int, bound: Sequence[str], written: set[str]) -> None:
        if not written:
            return
        one = self.random.choice(sorted(written))
        labels = one[2:-1] if one[1] == "[" else one[4:-1]
        if not set(labels.split(",")) <= set(bound):
            return
        if self.chance(0.5):
            self.emit(level, f"x += 0.125 * {self.random.randint(1, 3)}.0")
            self.emit(level, f"x = {one} * s[{labels}]")
        elif self.chance(0.5):
            self.emit(level, f"put e[{labels}] += {one}")
        else:
            self.emit(level, f"out[{labels}] += {one}")

    def fetch(self, level: int, bound: Sequence[str], written: set[str]) -> None:
        name = self.random.choice(TEMPS)
        labels = self.labels(name, bound)
        if labels is None:
            return
        self.emit(level, f"get {self.block('d', labels)}")
        self.emit(level, f"{self.block(name, labels)} = {self.block('d', labels)}")
        written.add(self.block(name, labels))

    def call(self, level: int, bound: Sequence[str], written: set[str]) -> None:
        if self.procs and not self.in_proc and set(bound) == {"i", "j"}:
            self.emit(level, f"call {self.random.choice('pq')}")

    def execute(self, level: int, bound: Sequence[str], written: set[str]) -> None:
        name = self.random.choice(TEMPS)
        labels = self.labels(name, bound)
        if labels is None:
            return
        block, one = self.block(name, labels), self.block("s", labels)
        if block in written and self.chance(0.5):
            self.emit(level, f"execute multiply_elements {block} {block} {one}")
        else:
            self.emit(level, f"execute fill_block_cyclic {block} 2.0")
        written.add(self.block(name, labels))

    def condition(self, level: int, bound: Sequence[str], written: set[str], loop: bool) -> None:
        relations = ["c < 3", "x > 0.0", "c == 1"]
        if len(set(bound) - {"r"}) > 1:
            first, second = self.random.sample([one for one in bound if one != "r"], 2)
            relations.append(f"{first} {self.random.choice(['<', '==', '!='])} {second}")
        self.emit(level, f"if {self.random.choice(relations)}")
        inner = set(written)
        if loop and self.chance(0.3):
            self.emit(level + 1, self.random.choice(["exit", "cycle"]))
        else:
            self.body(level + 1, bound, inner, loop)
        if self.chance(0.4):
            self.emit(level, "else")
            self.body(level + 1, bound, set(written), loop)
        self.emit(level, "endif")
        written |= inner if self.chance(0.3) else set()

    def loop(self, level: int, bound: Sequence[str], written: set[str]) -> None:
        free = [one for one in "ijkr" if one not in bound]
        if not free or (self.in_proc and set(free) <= {"i", "j"}):
            return
        index = self.random.choice([one for one in free if not self.in_proc or one in "kr"])
        self.emit(level, f"do {index}")
        if bound and self.chance(0.3):
            other = self.random.choice([*bound, "2", "c"])
            self.emit(level + 1, f"where {index} {self.random.choice(['<=', '>=', '!='])} {other}")
        self.body(level + 1, [*bound, index], set(written), True)
        self.emit(level, f"enddo {index}")

    def body(self, level: int, bound: Sequence[str], written: set[str], loop: bool) -> None:
        for _ in range(self.random.randint(1, 5)):
            if self.left <= 0:
                break
            self.left -= 1
            kind = self.random.choices(
                ["assign", "pair", "read", "fetch", "if", "loop", "call", "execute", "count"],
                [5, 7, 3, 1, 2, 4 if level < 6 else 0, 1, 1, 1],
            )[0]
            if kind == "if":
                self.condition(level, bound, written, loop)
            elif kind == "count":
                self.emit(level, "c += 1")
            else:
                getattr(self, kind)(level, bound, written)
        if not self.lines or self.lines[-1].strip().startswith(("if", "else", "do", "where")):
            self.emit(level, "c += 1")

    def proc(self, name: str) -> None:
        self.emit(1, f"proc {name}")
        self.left, self.in_proc = self.random.randint(2, 8), True
        self.body(2, ["i", "j"], set(), False)
        if self.chance(0.3):
            self.emit(2, "if c > 4\n      return\n    endif")
            self.body(2, ["i", "j"], set(), False)
        self.emit(1, f"endproc {name}")
        self.in_proc = False

    def write(self) -> str:
        if self.procs:
            self.proc("p")
            self.proc("q")
            self.left = self.random.randint(6, 40)
        self.lines.append(SETUP.rstrip("\n"))
        for _ in range(self.random.randint(1, 3)):
            self.left = max(self.left, 5)
            if self.chance(0.5):
                indices = self.random.sample("ijk", self.random.randint(1, 3))
                names = ", ".join(indices)
                self.emit(1, f"pardo {names}")
                written: set[str] = set()
                self.body(2, indices, written, False)
                self.emit(1, f"endpardo {names}")
            else:
                self.loop(1, [], set())
        return "\n".join([HEAD.rstrip("\n"), *self.lines, "  println x", "endsial temps", ""])


def random_temps(seed: int) -> str:
    """Returns the program of a seed."""
    return _Writer(seed).write()
