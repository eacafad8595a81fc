"""Super-instructions on all blocks of an array, and on the blocks that a worker holds. The oracle
is NumPy."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sial_programs import codes
from test_sial_run import prepare, run_job, seed, simulate
from test_sial_saved import outboard

from needs import needs
from outboard import paths
from outboard.commands._sial_explain import PLACEMENTS

pytestmark = pytest.mark.end_to_end
__all__ = ["seed"]  # a fixture
HEAD = """sial p
  predefined int n
  aoindex i = 1:n
  aoindex j = 2:n
  index k = 1:2
  distributed d[i,j]
  temp t[i,j]
  static own[i,j]
  static all[i,j]
  scalar x
  scalar squares
  special fill_block_sequential wr
  special blocks_to_list r
  special list_to_blocks w
"""
GATHER = """  pardo i, j
    where i != j
    get d[i,j]
    own[i,j] = d[i,j]
  endpardo i, j
  collective all += own
"""
SAVE = f"""{HEAD}  pardo i, j
    where i != j
    x = 1000.0 * (scalar) i + 100.0 * (scalar) j
    execute fill_block_sequential t[i,j] x
    put d[i,j] = t[i,j]
  endpardo i, j
  execute blocks_to_list d           # waits for the puts of all workers
  sip_barrier
  pardo i, j
    where i != j
    put d[i,j] += 0.5
  endpardo i, j
  sip_barrier
  do k                               # the look-ahead of the first round meets the second one
    do i
      do j
        where i != j
        get d[i,j]
        squares += d[i,j] * d[i,j]
      enddo j
    enddo i
    execute list_to_blocks d
  enddo k
{GATHER}endsial p
"""
LOAD = f"{HEAD}  execute list_to_blocks d\n{GATHER}endsial p\n"


@dataclass
class Case:
    """A job with an array, and its elements as NumPy has them."""

    extents: list[int]

    @classmethod
    def draw(cls, source: random.Random) -> Case:
        return cls([source.randint(1, 4) for _ in range(source.randint(2, 5))])

    @property
    def job(self) -> str:
        n = len(self.extents)
        return (
            f"sial_job = 1\nprograms = ['p.sial']\n[ints]\nn = {n}\n[segments]\n"
            f"ao = {self.extents}\n"
        )

    def elements(self) -> np.ndarray:
        rows = []
        for i, height in enumerate(self.extents, 1):
            row = []
            for j, width in enumerate(self.extents[1:], 2):
                elements = 1000 * i + 100 * j + np.arange(float(height * width))
                block = elements.reshape(height, width, order="F")
                row.append(block if i != j else 0 * block)
            rows.append(np.hstack(row))
        return np.vstack(rows)

    def check(self, dump: Path, *, squares: bool) -> None:
        wanted = self.elements()
        changed = np.where(wanted != 0, wanted + 0.5, 0)
        for state in json.loads(dump.read_text()):
            static = state["statics"]["all"]
            got = np.array(static["data"]).reshape(static["shape"], order="F")
            np.testing.assert_array_equal(got, wanted)
            if squares:  # of small integers and quarters: exact
                assert state["scalars"]["squares"] == (wanted**2).sum() + (changed**2).sum()


def test_all_blocks_are_saved_and_loaded_at_once(
    native: paths.Native, tmp_path: Path, seed: int
) -> None:
    source = random.Random(seed)
    dump = tmp_path / "dump.json"
    for _ in range(12):
        case = Case.draw(source)
        shutil.rmtree(tmp_path / "p.state", ignore_errors=True)
        for program in (SAVE, LOAD):
            job = prepare(tmp_path, program, case.job)
            options = {
                "--workers": source.randint(1, 4),
                "--servers": source.randint(1, 3),
                "--seed": source.randrange(1 << 20),
                "--prefetch": source.choice(("off", "1", "8", "auto")),
                "--placement": source.choice(PLACEMENTS),
                "--dump-state": dump,
            }
            if source.random() < 0.3:
                options["--server-memory"] = 512  # blocks go to disk
            more = ["--deterministic"] if source.random() < 0.3 else []
            words = [word for pair in options.items() for word in pair]
            print(case.extents, words, more)
            done = simulate(native, job, *words, *more)
            assert done.returncode == 0, done.stderr
            case.check(dump, squares=program is SAVE)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_lists_over_mpi(native: paths.Native, tmp_path: Path, seed: int, mpi: str) -> None:
    needs(f"mpiexec.{mpi}")
    case = Case.draw(random.Random(seed))
    dump = tmp_path / "dump"
    for program, ranks in ((SAVE, 5), (LOAD, 3)):
        job = prepare(tmp_path, program, case.job)
        done = run_job(native, job, "-n", ranks, "--mpi", mpi, "--dump-state", dump)
        assert done.returncode == 0, done.stderr
        for worker in range(ranks - max(1, ranks // 3)):
            case.check(tmp_path / f"dump.{worker}", squares=program is SAVE)
    done = outboard(native, "export", job, "d", "-o", tmp_path / "d.npy")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "d.npy"), case.elements())


def test_lists_that_cannot_be_loaded(native: paths.Native, tmp_path: Path, seed: int) -> None:
    case = Case([2, 3, 1])
    line = 1 + LOAD.splitlines().index("  execute list_to_blocks d")
    job = prepare(tmp_path, LOAD, case.job)
    done = simulate(native, job, "--workers", 3, "--servers", 2, "--seed", seed)
    assert done.returncode == 3
    assert f'p:{line}: error R12 nothing was saved as "d"' in done.stderr
    assert simulate(native, prepare(tmp_path, SAVE, case.job), "--servers", 2).returncode == 0
    job = prepare(tmp_path, LOAD, Case([2, 1, 3]).job)
    done = simulate(native, job)
    assert done.returncode == 3
    assert 'saved as "d" has another kind, shape or segments' in done.stderr
    job = prepare(tmp_path, LOAD, case.job)
    for file in tmp_path.glob("p.state/**/*.blocks"):
        whole = bytearray(file.read_bytes())
        whole[-1] ^= 1 << random.Random(seed).randrange(8)
        file.write_bytes(whole)
    done = simulate(native, job, "--workers", 2, "--seed", seed)
    assert done.returncode == 3
    assert "error R12" in done.stderr
    assert "checksum" in done.stderr


def test_lists_that_cannot_be_saved(native: paths.Native, tmp_path: Path, seed: int) -> None:
    (tmp_path / "p.state").write_text("no folder")
    job = prepare(tmp_path, SAVE, Case([2, 3, 1]).job)
    line = 1 + next(n for n, one in enumerate(SAVE.splitlines()) if "execute blocks_to_list" in one)
    done = simulate(native, job, "--workers", 3, "--servers", 2, "--seed", seed)
    assert done.returncode == 3
    assert f"p:{line}: error R11" in done.stderr


def test_a_list_replaces_what_a_program_restores(native: paths.Native, tmp_path: Path) -> None:
    """The files that restore_persistent has looked at before the first statement are gone then."""
    case = Case([2, 3, 1])
    first = SAVE.replace("endsial p", '  set_persistent x "d"\nendsial p')
    assert simulate(native, prepare(tmp_path, first, case.job)).returncode == 0
    body = '  execute blocks_to_list d\n  restore_persistent x "d"\nendsial p\n'
    done = simulate(native, prepare(tmp_path, HEAD + body, case.job), "--workers", 2)
    assert done.returncode == 3
    assert 'saved as "d" has another kind, shape or segments' in done.stderr
    saved = SAVE.replace("endsial p", '  set_persistent d "d"\nendsial p')
    assert simulate(native, prepare(tmp_path, saved, case.job)).returncode == 0
    body = "  execute list_to_blocks d\n  execute blocks_to_list d\n"
    body += f'  restore_persistent d "d"\n  sip_barrier\n{GATHER}endsial p\n'
    dump = tmp_path / "dump.json"
    job = prepare(tmp_path, HEAD + body, case.job)
    done = simulate(native, job, "--workers", 3, "--servers", 2, "--dump-state", dump)
    assert done.returncode == 0, done.stderr
    case.check(dump, squares=False)


def test_what_a_compiler_refuses() -> None:
    special = "  special blocks_to_list r\n  special list_to_blocks w\n"
    declarations = (
        "\n  predefined int n\n  aoindex i = 1:n\n  distributed d[i]\n  static m[i]\n"
        f"  temp t[i]\n  scalar x\n{special}"
    )
    for body, expected in (
        ("  execute blocks_to_list d\n  execute list_to_blocks d", []),
        ("  execute blocks_to_list m", ["S411"]),
        ("  execute list_to_blocks x", ["S411"]),
        ("  do i\n    get d[i]\n    execute blocks_to_list d[i]\n  enddo i", ["S411"]),
        ("  pardo i\n    execute list_to_blocks d\n  endpardo i", ["S607"]),
    ):
        assert codes(body, declarations=declarations) == expected, body


HELD = """sial p
  predefined int n
  aoindex i = 1:n
  aoindex j = 2:n
  subindex ii of i
  index s = -1:1
  distributed d[s,i]
  local l[i,j]
  temp t[j,s]
  temp part[ii,j]
  static m[i]
  contiguous local c[i,j]
  scalar wrong
  special list_block_map
  special list_blocks_with_number
  special check_block_number_calculation w
  pardo s, i
    put d[s,i] = 1.0
  endpardo s, i
  sip_barrier
  allocate l[*,*]
  allocate contiguous c[1:2, 3:3]
  do s
    do i
      get d[s,i]
      wrong += d[s,i] * d[s,i]
    enddo i
  enddo s
  do i
    do ii in i
      do j
        if i == 2
          if ii == 2
            part[ii,j] = 1.0
            if j == n
              do s
                t[j,s] = 1.0
                if s == 1
                  execute list_block_map
                  execute list_blocks_with_number
                  execute check_block_number_calculation wrong
                endif
              enddo s
            endif
          endif
        endif
      enddo j
    enddo ii in i
  enddo i
