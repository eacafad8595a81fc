"""Kills runs of a job at random points, lets others go on, and compares the results with the
expected ones, which are computed here by other means.

OUTBOARD_SIAL_KILLS sets the number of kills per test."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_sial_run import seed

from conftest import ROOT, clean_environment
from needs import needs
from outboard import paths
from outboard.sial.compiler import Options, compile_text

pytestmark = pytest.mark.end_to_end
__all__ = ["seed"]  # a fixture
KILLS = int(os.environ.get("OUTBOARD_SIAL_KILLS", "30"))

LOST = r"outboard-sial: lost rank (\d), a (worker|server) on \S+: (killed by signal 9|no sign)"

# All that a worker can hold at a barrier: a call, loops in a call, temps of an iteration that goes
# on, locals, regions, statics, ints and scalars. `fixed` is written once, so its file stays.
FIRST = """sial first
  predefined int n
  predefined scalar start
  aoindex i = 1:n
  aoindex j = 1:n
  aoindex a = 1:n
  aoindex b = 1:n
  index r = 1:3
  distributed d[i,j]
  distributed fixed[i,j]
  distributed gone[i,j]
  predefined static p[i,j]
  static m[i,j]
  local l[i,j]
  contiguous local c[i,j]
  temp t[i,j]
  temp u[i,j]
  int k
  scalar x
  scalar y
  scalar part

  proc step
    pardo a, b
      t[a,b] = x
      put d[a,b] += t[a,b]
    endpardo a, b
    sip_barrier
    delete gone
    part = 0.0
    pardo a, b
      get d[a,b]
      get fixed[a,b]
      part += d[a,b] * fixed[a,b]
    endpardo a, b
    section
      pardo a, b
        put gone[a,b] = 1.0
      endpardo a, b
    endsection
    collective y += part
  endproc step

  pardo i, j
    t[i,j] = 2.0
    put fixed[i,j] = t[i,j]
    put d[i,j] = 0.0
  endpardo i, j
  sip_barrier
  allocate l[*,*]
  allocate contiguous c[1:n,1:1]
  x = start
  do r
    do i
      do j
        u[i,j] = x
        k += 1
        call step
        m[i,j] += u[i,j]
        l[i,j] += u[i,j]
        c[i:i,1:1] = x
        p += 1.0
        x += 1.0
      enddo j
    enddo i
  enddo r
  do i
    do j
      m[i,j] += l[i,j]
    enddo j
  enddo i
  do i
    t[i,i] = 0.0
  enddo i
  set_persistent x "x"
  set_persistent y "y"
  set_persistent d "d"
  set_persistent m "m"
endsial first
"""

# A program that runs twice would add twice.
SECOND = """sial second
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  index r = 1:3
  distributed d[i,j]
  scalar x
  restore_persistent x "x"
  restore_persistent d "d"
  sip_barrier
  do r
    pardo i, j
      put d[i,j] += 1.0
    endpardo i, j
    sip_barrier
    x += 1.0
  enddo r
  set_persistent x "x"
  set_persistent d "d"
endsial second
"""

THIRD = """sial third
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  index r = 1:2
  distributed d[i,j]
  predefined static p[i,j]
  static m[i,j]
  static whole[i,j]
  scalar x
  scalar y
  restore_persistent x "x"
  restore_persistent y "y"
  restore_persistent m "m"
  restore_persistent d "d"
  sip_barrier
  do i
    do j
      get d[i,j]
      whole[i,j] = d[i,j]
    enddo j
  enddo i
  p += 1.0
  do r
    sip_barrier
  enddo r
