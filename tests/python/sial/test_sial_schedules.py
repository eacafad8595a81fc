"""The schedules of pardos: each iteration is executed once, whatever divides them.

The oracle evaluates the where clauses in Python."""

from __future__ import annotations

import itertools
import json
import operator
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from test_sial_run import run_job, seed, simulate  # noqa: F401  (seed is a fixture)

from needs import needs
from outboard import paths
from outboard.sial.compiler import Options, compile_text

pytestmark = pytest.mark.end_to_end
NAMES = ("static", "balanced", "guided", "measured")
PROGRAMS = 15
RUNS = 6  # of each program

Relation = Callable[[int, int], bool]
RELATIONS: dict[str, Relation] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


@dataclass
class Pardos:
    """A program with pardos over three indices, which count the executions of each iteration."""

    source: str = ""
    ranges: list[tuple[int, int]] = field(default_factory=list)
    segments: list[int] = field(default_factory=list)
    expected: Counter[tuple[int, ...]] = field(default_factory=Counter)


def pardos(chosen: int, schedule: str | None = None) -> Pardos:
    """Returns the program of a seed. With a schedule, all pardos name it."""
    some = random.Random(chosen)
    made = Pardos()
    # Iterations over segments of different extents, and over simple indices.
    made.ranges = [(low, low + some.randint(0, 7)) for low in (some.randint(-3, 3), 1, 2)]
    made.segments = [some.randint(1, 5) for _ in range(10)]
    lines = ["sial p"]
    for name, (lower, upper) in zip("abc", made.ranges, strict=True):
        kind = some.choice(("index", "aoindex")) if lower > 0 else "index"
        lines.append(f"  {kind} {name} = {lower}:{upper}")
    for name, (lower, upper) in zip("xyz", made.ranges, strict=True):
        lines.append(f"  index {name} = {lower}:{upper}")
    lines += ["  index r = 1:3", "  distributed d[x,y,z]", "  temp t[x,y,z]", "  static out[x,y,z]"]
    block = "[(index) a, (index) b, (index) c]"
    for _ in range(some.randint(1, 4)):
        order = some.sample("abc", 3)
        word = schedule or some.choice(NAMES)
        wheres = []
        for _ in range(some.randint(0, 2)):
            left, right = some.sample("abc", 2)
            wheres.append((left, some.choice(list(RELATIONS)), right, some.randint(-2, 2)))
        rounds = some.choice((1, 1, 3))
        names = ", ".join(order)
        lines += ["  do r"] if rounds == 3 else []
        lines += [f'  pardo {names} "{word}"']
        lines += [f"    where {left} {how} {right} + {add}" for left, how, right, add in wheres]
        lines += [f"    t{block} = 1.0", f"    put d{block} += t{block}", f"  endpardo {names}"]
        # Times are known after a barrier.
        lines += [*some.choice(([], ["  sip_barrier"])), "  enddo r"] if rounds == 3 else []
        lines += ["  sip_barrier"] if some.random() < 0.3 else []
        for point in itertools.product(*(range(low, high + 1) for low, high in made.ranges)):
            value = dict(zip("abc", point, strict=True))
            if all(RELATIONS[how](value[p], value[q] + add) for p, how, q, add in wheres):
                made.expected[point] += rounds
    # Blocks that no iteration has put are made now.
    lines += ["  sip_barrier", "  pardo x, y, z", "    put d[x,y,z] += 0.0", "  endpardo x, y, z"]
    lines += ["  sip_barrier", "  do x", "    do y", "      do z", "        get d[x,y,z]"]
    lines += ["        out[x,y,z] = d[x,y,z]", "      enddo z", "    enddo y", "  enddo x"]
    made.source = "\n".join([*lines, "endsial p", ""])
    return made


def prepare(folder: Path, source: str, segments: list[int] | None = None) -> Path:
    result = compile_text(source, "p.sial", Options())
    assert result.code is not None, result.render()
    (folder / "p.sial").write_text(source)
    (folder / "p.sialc").write_bytes(result.code)
    (folder / "p.toml").write_text(
        f"sial_job = 1\nprograms = ['p.sial']\n[segments]\nao = {segments or [1]}\n"
    )
    return folder / "p.toml"


