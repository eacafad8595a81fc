"""Measures how the schedules of SIAL divide iterations that take different times."""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click

from outboard import sial_jobs
from outboard_bench import plot, rows

SCHEDULES = ("static", "balanced", "guided", "measured")
WORKERS = 4
ITERATIONS = 400
# `busy_compute` sleeps, so four workers need no four cores.
SECONDS = {False: 16.0, True: 0.4}  # of computing, by --check

# The costs of iterations are random numbers, or follow the extents of segments: these the
# runtime can learn. A worker that has waited at a barrier has all its times.
RANDOM_COSTS = """sial costs
  predefined int n
  index a = 1:n
  predefined static cost[a]
  temp t[a]
  special busy_compute rr
  scalar x
  sip_barrier
  pardo a
    x = cost[a]
    t[a] = 1.0
    execute busy_compute t[a] x
  endpardo a
  sip_barrier
endsial costs
"""
COSTS_OF_SIZES = """sial costs
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  predefined static cost[i,j]
  temp t[i,j]
  special busy_compute rr
  special get_first_block_element rw
  scalar x
  sip_barrier
  pardo i, j
    t[i,j] = cost[i,j]
    execute get_first_block_element t[i,j] x
    execute busy_compute t[i,j] x
  endpardo i, j
  sip_barrier
endsial costs
"""
# A thousandth of the iterations survives. The first one that a worker begins ends the run.
STARTING = """sial costs
  predefined int n
  index a = 1:n
  index b = 1:n
  index c = 1:n
  pardo a, b, c
    where a == b
    stop
  endpardo a, b, c
endsial costs
"""


class SialSchedules:
    """Each schedule of a pardo on four workers over MPI, beside the lower bound of its time."""

    name = "sial-schedules"
    summary = "how the schedules of SIAL divide uneven iterations on 4 workers (--runs N, --check)"
    draw = staticmethod(plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        runs, check = _parse(arguments)
        with tempfile.TemporaryDirectory(prefix="sial-schedules-") as folder:
            measured = measure(Path(folder), runs, check)
        rows.print_table(measured)
        if json_file:
            rows.write(measured, json_file)
        return 0


def measure(folder: Path, runs: int, check: bool) -> list[rows.Row]:
    """Returns a row for each kind of costs and schedule, beside the lower bound, and the times
    until the first of a million iterations begins."""
    seconds = SECONDS[check]
    made = []
    for kind in ("random", "sizes"):
        took: dict[str, list[float]] = {name: [] for name in SCHEDULES}
        bounds = []
        for seed in range(runs):
            bounds.append(_write_job(folder, kind, seed, seconds))
            for name in SCHEDULES:
                if name == "measured":  # the first run learns
                    _run_seconds(folder, name)
                took[name].append(_run_seconds(folder, name))
        for name in SCHEDULES:
            times = [1000 * one for one in took[name]]
            bound = 1000 * sum(bounds) / len(bounds)
            row = rows.Row.of_runs(
                "sial-schedules", f"{kind} costs, {name}", 0, times, "ms", bound, "bound"
            )
            made.append(row)
    size = 100 if check else 1000
    (folder / "costs.sial").write_text(STARTING)
    (folder / "costs.toml").write_text(_job(f"[ints]\nn = {size}\n"))
    for name in ("balanced", "guided"):
        starts = [1000 * _seconds_to_stop(folder, name) for _ in range(runs)]
        made.append(
            rows.Row.of_runs("sial-schedules", f"{size}^3, until stop, {name}", 0, starts, "ms")
        )
    return made


def _job(rest: str) -> str:
    return f'sial_job = 1\nprograms = ["costs.sial"]\n{rest}'


def _write_job(folder: Path, kind: str, seed: int, seconds: float) -> float:
    """Writes a job whose iterations take `seconds` together. Returns the lower bound of its time:
    an equal share, or the longest iteration."""
    some = random.Random(seed)
    if kind == "random":
        units = [float(some.randint(1, 100)) for _ in range(ITERATIONS)]
        extents = []
        size, text = ITERATIONS, RANDOM_COSTS
    else:
        extents = [some.randint(1, 10) for _ in range(int(ITERATIONS**0.5))]
        units = [float(first * second) for second in extents for first in extents]
        size, text = len(extents), COSTS_OF_SIZES
    factor = seconds / sum(units)
    costs = [factor * unit for unit in units]
    rest = f"[ints]\nn = {size}\n"
    if extents:
        # Every element of a block of this static is the cost of its iteration.
        rows_ = [at for at, extent in enumerate(extents) for _ in range(extent)]
        data = [[costs[len(extents) * j + i] for j in rows_] for i in rows_]
        rest += f"[segments]\nao = {extents}\n[arrays]\ncost = {{ data = {data} }}\n"
    else:
        rest += f"[arrays]\ncost = {{ data = {costs} }}\n"
    (folder / "costs.sial").write_text(text)
    (folder / "costs.toml").write_text(_job(rest))
    for old in folder.glob("costs.state/*"):
        old.unlink()
    return max(seconds / WORKERS, max(costs))


def _command(
    folder: Path, schedule: str, *options: str, ranks: int = WORKERS + 1
) -> tuple[list[str], dict[str, str]]:
    job = folder / "costs.toml"
    sial_jobs.compile_sources(job, ())
    passed = ("--workers", str(WORKERS), "--schedule", schedule, *options)
    return sial_jobs.command_line(sial_jobs.Start(job, ranks, None, None, passed))


def _run_seconds(folder: Path, schedule: str) -> float:
    report = folder / "report.json"
    line, environment = _command(folder, schedule, "--report", str(report))
    subprocess.run(line, env=environment, check=True, stdout=subprocess.DEVNULL)
    return float(json.loads(report.read_text())[0]["seconds"])


def _seconds_to_stop(folder: Path, schedule: str) -> float:
    """Returns the time of a run that stops in its first iteration, less that of one with a single
    iteration: the shortest of five each. All workers are in one process, since processes of MPI
    start in uneven times; so the workers count ahead one after another."""
    job = folder / "costs.toml"
    kept = job.read_text()
    shortest = []
    for text in (kept, _job("[ints]\nn = 1\n")):
        job.write_text(text)
        line, environment = _command(folder, schedule, ranks=1)
        times = []
        for _ in range(5):
            began = time.perf_counter()
            subprocess.run(line, env=environment, capture_output=True)
            times.append(time.perf_counter() - began)
        shortest.append(min(times))
    job.write_text(kept)
    return max(shortest[0] - shortest[1], 1e-6)


def _parse(arguments: Sequence[str]) -> tuple[int, bool]:
    chosen = (3, False)

    @click.command("sial-schedules", add_help_option=False)
    @click.option("--runs", type=click.IntRange(1), default=3)
    @click.option("--check", is_flag=True)
    def parse(runs: int, check: bool) -> None:
        nonlocal chosen
        chosen = (1, True) if check else (runs, False)

    parse.main(list(arguments), standalone_mode=False)
    return chosen
