"""Options of `outboard sial run`: traces, strictness, placement of blocks, memory in the report."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from test_sial_explain import explain
from test_sial_run import JOB, prepare, run_job, seed, simulate

from needs import needs
from outboard import paths, sial_jobs, sial_report, trace
from outboard.commands._sial_explain import PLACEMENTS
from outboard.report import format_bytes

pytestmark = pytest.mark.end_to_end
__all__ = ["seed"]  # a fixture
HEAD = """sial p
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  distributed d[i,j]
  temp t[i,j]
  scalar x
"""
PROGRAM = f"""{HEAD}  pardo i, j
    t[i,j] = 1.0
    put d[i,j] = t[i,j]
  endpardo i, j
  sip_barrier
  pardo i, j
    get d[i,j]
    t[i,j] = 2.0 * d[i,j]
    put d[i,j] += 1.0
  endpardo i, j
  sip_barrier
endsial p
"""


def events_of(file: Path) -> list[dict[str, Any]]:
    events = json.loads(file.read_text())["traceEvents"]
    assert isinstance(events, list)
    return events


def check_trace(events: list[dict[str, Any]], report: dict[str, Any]) -> None:
    workers, servers = report["workers"], report["servers"]
    names = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
    wanted = [f"worker {n}" for n in range(workers)] + [f"server {n}" for n in range(servers)]
    assert names == dict(enumerate(wanted))
    # The statements and waits of a rank follow each other.
    slices = [one for one in events if one["ph"] == "X"]
    for rank in names:
        own = sorted((one["ts"], one["ts"] + one["dur"]) for one in slices if one["pid"] == rank)
        assert own
        for (_, end), (begin, _) in pairwise(own):
            assert end <= begin + 0.002  # three digits after the point
    executed = Counter(one["name"] for one in slices if one["pid"] < workers)
    lines = {line["line"]: line for line in report["lines"]}
    for line, op in ((9, "block_fill"), (10, "put_block"), (15, "block_scale"), (16, "put_scalar")):
        assert executed[f"p:{line} {op}"] == lines[line]["executions"] == 9, (line, executed)
    assert executed["p:12 barrier"] == workers
    # Each transfer begins and ends once.
    begins = {one["id"]: one for one in events if one["ph"] == "b"}
    ends = {one["id"]: one for one in events if one["ph"] == "e"}
    assert begins.keys() == ends.keys()
    assert all(begins[one]["ts"] <= ends[one]["ts"] for one in begins)
    kinds = Counter(one["name"].rsplit(" ", 1)[0] for one in begins.values())
    get = lines[14]["get"]
    assert kinds == {"put": 9, "put += x": 9, "get": get["requests"] + get["prefetched"]}
    received = [one for one in begins.values() if one["name"].startswith("get ")]
    assert sum(one["args"]["bytes"] for one in received) == get["bytes"]
    assert sum("ahead" in one["args"] for one in received) == get["prefetched"]
    # Servers handle as many messages.
    handled = Counter(one["name"] for one in slices if one["pid"] >= workers)
    assert handled["put d"] == handled["put += x d"] == 9
    assert handled["get d"] + handled["prefetch d"] == kinds["get"]


def test_trace_of_simulated_ranks(native: paths.Native, tmp_path: Path, seed: int) -> None:
    source = random.Random(seed)
    job = prepare(tmp_path, PROGRAM)
    stem, report = tmp_path / "trace", tmp_path / "report.json"
    for prefetch in ("off", "2"):
        done = simulate(
            native, job, "--workers", source.randint(1, 4), "--servers", source.randint(1, 3),
            "--seed", source.randrange(1 << 20), "--prefetch", prefetch,
            "--trace", stem, "--report", report,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert trace.merge(stem, tmp_path / "trace.json").dropped == 0
        check_trace(events_of(tmp_path / "trace.json"), json.loads(report.read_text())[0])


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_trace_of_ranks_of_mpi(native: paths.Native, tmp_path: Path, mpi: str) -> None:
    needs(f"mpiexec.{mpi}")
    job = prepare(tmp_path, PROGRAM)
    traced, report = tmp_path / "out" / "trace.json", tmp_path / "report.json"
    traced.parent.mkdir()
    done = run_job(
        native, job, "-n", 4, "--mpi", mpi, "--trace", traced, "--report", f"json:{report}"
    )
    assert done.returncode == 0, done.stderr
    check_trace(events_of(traced), json.loads(report.read_text())[0])
    assert os.listdir(traced.parent) == ["trace.json"]


def test_traces_of_runs_that_fail(native: paths.Native, tmp_path: Path) -> None:
    job = prepare(tmp_path, PROGRAM.replace("endsial", "  x = 1.0 / 0.0\nendsial"))
    done = run_job(native, job, "--trace", tmp_path / "trace.json")
    assert done.returncode == 3
    assert any(one["name"] == "p:9 block_fill" for one in events_of(tmp_path / "trace.json"))
    done = run_job(native, job, "--trace", tmp_path / "nowhere" / "trace.json")
    assert done.returncode == 2
    assert "nowhere" in done.stderr
    done = simulate(native, job, "--trace", tmp_path / "nowhere" / "trace")
    assert done.returncode == 2
    assert "cannot write the trace" in done.stderr


def test_strict_makes_errors_of_warnings(native: paths.Native, tmp_path: Path) -> None:
    outside = f"{HEAD}  do i\n    do j\n      put d[i,j] = 1.0\n    enddo j\n  enddo i\nendsial p\n"
    job = prepare(tmp_path, outside)
    assert run_job(native, job).returncode == 0
    for options, text in (("--strict",), JOB), ((), JOB + "[run]\nstrict = true\n"):
        done = run_job(native, prepare(tmp_path, outside, text), *options)
        assert done.returncode == 1
        assert "error W08" in done.stderr
    body = "  do i\n    x += m[i] * m[i]\n  enddo i\n  print x\n"
    lacking = "sial p\n  predefined int n\n  aoindex i = 1:n\n  scalar x\n"
    lacking += f"  predefined static m[i]\n{body}endsial p\n"
    job = prepare(tmp_path, lacking)
    done = run_job(native, job)
    assert (done.returncode, "warning" in done.stderr) == (0, True)
    for options, text in (("--strict",), JOB), ((), JOB + "[run]\nstrict = true\n"):
        done = run_job(native, prepare(tmp_path, lacking, text), *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert "--strict makes an error" in done.stderr


def test_blocks_lie_where_the_placement_says(
    native: paths.Native, tmp_path: Path, seed: int
) -> None:
    """`outboard sial explain` computes the places apart from the runtime."""
    source = random.Random(seed)
    report = tmp_path / "report.json"
    for number in range(3):
        extents = [source.randint(1, 9) for _ in range(source.randint(2, 6))]
        job_text = (
            f"sial_job = 1\nprograms = ['p.sial']\n[ints]\nn = {len(extents)}\n"
            f"[segments]\nao = {extents}\n"
        )
        servers = source.randint(1, 4)
        body = "  pardo i, j\n    put d[i,j] = 1.0\n  endpardo i, j\n  sip_barrier\n"
        text = f"{HEAD}{body}endsial p\n"
        shares = {}
        for rule in PLACEMENTS:
            run = f"[run]\nplacement = '{rule}'\n" if number % 2 else ""
            job = prepare(tmp_path, text, job_text + run)
            options = [] if run else ["--placement", rule]
            done = simulate(
                native, job, "--workers", 2, "--servers", servers, "--server-memory", "1G",
                "--report", report, *options,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            given = {} if run else {"placement": rule}
            (found,) = explain(job, 2, servers, **given)
            shares[rule] = json.loads(report.read_text())[0]["memory"]["servers"]
            print(extents, rule, shares[rule])
            assert found["memory"]["servers"] == shares[rule], rule
        whole = 8 * sum(extents) ** 2
        for share in shares["bytes"]:
            assert abs(share - whole / servers) <= 8 * max(extents) ** 2
        assert all(sum(share) == whole for share in shares.values())


def test_report_shows_the_most_memory(native: paths.Native, tmp_path: Path) -> None:
    report, shown = tmp_path / "report.json", io.StringIO()
    done = simulate(native, prepare(tmp_path, PROGRAM), "--workers", 2, "--report", report)
    assert done.returncode == 0, done.stderr
    sial_report.show(report, shown)
    memory = json.loads(report.read_text())[0]["memory"]
    own, fetched = (max(w[key] for w in memory["workers"]) for key in ("blocks", "fetched"))
    assert own >= 72 and fetched >= 72  # the largest block has 3 x 3 elements
    sizes = [format_bytes(one) for one in (own, fetched, memory["servers"][0])]
    assert f"{sizes[0]} of blocks and {sizes[1]} of fetched ones per worker" in shown.getvalue()
    assert f", {sizes[2]} per server" in shown.getvalue()


def test_mpich_sends_large_messages_at_once_between_hosts(
    native: paths.Native, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("mpiexec.mpich", "mpiexec.openmpi")
    monkeypatch.setenv("OUTBOARD_NATIVE_DIR", str(native.root))
    monkeypatch.setattr(sial_jobs, "_RDMA_DEVICES", tmp_path / "infiniband")
    monkeypatch.delenv("UCX_RNDV_THRESH", raising=False)
    monkeypatch.delenv("SLURM_NNODES", raising=False)
    job = prepare(tmp_path, PROGRAM)

    def chosen(hosts: str | None, mpi: str = "mpich") -> str | None:
        start = sial_jobs.Start(job, 4, mpi, hosts)
        return sial_jobs.command_line(start)[1].get("UCX_RNDV_THRESH")

    assert chosen("a:2,b:2") == "inf"
    assert chosen("a,a") is None
    assert chosen(None) is None
    monkeypatch.setenv("SLURM_NNODES", "2")
    assert chosen(None) == "inf"
    assert chosen("a,b", "openmpi") is None
    (tmp_path / "infiniband" / "mlx5_0").mkdir(parents=True)
    assert chosen("a,b") is None
    shutil.rmtree(tmp_path / "infiniband")
    monkeypatch.setenv("UCX_RNDV_THRESH", "64k")
    assert chosen("a,b") == "64k"