def check_counts(made: Pardos, dump: Path) -> None:
    for state in json.loads(dump.read_text()):
        data = state["statics"]["out"]
        ranges = [range(low, high + 1) for low, high in made.ranges]
        # Column-major: the first index is the fastest.
        points = (tuple(reversed(point)) for point in itertools.product(*reversed(ranges)))
        for point, count in zip(points, data["data"], strict=True):
            assert count == made.expected[point], f"{point}, worker {state['worker']}"


def test_each_iteration_is_executed_once(
    native: paths.Native,
    tmp_path: Path,
    seed: int,  # noqa: F811
) -> None:
    some = random.Random(seed)
    dump = tmp_path / "state.json"
    for number in range(seed, seed + PROGRAMS):
        made = pardos(number)
        job = prepare(tmp_path, made.source, made.segments)
        for run in range(RUNS):
            forced = some.choice((None, *NAMES))
            options = ["--workers", some.randint(1, 8), "--servers", some.randint(1, 4)]
            options += ["--seed", 0 if run == 0 else some.randrange(1, 1 << 30)]
            options += ["--prefetch", some.choice(("off", "1", "3", "auto"))]
            options += ["--races", some.choice(("worker", "iteration"))]
            options += ["--schedule", forced] if forced else []
            print(f"program {number}", *options)
            done = simulate(native, job, *options, "--dump-state", dump)
            assert done.returncode == 0, done.stderr
            check_counts(made, dump)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_each_iteration_is_executed_once_over_mpi(
    native: paths.Native,
    tmp_path: Path,
    seed: int,  # noqa: F811
    mpi: str,
) -> None:
    needs(f"mpiexec.{mpi}")
    times = tmp_path / "p.state" / "pardo-times.txt"
    for name in ("guided", "measured", "measured"):  # the last run knows times from the start
        made = pardos(seed, name)
        job = prepare(tmp_path, made.source, made.segments)
        done = run_job(native, job, "-n", 5, "--mpi", mpi, "--dump-state", tmp_path / "state")
        assert done.returncode == 0, f"program {seed}: {done.stderr}"
        for worker in range(4):
            check_counts(made, tmp_path / f"state.{worker}")
        # Where no iteration survives the where clauses, no time is measured.
        assert times.exists() == (name == "measured" and bool(made.expected))


def test_workers_in_different_pardos(native: paths.Native, tmp_path: Path) -> None:
    body = """sial p
  index a = 1:5
  index b = 1:6
  scalar rank
  int k
  special get_my_rank w
  execute get_my_rank rank
  if rank == 0.0
    pardo a "guided"
      k += 1
    endpardo a
  else
    pardo b "guided"
      k += 1
    endpardo b
  endif
endsial p
"""
    done = simulate(native, prepare(tmp_path, body), "--workers", 2)
    assert done.returncode == 3
    assert "R09" in done.stderr and "p:9" in done.stderr and "p:13" in done.stderr, done.stderr


# Workers add numbers of different sizes, so the rounding depends on the order. One of the arrays is
# scaled and read between, in the same epoch, by its only worker.
SUMS = """sial p
  predefined int n
  index a = 1:n
  index s = 1:2
  predefined static numbers[a]
  distributed d[s]
  distributed mine[a]
  temp t[s]
  temp u[a]
  static out[s]
  static others[a]
  scalar x
  pardo a
    x = numbers[a]
    do s
      t[s] = x
      put d[s] += t[s]
      put d[s] += 0.1
    enddo s
    u[a] = x
    put mine[a] += u[a]
    put mine[a] *= 3.0
    put mine[a] -= u[a]
    get mine[a]
    u[a] = mine[a]
    put mine[a] += u[a]
  endpardo a
  sip_barrier
  pardo a "guided"
    x = numbers[a]
    do s
      t[s] = x
      put d[s] -= t[s]
    enddo s
  endpardo a
  sip_barrier
  do s
    get d[s]
    out[s] = d[s]
  enddo s
  do a
    get mine[a]
    others[a] = mine[a]
  enddo a
endsial p
"""
SEEDS = 200