endsial third
"""
EXTENTS = [3, 1, 2]
SIZE = sum(EXTENTS)
START = 2.0
JOB = f"""sial_job = 1
name = "chain"
programs = ["first.sial", "second.sial", "third.sial"]
[ints]
n = {len(EXTENTS)}
[scalars]
start = {START}
[segments]
ao = {EXTENTS}
[arrays]
p = {{ data = {[[float(10 * r + c) for c in range(SIZE)] for r in range(SIZE)]} }}
"""


def prepare(folder: Path) -> Path:
    for name, source in (("first", FIRST), ("second", SECOND), ("third", THIRD)):
        result = compile_text(source, f"{name}.sial", Options())
        assert result.code is not None, result.render()
        (folder / f"{name}.sial").write_text(source)
        (folder / f"{name}.sialc").write_bytes(result.code)
    (folder / "job.toml").write_text(JOB)
    return folder / "job.toml"


def expected() -> dict[str, Any]:
    """Follows the programs with whole matrices. All numbers are integers, so they are exact."""
    offsets = np.concatenate([[0], np.cumsum(EXTENTS)])
    d, m = np.zeros((SIZE, SIZE)), np.zeros((SIZE, SIZE))
    x, y, steps = START, 0.0, 0
    for _ in range(3):
        for i in range(len(EXTENTS)):
            for j in range(len(EXTENTS)):
                d += x
                y += float((d * 2.0).sum())
                block = np.s_[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]]
                m[block] += 2 * x  # once in m, once in l
                x += 1.0
                steps += 1
    before = np.array([[10.0 * r + c for c in range(SIZE)] for r in range(SIZE)])
    return {"whole": d + 3.0, "m": m, "p": before + steps + 1, "x": x + 3.0, "y": y}


def check(dump: Path) -> None:
    states = [one for one in json.loads(dump.read_text()) if one["program"] == "third"]
    assert states
    right = expected()
    for state in states:
        for name in ("whole", "m", "p"):
            data = state["statics"][name]
            got = np.array(data["data"]).reshape(data["shape"], order="F")
            np.testing.assert_array_equal(got, right[name], f"{name}, worker {state['worker']}")
        assert (state["scalars"]["x"], state["scalars"]["y"]) == (right["x"], right["y"])


def start(
    native: paths.Native, job: Path, *options: object, **variables: str
) -> subprocess.CompletedProcess[str]:
    command = [str(native.daemon.parent / "outboard-sial"), str(job), *map(str, options)]
    environment = clean_environment(**variables)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, if there is one: thousands of files are to reach the disk at once."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="outboard-checkpoints-", dir=memory) as made:
        yield Path(made)


@pytest.fixture(scope="session")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that kills a process at a chosen write to a file."""
    needs("cc", package="g++")
    library = tmp_path_factory.mktemp("killer") / "kill_at_write.so"
    source = ROOT / "tests" / "python" / "sial" / "kill_at_write.c"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", str(source), "-o", str(library), "-ldl"], check=True
    )
    return library


def test_a_run_with_checkpoints_has_the_same_result(native: paths.Native, folder: Path) -> None:
    job, dump = prepare(folder), folder / "state.json"
    done = start(native, job, "--workers", 3, "--servers", 2, "--dump-state", dump)
    assert done.returncode == 0, done.stderr
    check(dump)
    done = start(native, job, "--workers", 2, "--checkpoint", 0, "--dump-state", dump)
    assert done.returncode == 0, done.stderr
    check(dump)
    done = start(native, job, "--workers", 2, "--resume")
    assert done.returncode == 0
    assert "all programs of the job have finished" in done.stderr
    kept = {one.name for one in (folder / "chain.state").rglob("*") if one.is_file()}
    assert not [name for name in kept if "worker" in name or "array" in name or "static" in name]


