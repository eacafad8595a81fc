"""Runs programs over simulated ranks and over MPI. The oracle of random programs is NumPy.

OUTBOARD_SIAL_PROGRAMS sets the number of random programs per MPI."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_programs import RandomProgram, random_program

from conftest import ROOT, clean_environment
from needs import needs
from outboard import paths
from outboard.commands._sial_explain import PLACEMENTS
from outboard.sial.compiler import Options, compile_text

pytestmark = pytest.mark.end_to_end
SCHEDULES = 6  # orders of messages per random program
PREFETCH = ("off", "1", "auto", "8", "2", "auto")  # one per order
PROGRAMS = 40
MPI_PROGRAMS = int(os.environ.get("OUTBOARD_SIAL_PROGRAMS", "3"))
JOB = "sial_job = 1\nprograms = ['p.sial']\n[ints]\nn = 3\n[segments]\nao = [2, 3, 1]\n"
HEAD = """sial p
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  distributed d[i,j]
  distributed e[i,j]
  temp t[i,j]
  scalar x
  scalar rank
  int k
  special get_my_rank w
  execute get_my_rank rank
"""


@pytest.fixture
def seed() -> int:
    chosen = int(os.environ.get("OUTBOARD_TEST_SEED", random.SystemRandom().randrange(1, 1 << 30)))
    print(f"seed {chosen} (repeat with OUTBOARD_TEST_SEED={chosen})")
    return chosen


def prepare(folder: Path, source: str, job: str = JOB, level: int = 2) -> Path:
    result = compile_text(source, "p.sial", Options(level=level))
    assert result.code is not None, result.render()
    (folder / "p.sial").write_text(source)
    (folder / "p.sialc").write_bytes(result.code)
    (folder / "p.toml").write_text(job)
    return folder / "p.toml"


def simulate(native: paths.Native, job: Path, *options: object) -> subprocess.CompletedProcess[str]:
    program = native.daemon.parent / "outboard-sial"
    command = [str(program), str(job), *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def check_state(program: RandomProgram, states: list[dict[str, Any]]) -> None:
    for state in states:
        for name, expected in program.expected.items():
            data = state["statics"][name]
            got = np.array(data["data"]).reshape(data["shape"], order="F")
            np.testing.assert_array_equal(got, expected, f"{name}, worker {state['worker']}")
        for name, value in program.scalars.items():
            assert state["scalars"][name] == value, name


def test_random_programs_have_numpys_results(
    native: paths.Native, tmp_path: Path, seed: int
) -> None:
    for number in range(seed, seed + PROGRAMS):
        program = random_program(number)
        dump = tmp_path / "state.json"
        for order in range(SCHEDULES):
            level = (2, 0, 1)[order % 3]
            job = prepare(tmp_path, program.source, program.job("p.sial"), level)
            workers, servers = 1 + (number + order) % 8, 1 + (number + 3 * order) % 4
            done = simulate(
                native, job, "--workers", workers, "--servers", servers,
                "--seed", number * SCHEDULES + order, "--dump-state", dump,
                "--prefetch", PREFETCH[order], "--placement", PLACEMENTS[(number + order) % 4],
            )  # fmt: skip
            about = (
                f"program {number}, order {order}, -O{level}, {workers} workers, {servers} servers"
            )
            assert done.returncode == 0, f"{about}: {done.stderr}"
            print(about)
            check_state(program, json.loads(dump.read_text()))


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_random_programs_over_mpi(
    native: paths.Native, tmp_path: Path, seed: int, mpi: str
) -> None:
    needs(f"mpiexec.{mpi}")
    for number in range(seed, seed + MPI_PROGRAMS):
        program = random_program(number)
        level = (2, 0, 1)[number % 3]
        job = prepare(tmp_path, program.source, program.job("p.sial"), level)
        ranks = 2 + number % 4
        done = run_job(
            native, job, "-n", ranks, "--mpi", mpi, "--dump-state", tmp_path / "state",
            "--prefetch", PREFETCH[number % 5], "--placement", PLACEMENTS[number % 4],
        )  # fmt: skip
        about = f"program {number}, -O{level}, {ranks} ranks"
        assert done.returncode == 0, f"{about}: {done.stderr}"
        print(about)
        workers = ranks - max(1, ranks // 3)
        for worker in range(workers):
            check_state(program, json.loads((tmp_path / f"state.{worker}").read_text()))


SPILLED = 12  # random programs with servers that have memory for one block


def test_random_programs_with_blocks_on_disk(
    native: paths.Native, tmp_path: Path, seed: int
) -> None:
    for number in range(seed, seed + SPILLED):
        program = random_program(number)
        job = prepare(tmp_path, program.source, program.job("p.sial"))
        dump = tmp_path / "state.json"
        memory = max(program.segments) ** 2 * 8
        for order in range(3):
            done = simulate(
                native, job, "--workers", 1 + (number + order) % 4, "--servers", 1 + order % 2,
                "--seed", order, "--server-memory", memory, "--dump-state", dump,
            )  # fmt: skip
            assert done.returncode == 0, f"program {number}, order {order}: {done.stderr}"
            check_state(program, json.loads(dump.read_text()))
        assert not (tmp_path / "p.state" / "spill").exists()


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_blocks_on_disk_over_mpi(native: paths.Native, tmp_path: Path, seed: int, mpi: str) -> None:
    needs(f"mpiexec.{mpi}")
    program = random_program(seed)
    job = prepare(tmp_path, program.source, program.job("p.sial"))
    memory = max(program.segments) ** 2 * 8
    done = run_job(
        native, job, "-n", 4, "--mpi", mpi, "--servers", 2, "--server-memory", memory,
        "--spill", tmp_path / "disk", "--dump-state", tmp_path / "state",
    )  # fmt: skip
    assert done.returncode == 0, f"program {seed}: {done.stderr}"
    for worker in range(2):
        check_state(program, json.loads((tmp_path / f"state.{worker}").read_text()))


# The limit of file sizes is too low for the blocks, or the file system is.
FULL = {
    "limit": (["sh", "-c", 'ulimit -f 8 && exec "$@"', "sh"], "File too large"),
    "file system": (
        ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=8k none "$0" && exec "$@"'],
        "No space left on device",
    ),
}


@pytest.mark.parametrize("case", FULL)
def test_a_full_disk_is_an_error(native: paths.Native, tmp_path: Path, case: str) -> None:
    start, words = FULL[case]
    (tmp_path / "disk").mkdir()
    if case == "file system":
        start = [*start, str(tmp_path / "disk")]
        if subprocess.run([*start, "true"], capture_output=True, check=False).returncode != 0:
            pytest.skip("this system lets nobody mount a file system")
    job_text = JOB.replace("[2, 3, 1]", "[20, 20, 20]") + "[run]\nspill = 'disk'\n"
    body = loops("t[i,j] = 1.0", "put d[i,j] = t[i,j]") + "\n  sip_barrier\nendsial p\n"
    job = prepare(tmp_path, HEAD + body, job_text)
    program = native.daemon.parent / "outboard-sial"
    command = [*start, str(program), str(job), "--server-memory", "4K"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done.stderr
    assert f"p:16: error R11 {tmp_path}/disk/server1-array" in done.stderr
    assert words in done.stderr and "(d[" in done.stderr
    assert list((tmp_path / "disk").iterdir()) == []


def open_files(pid: int) -> list[str]:
    """Returns the names of what the process has open. Some may be closed meanwhile."""
    names = []
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(one))
    return names


def spill_files(pid: int, disk: Path) -> int:
    return sum(
        name.startswith(f"{disk}/") and name.endswith(" (deleted)") for name in open_files(pid)
    )


def test_a_killed_run_leaves_no_blocks(native: paths.Native, tmp_path: Path) -> None:
    statements = ("t[i,j] = 1.0", "put d[i,j] = t[i,j]", "put e[i,j] = t[i,j]")
    rounds = "  index r = 1:10000\n  index s = 1:10000\n"
    head = HEAD.replace("  special", f"{rounds}  special")
    body = f"  do r\n  do s\n{loops(*statements)}\n  enddo s\n  enddo r\nendsial p\n"
    disk = tmp_path / "disk"
    disk.mkdir()
    program = native.daemon.parent / "outboard-sial"
    command = [str(program), str(prepare(tmp_path, head + body)), "--server-memory", "128"]
    command += ["--liveness", "0"]  # one process
    with subprocess.Popen([*command, "--spill", str(disk)]) as running:
        try:
            last = time.monotonic() + 30
            while spill_files(running.pid, disk) < 2:  # those of both arrays
                assert running.poll() is None and time.monotonic() < last
        finally:
            running.kill()  # it would run for hours, and a test that fails would wait for it
    assert list(disk.iterdir()) == []


def run_job(native: paths.Native, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root))
    command = [str(ROOT / "outboard"), "sial", "run", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_an_error_ends_all_ranks_of_mpi(native: paths.Native, tmp_path: Path, mpi: str) -> None:
    needs(f"mpiexec.{mpi}")
    for body, words in (
        ("  x = 1.0 / (rank - 1.0)\n  sip_barrier", "p:13: error R07"),
        (UNEQUAL, "p:14: error R09"),
    ):
        job = prepare(tmp_path, f"{HEAD}{body}\nendsial p\n")
        done = run_job(native, job, "-n", 4, "--mpi", mpi)
        assert done.returncode == 3
        assert done.stderr.count(words) == 1, done.stderr


def loops(*statements: str) -> str:
    inner = "".join(f"\n      {one}" for one in statements)
    return f"  do i\n    do j{inner}\n    enddo j\n  enddo i"


UNEQUAL = "  if rank == 0.0\n    sip_barrier\n  else\n    collective x += 1.0\n  endif"
ERRORS = {  # statements, code, line
    "never put": (loops("get d[i,j]", "t[i,j] = d[i,j]"), "R01", 16),
    "never put nor read": (loops("get d[i,j]") + "\n  sip_barrier", "R01", 15),
    "temp without value": (loops("t[i,j] += 1.0"), "R03", 15),
    "two workers put": (loops("t[i,j] = rank", "put d[i,j] = t[i,j]"), "R02", 16),
    "division": ("  k = 0\n  k = 3 / k", "R07", 14),
    "square root": ("  x = sqrt (rank - 9.0)", "R07", 13),
    "unequal statements": (UNEQUAL, "R09", 14),
    "unequal values": ("  x = rank\n  assert_same x", "R13", 14),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_name_code_and_line(native: paths.Native, tmp_path: Path, case: str) -> None:
    body, code, line = ERRORS[case]
    job = prepare(tmp_path, f"{HEAD}{body}\nendsial p\n")
    for order in range(5):
        done = simulate(native, job, "--workers", 2, "--seed", order, "--prefetch", PREFETCH[order])
        assert done.returncode == 3, done.stderr
        assert f"p:{line}: error {code}" in done.stderr, done.stderr


READS = {  # a loop, gets that it executes, gets that nothing foresees
    "nest": (loops("get d[i,j]", "t[i,j] = d[i,j]"), 9, 1),
    "condition on indices": (loops("if i < j", "get d[i,j]", "t[i,j] = d[i,j]", "endif"), 3, 1),
    # Behind a condition that the loop changes, the look-ahead only guesses.
    "condition that changes": (
        loops("k += 1", "if k > 3", "get d[i,j]", "t[i,j] = d[i,j]", "endif"), 6, 6,
    ),
    "barrier inside": (
        "  do i\n  do j\n  get d[i,j]\n  t[i,j] = d[i,j]\n  enddo j\n  sip_barrier\n  enddo i",
        9, 3,
    ),
    "pardo": (
        "  pardo i, j\n  where i != j\n  get d[i,j]\n  t[i,j] = d[i,j]\n  endpardo i, j", 6, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", READS)
@pytest.mark.parametrize("depth", ["1", "2", "7", "auto"])
def test_the_look_ahead_asks_for_what_is_needed(
    native: paths.Native, tmp_path: Path, case: str, depth: str
) -> None:
    reads, needed, on_demand = READS[case]
    makes = "  pardo i, j\n    put d[i,j] = 2.0\n  endpardo i, j\n  sip_barrier\n"
    job = prepare(tmp_path, f"{HEAD}{makes}{reads}\nendsial p\n")
    report = tmp_path / "report.json"
    done = simulate(native, job, "--workers", 1, "--prefetch", depth, "--report", report)
    assert done.returncode == 0, done.stderr
    (get,) = [line["get"] for line in json.loads(report.read_text())[0]["lines"] if "get" in line]
    assert get["accesses"] == get["first_uses"] == needed
    if case == "condition that changes":
        # Blocks on demand, and guesses that were right, are those that the program needs.
        assert get["requests"] + get["prefetched"] - get["unused"] == needed
        return
    assert (get["requests"], get["prefetched"]) == (on_demand, needed - on_demand)
    assert get["unused"] == 0


def test_report_adds_up_all_workers(native: paths.Native, tmp_path: Path) -> None:
    source = (ROOT / "examples" / "sial" / "product.sial").read_text().splitlines()
    lines = [one.split("#")[0] for one in source]
    start = lines.index("  pardo i, j")
    makes = [
        "  do k", "    pardo i", "      put a[i,k] = 2.0", "    endpardo i", "    pardo j",
        "      put b[k,j] = 3.0", "    endpardo j", "  enddo k", "  sip_barrier",
    ]  # fmt: skip
    job = JOB.replace("n = 3", "norb = 3")
    prepare(tmp_path, "\n".join([*lines[:start], *makes, *lines[start:], ""]), job)
    report = tmp_path / "report.json"
    done = run_job(native, tmp_path / "p.toml", "-n", 4, "--report", f"json:{report}")
    assert done.returncode == 0, done.stderr
    (program,) = json.loads(report.read_text())
    gets = [line["get"] for line in program["lines"] if "get" in line]
    assert [get["accesses"] for get in gets] == [27, 27]
    assert program["workers"] == 3
    shown = run_job(native, tmp_path / "p.toml", "-n", 4, "--report")
    assert "27" in shown.stderr and "waited at barriers" in shown.stderr


def test_races_between_iterations_of_two_pardos(native: paths.Native, tmp_path: Path) -> None:
    """Iterations of two pardos differ even if their numbers are equal."""
    body = """
  pardo i, j
    t[i,j] = 1.0
    put d[i,j] = t[i,j]
  endpardo i, j
  {}
  pardo i, j
    get d[i,j]
    x += d[i,j] * d[i,j]
  endpardo i, j