def sums_by_hand(numbers: list[float], workers: int) -> float:
    """Returns d as --deterministic defines it: what each worker adds is summed up, and these sums
    are added in the order of the workers, after each epoch. Pardos are balanced."""
    total = 0.0
    for epoch in (0, 1):
        for worker in range(workers):
            part = 0.0
            for number in numbers[worker::workers]:
                part = part + number + 0.1 if epoch == 0 else part - number
            total += part
    return total


def test_deterministic_sums(
    native: paths.Native,
    tmp_path: Path,
    seed: int,  # noqa: F811
) -> None:
    some = random.Random(seed)
    numbers = [some.uniform(-1, 1) * 10 ** some.randint(-8, 8) for _ in range(40)]
    job = prepare(tmp_path, SUMS)
    job.write_text(
        f"sial_job = 1\nprograms = ['p.sial']\n[ints]\nn = {len(numbers)}\n"
        f"[arrays]\nnumbers = {{ data = {numbers} }}\n"
    )
    dump = tmp_path / "state.json"
    workers = some.randint(2, 8)
    expected = sums_by_hand(numbers, workers)
    free = set()
    for run in range(SEEDS):
        options = ["--workers", workers, "--servers", some.randint(1, 4)]
        options += ["--seed", some.randrange(1, 1 << 30), "--dump-state", dump]
        options += ["--prefetch", some.choice(("off", "2", "auto"))]
        options += some.choice(([], ["--server-memory", "16"], ["--worker-memory", "3000"]))
        if run % 20 == 0:
            done = simulate(native, job, *options)
            assert done.returncode == 0, done.stderr
            free.add(tuple(json.loads(dump.read_text())[0]["statics"]["out"]["data"]))
        done = simulate(native, job, *options, "--deterministic")
        assert done.returncode == 0, f"{options}: {done.stderr}"
        assert "the pardo is balanced, not guided" in done.stderr
        for state in json.loads(dump.read_text()):
            statics = state["statics"]
            assert statics["out"]["data"] == [expected, expected], options
            mine = [(x * 3.0 - x) + (x * 3.0 - x) for x in numbers]
            assert statics["others"]["data"] == mine, options
    assert len(free) > 1, "the test has no power: other orders give the same bits"


def test_deterministic_excludes_guided(native: paths.Native, tmp_path: Path) -> None:
    job = prepare(tmp_path, pardos(1).source, [1] * 10)
    done = simulate(native, job, "--deterministic", "--schedule", "guided")
    assert done.returncode == 2
    assert "--deterministic excludes the schedule guided" in done.stderr


# The even iterations take long, and balanced gives them all to worker 1.
UNEVEN = """sial p
  index a = 1:16
  index r = 1:2
  index s = 1:400
  int n
  int round
  int first
  int second
  do r
    round += 1
    pardo a
      n = (int) (index) a
      if n == 2 * (n / 2)
        if round == 1
          first += 1
        else
          second += 1
        endif
        do s
          n += 1
        enddo s
      endif
    endpardo a
    sip_barrier
  enddo r
endsial p
"""


@pytest.mark.parametrize("options", [(), ("--deterministic",), ("--schedule", "balanced")])
def test_uneven_pardos_become_guided(
    native: paths.Native, tmp_path: Path, options: tuple[str, ...]
) -> None:
    job = prepare(tmp_path, UNEVEN)
    dump = tmp_path / "state.json"
    for order in range(1, 6):
        done = simulate(
            native, job, "--workers", 2, "--seed", order, "--dump-state", dump, *options
        )
        assert done.returncode == 0, done.stderr
        ints = [state["ints"] for state in json.loads(dump.read_text())]
        # The long iterations of each worker. A chunk has long and short ones.
        assert [one["first"] for one in ints] == [0, 8]
        assert sum(one["second"] for one in ints) == 8
        assert (ints[0]["second"] == 0) == bool(options), f"order {order}: {ints}"