def test_kills_at_writes_to_files(
    native: paths.Native, folder: Path, seed: int, killer: Path
) -> None:
    job, dump, counts = prepare(folder), folder / "state.json", folder / "counts"
    preload = {"LD_PRELOAD": str(killer)}
    whole = start(
        native, job, "--workers", 2, "--checkpoint", 0, **preload, KILL_COUNTS=str(counts)
    )
    assert whole.returncode == 0, whole.stderr
    calls = int(counts.read_text().split()[0])
    assert calls > 500
    for number in range(seed, seed + KILLS):
        chooser = random.Random(number)
        workers, memory = chooser.randint(1, 3), chooser.choice([[], ["--server-memory", 72]])
        shutil.rmtree(folder / "chain.state", ignore_errors=True)
        resume: list[str] = []
        for _ in range(chooser.randint(1, 3)):
            at = chooser.randint(1, calls // 2)
            killed = start(
                native, job, "--workers", workers, "--servers", chooser.randint(1, 3),
                "--checkpoint", 0, *memory, *resume, **preload, KILL_AT_WRITE=str(at),
            )  # fmt: skip
            print(f"kill {number}: {workers} workers, call {at}, status {killed.returncode}")
            assert killed.returncode in (0, 4), killed.stderr
            assert len(re.findall(LOST, killed.stderr)) == (killed.returncode == 4), killed.stderr
            resume = ["--resume"]
        dump.unlink(missing_ok=True)
        done = start(
            native, job, "--workers", workers, "--servers", chooser.randint(1, 3), "--resume",
            "--seed", number, "--dump-state", dump, *memory,
        )  # fmt: skip
        assert done.returncode == 0, f"kill {number}: {done.stderr}"
        if "nothing is left to do" not in done.stderr:
            check(dump)


def test_a_damaged_checkpoint_is_refused(
    native: paths.Native, folder: Path, seed: int, killer: Path
) -> None:
    job, dump = prepare(folder), folder / "state.json"
    start(
        native, job, "--workers", 2, "--checkpoint", 0,
        LD_PRELOAD=str(killer), KILL_AT_WRITE="500",
    )  # fmt: skip
    state = folder / "chain.state"
    table = (state / "saved.toml").read_text()
    files = [
        one for one in state.rglob("*") if one.is_file() and str(one.relative_to(state)) in table
    ]
    files.append(state / "saved.toml")
    assert len([one for one in files if one.name.startswith("worker-")]) == 4
    saved = folder / "saved"
    shutil.copytree(state, saved)
    chooser = random.Random(seed)
    for file in files:
        for cut in (False, True):
            whole = file.read_bytes()
            damaged = bytearray(whole)
            if cut:
                damaged = damaged[: chooser.randrange(len(whole))]
            else:
                damaged[chooser.randrange(len(whole))] ^= 1 << chooser.randrange(8)
            file.write_bytes(damaged)
            done = start(native, job, "--workers", 2, "--resume", "--dump-state", dump)
            about = f"{file.name} {'cut' if cut else 'changed'}: {done.returncode} {done.stderr}"
            # A bit of a header may have no meaning: then the result is right.
            if done.returncode == 0:
                assert not cut, about
                check(dump)
            else:
                assert done.returncode in (2, 3) and "R12" in done.stderr, about
            shutil.rmtree(state)
            shutil.copytree(saved, state)
    done = start(native, job, "--workers", 2, "--resume", "--dump-state", dump)
    assert done.returncode == 0, done.stderr
    check(dump)


def test_a_changed_job_is_refused(native: paths.Native, folder: Path, killer: Path) -> None:
    job = prepare(folder)
    start(
        native, job, "--workers", 2, "--checkpoint", 0,
        LD_PRELOAD=str(killer), KILL_AT_WRITE="400",
    )  # fmt: skip
    for old, new, words in (
        ("ao = [3, 1, 2]", "ao = [2, 2, 2]", "(segment table ao)"),
        ("n = 3", "n = 3\nm = 1", "(int m)"),
        ('"third.sial"', '"second.sial"', "(program second.sial)"),
    ):
        job.write_text(JOB.replace(old, new))
        done = start(native, job, "--workers", 2, "--resume")
        assert done.returncode == 2, done.stderr
        assert "R04 the job has changed" in done.stderr and words in done.stderr
    job.write_text(JOB)
    done = start(native, job, "--workers", 3, "--resume")
    assert done.returncode == 2 and "the checkpoint has 2 workers" in done.stderr
    text = FIRST.replace("x += 1.0", "x += 2.0")
    code = compile_text(text, "first.sial", Options()).code
    assert code is not None
    (folder / "first.sialc").write_bytes(code)
    done = start(native, job, "--workers", 2, "--resume")
    assert done.returncode == 2 and "(program first.sial)" in done.stderr, done.stderr


def test_a_new_run_forgets_the_last_one(native: paths.Native, folder: Path, killer: Path) -> None:
    job, dump = prepare(folder), folder / "state.json"
    start(native, job, "--checkpoint", 0, LD_PRELOAD=str(killer), KILL_AT_WRITE="300")
    done = start(native, job, "--dump-state", dump)
    assert done.returncode == 0 and "is removed" in done.stderr
    check(dump)


READER = """sial reader
  predefined int n
  aoindex i = 1:n
  index r = 1:9
  predefined static p[i]
  scalar x
  do r
    do i
      x += p[i] * p[i]
    enddo i
    sip_barrier
  enddo r
  print x
endsial reader
"""


def test_a_changed_array_is_refused(native: paths.Native, folder: Path, killer: Path) -> None:
    """A static that no program has changed is not written, so the job must still have it."""
    code = compile_text(READER, "reader.sial", Options()).code
    assert code is not None
    (folder / "reader.sialc").write_bytes(code)
    job = folder / "job.toml"
    text = "sial_job = 1\nprograms = ['reader.sial']\n[ints]\nn = 1\n[segments]\nao = [2]\n"
    text += "[arrays]\np = { data = [1, 2] }\n"
    job.write_text(text)
    start(native, job, "--checkpoint", 0, LD_PRELOAD=str(killer), KILL_AT_WRITE="30")
    job.write_text(text.replace("[1, 2]", "[1, 3]"))
    done = start(native, job, "--resume")
    assert done.returncode == 3, done.stderr
    assert "R04 the job's array p has changed" in done.stderr
    job.write_text(text)
    done = start(native, job, "--resume")
    assert (done.returncode, done.stdout) == (0, "13:  x = 45.00000000000000\n"), done.stderr


def children(process: int) -> list[int]:
    found: list[int] = []
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, file.read_text().split())
    return found