"""
    for between, status in (("sip_barrier", 0), ("", 3)):
        job = prepare(tmp_path, f"{HEAD}{body.format(between)}\nendsial p\n")
        done = simulate(native, job, "--workers", 1, "--races", "iteration")
        assert done.returncode == status, done.stderr
        assert ("error R02" in done.stderr) == (status == 3)
        # There is one worker only, so the message does not set it against itself.
        assert ("while another iteration of it accesses it at p:" in done.stderr) == (status == 3)


def test_a_block_that_several_iterations_put(native: paths.Native, tmp_path: Path) -> None:
    body = "  pardo i, j\n    put e[i,i] = 1.0\n  endpardo i, j\nendsial p\n"
    done = simulate(native, prepare(tmp_path, HEAD + body), "--races", "iteration")
    assert done.returncode == 3
    assert "(both execute one statement); let one iteration put each block" in done.stderr


def test_stop_has_status_3(native: paths.Native, tmp_path: Path) -> None:
    job = prepare(tmp_path, HEAD + '  print "before"\n  stop\n  print "after"\nendsial p\n')
    done = simulate(native, job, "--workers", 3)
    assert (done.returncode, done.stdout) == (3, "before\n")


def test_what_is_printed(native: paths.Native, tmp_path: Path) -> None:
    lines = ["k = 4", "x = 2.5", "print k", "print x", "print k + 1", 'println ""', "print x * 2.0"]
    body = "".join(f"  {one}\n" for one in lines)
    job = prepare(tmp_path, HEAD + body + "endsial p\n")
    done = simulate(native, job, "--workers", 2)
    assert done.stdout.splitlines() == [
        "15:  k = 4", "16:  x = 2.50000000000000", "5", "", "5.00000000000000",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["small", "listing_a1"])
def test_examples(native: paths.Native, tmp_path: Path, name: str) -> None:
    shutil.copy(ROOT / "examples" / "sial" / f"{name}.sial", tmp_path)
    (tmp_path / "job.toml").write_text(
        f"sial_job = 1\nprograms = ['{name}.sial']\n[ints]\nnorb = 3\n[segments]\nao = [4, 4, 3]\n"
    )
    done = run_job(native, tmp_path / "job.toml")
    assert done.returncode == 0, done.stderr
    expected = {"small": "norm = 131424", "listing_a1": "starting loop"}
    assert expected[name] in done.stdout


def chain(folder: Path, *programs: str) -> Path:
    for name in programs:
        shutil.copy(ROOT / "examples" / "sial" / name, folder)
    job = folder / f"{programs[0]}.toml"
    job.write_text(
        f"sial_job = 1\nname = 'chain'\nprograms = {list(programs)}\n"
        "[ints]\nnorb = 3\n[segments]\nao = [4, 1, 3]\n"
    )
    return job


def test_programs_pass_on_what_they_save(native: paths.Native, tmp_path: Path) -> None:
    both = run_job(native, chain(tmp_path, "save.sial", "load.sial"))
    assert both.returncode == 0, both.stderr
    assert both.stdout.split() == ["26:", "again", "=", "0.00000000000000", *"29: part =".split(),
                                   "0.00000000000000"]  # fmt: skip
    later = chain(tmp_path, "load.sial")
    for workers, servers in ((1, 3), (4, 1), (3, 2)):
        again = simulate(native, later, "--workers", workers, "--servers", servers, "--seed", 5)
        assert (again.returncode, again.stdout) == (0, both.stdout), again.stderr


def test_blocks_on_disk_are_saved_and_restored(native: paths.Native, tmp_path: Path) -> None:
    job = chain(tmp_path, "save.sial", "load.sial")
    whole = run_job(native, job)
    assert whole.returncode == 0, whole.stderr
    for workers, servers in ((1, 1), (2, 3)):
        small = simulate(
            native, job, "--workers", workers, "--servers", servers, "--server-memory", 128,
        )  # fmt: skip
        assert (small.returncode, small.stdout) == (0, whole.stdout), small.stderr


def test_saved_objects_that_do_not_fit(native: paths.Native, tmp_path: Path) -> None:
    assert run_job(native, chain(tmp_path, "save.sial")).returncode == 0
    job = chain(tmp_path, "load.sial")
    text = job.read_text()
    run_job(native, job)
    for wrong, words in (
        (text.replace("4, 1, 3", "4, 2, 3"), "another kind, shape or segments"),
        (text.replace("'chain'", "'other'"), 'nothing was saved as "array"'),
    ):
        job.write_text(wrong)
        done = simulate(native, job)
        assert done.returncode == 3
        assert "error R12" in done.stderr and words in done.stderr


def test_damaged_blocks_are_not_handed_out(native: paths.Native, tmp_path: Path, seed: int) -> None:
    assert run_job(native, chain(tmp_path, "save.sial")).returncode == 0
    job = chain(tmp_path, "load.sial")
    assert run_job(native, job).returncode == 0
    (file,) = (tmp_path / "chain.state").rglob("*.blocks")
    whole = file.read_bytes()
    chooser = random.Random(seed)
    for _ in range(20):
        damaged = bytearray(whole)
        damaged[chooser.randrange(len(damaged))] ^= 1 << chooser.randrange(8)
        file.write_bytes(damaged)
        done = simulate(native, job, "--workers", 2)
        assert done.returncode == 3 and "error R12" in done.stderr, done.stderr
        file.write_bytes(whole[: chooser.randrange(len(whole))])
        done = simulate(native, job, "--workers", 2)
        assert done.returncode == 3 and "error R12" in done.stderr, done.stderr


@pytest.mark.parametrize("ranks", [1, 4])
def test_the_tutorials_job(native: paths.Native, tmp_path: Path, ranks: int) -> None:
    """docs/sial/tutorial.md shows the output. The number is NumPy's."""
    if ranks > 1 and not shutil.which("mpiexec.mpich"):  # either will do
        needs("mpiexec.openmpi")
    shutil.copytree(ROOT / "examples" / "sial", tmp_path / "sial")
    done = run_job(native, tmp_path / "sial" / "job.toml", "-n", ranks)
    assert done.returncode == 0, done.stderr
    segment = np.repeat([1.0, 2.0, 3.0], [20, 20, 13])
    a = segment[:, None] + segment[None, :]
    assert done.stdout == f"30:  total = {np.sum((a @ a) ** 2):.14f}\n"
    assert done.stdout.strip() in (ROOT / "docs" / "sial" / "tutorial.md").read_text()


