"""Puts without a barrier: blocks on their way take a bounded part of each memory.

The bytes that wait for a server are counted by the exchange, which knows nothing of credits."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_sial_run import prepare, run_job, seed, simulate  # noqa: F401  (seed is a fixture)

from needs import needs
from outboard import paths
from outboard.commands._sial_explain import PLACEMENTS

ROUNDS = 40
SCHEDULES = 12
SOURCE = f"""sial p
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  index r = 1:{ROUNDS}
  distributed d[i,j]
  temp t[i,j]
  scalar part
  scalar total

  pardo i, j
    do r
      t[i,j] = 1.0
      t[i,j] += 1.0
      put d[i,j] += t[i,j]
      put d[i,j] -= 1.0
    enddo r
  endpardo i, j
  sip_barrier
  pardo i, j
    get d[i,j]
    part += d[i,j] * d[i,j]
  endpardo i, j
  collective total += part
endsial p
"""


@dataclass
class Case:
    segments: list[int]
    workers: int
    servers: int
    server_memory: int
    worker_memory: int
    placement: str

    @staticmethod
    def draw(chooser: random.Random) -> Case:
        segments = [chooser.randint(2, 9) for _ in range(chooser.randint(3, 5))]
        largest = 8 * max(segments) ** 2
        return Case(
            segments, chooser.randint(1, 5), chooser.randint(1, 2),
            # One block; so much that all are granted one by one; so much that most need no grant.
            chooser.choice([largest, 64 * largest, 400 * largest]),
            # One temp, its next value, and one block on its way, or much more.
            chooser.choice([12 * largest, 100 * largest]),
            chooser.choice(PLACEMENTS),
        )  # fmt: skip

    def options(self) -> list[object]:
        return [
            "--server-memory", self.server_memory, "--worker-memory", self.worker_memory,
            "--placement", self.placement,
        ]  # fmt: skip

    def job(self) -> str:
        return (
            "sial_job = 1\nprograms = ['p.sial']\n[ints]\n"
            f"n = {len(self.segments)}\n[segments]\nao = {self.segments}\n"
        )

    def largest(self) -> int:
        return 8 * max(self.segments) ** 2

    def most_queued(self) -> int:
        """Returns the bound of docs/sial/runtime.md, "Puts under way"."""
        half = self.server_memory // 32 // 2
        return half // self.workers * self.workers + max(half, self.largest())

    def check(self, report: Path, total: float) -> bool:
        """Compares a run with the bounds. Says whether puts had to wait."""
        assert total == ROUNDS**2 * float(sum(self.segments) ** 2)
        puts = json.loads(report.read_text())[0]["puts"]
        assert len(puts["queued"]) == self.servers
        assert max(puts["queued"]) <= self.most_queued(), (self, puts)
        assert len(puts["unanswered"]) == self.workers
        allowed = max(self.worker_memory // 4, self.largest())
        assert max(puts["unanswered"]) <= allowed, (self, puts)
        return bool(puts["waits"] > 0)


def test_queues_are_bounded_under_all_schedules(
    native: paths.Native,
    tmp_path: Path,
    seed: int,  # noqa: F811
) -> None:
    chooser = random.Random(seed)
    report, dump = tmp_path / "report.json", tmp_path / "state.json"
    waited = 0
    for _ in range(SCHEDULES):
        case = Case.draw(chooser)
        print(case)
        order = chooser.choice([0, chooser.randrange(1, 1 << 30)])
        job = prepare(tmp_path, SOURCE, case.job())
        done = simulate(
            native, job, "--workers", case.workers, "--servers", case.servers, "--seed", order,
            "--report", report, "--dump-state", dump, *case.options(),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        total = json.loads(dump.read_text())[0]["scalars"]["total"]
        waited += case.check(report, total)
    assert waited > 0


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_queues_are_bounded_over_mpi(
    native: paths.Native,
    tmp_path: Path,
    seed: int,  # noqa: F811
    mpi: str,
) -> None:
    needs(f"mpiexec.{mpi}")
    case = Case.draw(random.Random(seed))
    case.workers, case.servers = 2, 1
    print(case)
    prepare(tmp_path, "sial p\n  scalar x\n  x = 1.0\nendsial p\n")
    (tmp_path / "p.sialc").rename(tmp_path / "quiet.sialc")
    (tmp_path / "p.sial").rename(tmp_path / "quiet.sial")
    programs = case.job().replace("['p.sial']", "['p.sial', 'quiet.sial']")
    job = prepare(tmp_path, SOURCE, programs)
    report, dump = tmp_path / "report.json", tmp_path / "state"
    done = run_job(
        native, job, "-n", 3, "--mpi", mpi, "--servers", 1, "--report", f"json:{report}",
        "--dump-state", dump, *case.options(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    state = json.loads((tmp_path / "state.0").read_text())[0]
    case.check(report, state["scalars"]["total"])
    assert json.loads(report.read_text())[1]["puts"]["queued"] == [0]  # it puts nothing


def test_the_report_says_that_puts_waited(native: paths.Native, tmp_path: Path) -> None:
    case = Case([8, 8, 8], 1, 1, 8 * 64, 0, "cyclic")
    job = prepare(tmp_path, SOURCE, case.job())
    done = run_job(native, job, "--report", "--server-memory", case.server_memory)
    assert done.returncode == 0, done.stderr
    assert "puts that waited for credit: 360" in done.stderr