endsial p
"""


def test_the_blocks_that_a_worker_holds(native: paths.Native, tmp_path: Path) -> None:
    extents = [2, 3, 4]
    job = (
        "sial_job = 1\nprograms = ['p.sial']\n[ints]\nn = 3\n[segments]\nao = [2, 3, 4]\n"
        "[subsegments]\nao = 2\n"
    )
    dump = tmp_path / "dump.json"
    made = prepare(tmp_path, HELD, job, level=0)  # nothing is left out or freed early
    done = simulate(native, made, "--workers", 2, "--servers", 2, "--dump-state", dump)
    assert done.returncode == 0, done.stderr
    blocks: dict[str, list[tuple[str, str, int]]] = {
        # Numbers count the last index fastest.
        "d": [
            (f"[{s},{i + 1}]", f"fetched, number {3 * (s + 1) + i}, ", extents[i])
            for s in (-1, 0, 1)
            for i in range(3)
        ],
        "l": [
            (f"[{i + 1},{j + 2}]", f"local, number {2 * i + j}, ", extents[i] * extents[j + 1])
            for i in range(3)
            for j in range(2)
        ],
        "t": [("[3,1]", "temp, number 5, ", 4)],
        # The second part of segment 2 has one element; j is 3.
        "part": [("[2.2,3]", "temp, number 7, ", 4)],
        "m": [("", "static, ", 9)],
        "c": [("[1:2,3:3]", "region, ", 20)],
    }
    count = sum(map(len, blocks.values()))
    lines = done.stdout.splitlines()
    assert lines[0] == "worker 0: 6 arrays"
    assert lines[1 + 6] == f"worker 0: {count} blocks"
    totals = dict(line.removeprefix("  ").split(": ") for line in lines[1:7])
    for name, held in blocks.items():
        elements = 8 * sum(size for _, _, size in held)
        kind = held[0][1].split(",")[0]
        plural = "" if len(held) == 1 else "s"
        assert totals[name] == f"{len(held)} {kind} block{plural}, {elements} bytes"
    wanted = [
        f"  {name}{place}: {what}{8 * size} bytes"
        for name, held in blocks.items()
        for place, what, size in held
    ]
    assert sorted(lines[8:]) == sorted(wanted)
    assert [state["scalars"]["wrong"] for state in json.loads(dump.read_text())] == [0, 0]


def test_byte_code_with_a_list_in_a_pardo_is_stopped(
    native: paths.Native, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = LOAD.replace(
        "endsial p", "  pardo i, j\n    execute list_to_blocks d\n  endpardo i, j\nendsial p"
    )
    assert "S607" in codes(source)
    monkeypatch.setattr("outboard.sial.parallel.WHOLE_ARRAYS", ())
    case = Case([2, 3, 1])
    assert simulate(native, prepare(tmp_path, SAVE, case.job)).returncode == 0
    done = simulate(native, prepare(tmp_path, source, case.job), "--workers", 3)
    assert done.returncode == 3
    line = source.splitlines().index("    execute list_to_blocks d") + 1
    assert f"p:{line}: error R08 this super-instruction stands in a pardo" in done.stderr