def test_predefined_statics_keep_their_changes(native: paths.Native, tmp_path: Path) -> None:
    source = (
        "sial p\n  predefined int n\n  aoindex i = 1:n\n  predefined static v[i]\n"
        "  do i\n    v[i] *= 3.0\n  enddo i\nendsial p\n"
    )
    job = JOB.replace("['p.sial']", "['p.sial', 'p.sial']")
    job += "[arrays]\nv = { data = [1, 2, 3, 4, 5, 6] }\n"
    dump = tmp_path / "state.json"
    done = simulate(native, prepare(tmp_path, source, job), "--workers", 2, "--dump-state", dump)
    assert done.returncode == 0, done.stderr
    first, _, second, _ = (state["statics"]["v"]["data"] for state in json.loads(dump.read_text()))
    assert first == [3.0 * k for k in range(1, 7)]
    assert second == [9.0 * k for k in range(1, 7)]


def test_a_pardo_that_workers_leave_early(native: paths.Native, tmp_path: Path) -> None:
    """The iterations of the pardo behind it are still divided: each one has one worker."""
    body = """
  pardo i, j
    if rank == 0.0
      exit
    endif
    k += 1
  endpardo i, j
  pardo i, j
    t[i,j] = 1.0
    put d[i,j] += t[i,j]
  endpardo i, j
  sip_barrier
  do i
    do j
      get d[i,j]
      t[i,j] = d[i,j]
      x += t[i,j] * t[i,j]
    enddo j
  enddo i
"""
    job = prepare(tmp_path, HEAD + body + "endsial p\n")
    dump = tmp_path / "state.json"
    for workers in (1, 2, 3, 5):
        done = simulate(native, job, "--workers", workers, "--dump-state", dump)
        assert done.returncode == 0, done.stderr
        for state in json.loads(dump.read_text()):
            assert state["scalars"]["x"] == 36.0, f"{workers} workers"