def ranks_below(process: int) -> list[int]:
    """Returns the processes that execute programs: each is the only child of its guard."""
    below = children(process)
    names = [Path(f"/proc/{process}/cmdline")] if not below else []
    with contextlib.suppress(OSError):
        if names and b"/outboard-sial" in names[0].read_bytes().split(b"\0")[0]:
            return [process]
    return [rank for child in below for rank in ranks_below(child)]


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_lost_ranks_over_mpi(native: paths.Native, folder: Path, seed: int, mpi: str) -> None:
    """Kills or stops a rank at a random time, and goes on with other numbers of servers."""
    needs(f"mpiexec.{mpi}")
    job, dump, chooser = prepare(folder), folder / "state", random.Random(seed)
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root))
    command = [str(ROOT / "outboard"), "sial", "run", str(job), "--mpi", mpi, "--checkpoint", "0"]
    lost = 0
    for number in range(max(3, KILLS // 10)):
        shutil.rmtree(folder / "chain.state", ignore_errors=True)
        kind = signal.SIGSTOP if number == 2 else signal.SIGKILL
        options = ["-n", "4", "--servers", "2", "--liveness", "2", "--server-memory", "72"]
        with subprocess.Popen(
            [*command, *options], env=environment, stderr=subprocess.PIPE, text=True
        ) as running:
            last = time.monotonic() + 30
            while not (folder / "chain.state" / "saved.toml").exists():
                assert running.poll() is None and time.monotonic() < last
                time.sleep(0.01)
            ranks = ranks_below(running.pid)
            time.sleep(chooser.random() * 0.4)
            if running.poll() is None and ranks:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chooser.choice(ranks), kind)
            errors = running.communicate(timeout=60)[1]
        print(f"round {number}: {kind.name}, status {running.returncode}, {len(ranks)} ranks")
        if running.returncode != 0:
            lost += 1
            assert running.returncode == 4, errors
            assert len(re.findall(LOST, errors)) == 1, errors
        gone = time.monotonic() + 10
        while any(map(is_running, ranks)):
            assert time.monotonic() < gone, "ranks are left"
            time.sleep(0.05)
        done = subprocess.run(
            [*command, "--resume", "-n", "3", "--workers", "2", "--dump-state", str(dump)],
            env=environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if "nothing is left to do" not in done.stderr:
            for worker in range(2):
                check(folder / f"state.{worker}")
    print(f"{lost} runs lost a rank")