def test_run_compiles_what_has_changed(native: paths.Native, tmp_path: Path) -> None:
    """A file that the program imports counts, and the time of a file does not."""
    (tmp_path / "tools.sial").write_text("sial tools\n  int k = 4\nendsial tools\n")
    source = 'import "tools.sial"\nsial p\n  print k\nendsial p\n'
    job = prepare(tmp_path, 'sial p\n  print "other"\nendsial p\n', JOB)
    (tmp_path / "p.sial").write_text(source)
    assert run_job(native, job).stdout == "3:  k = 4\n"
    made = (tmp_path / "p.sialc").stat().st_mtime_ns
    os.utime(tmp_path / "p.sial")
    assert run_job(native, job).stdout == "3:  k = 4\n"
    assert (tmp_path / "p.sialc").stat().st_mtime_ns == made
    (tmp_path / "tools.sial").write_text("sial tools\n  int k = 5\nendsial tools\n")
    assert run_job(native, job).stdout == "3:  k = 5\n"


def test_report_counts_a_statement_once_though_it_waited(
    native: paths.Native, tmp_path: Path
) -> None:
    makes = "  pardo i, j\n    put d[i,j] = 2.0\n  endpardo i, j\n  sip_barrier\n"
    reads = "  pardo i, j\n    get d[i,j]\n    x += d[i,j] * d[i,j]\n  endpardo i, j\n"
    head = HEAD.rstrip("\n") + "\n" + ("" if "scalar x" in HEAD else "  scalar x\n")
    job = prepare(tmp_path, f"{head}{makes}{reads}endsial p\n")
    report = tmp_path / "report.json"
    done = simulate(native, job, "--workers", 1, "--prefetch", "off", "--report", report)
    assert done.returncode == 0, done.stderr
    source = f"{head}{makes}{reads}".splitlines()
    lines = {line["line"]: line for line in json.loads(report.read_text())[0]["lines"]}
    get = lines[1 + source.index("    get d[i,j]")]["get"]
    sums = lines[1 + source.index("    x += d[i,j] * d[i,j]")]
    assert sums["executions"] == get["first_uses"] == get["first_waits"] == 9
    assert sums["wait_s"] > 0
    waited = get["demand_wait_s"] + get["late_wait_s"]
    assert 0 < get["first_wait_s"] < waited
