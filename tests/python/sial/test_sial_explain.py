"""Compares what `outboard sial explain` says with what runs do."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from random_programs import random_program

from conftest import ROOT, clean_environment
from needs import needs
from outboard import paths, sial_explain
from outboard.cli import outboard
from outboard.sial.compiler import Options, compile_text
from outboard.sial.explain import job as jobs
from outboard.sial_jobs import compile_sources

pytestmark = pytest.mark.end_to_end
EXAMPLES = ROOT / "examples" / "sial"
PROGRAMS = 30
JOB = "sial_job = 1\nprograms = ['p.sial']\n[ints]\nn = 4\n[segments]\nao = [7, 5, 1, 6]\n"
HEAD = """sial p
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  aoindex k = 1:n
  distributed d[i,j]
  distributed e[i,j]
  temp t[i,j]
  temp u[i,j]
  scalar x
  int m
"""


@pytest.fixture
def seed() -> int:
    chosen = int(os.environ.get("OUTBOARD_TEST_SEED", random.SystemRandom().randrange(1, 1 << 30)))
    print(f"seed {chosen} (repeat with OUTBOARD_TEST_SEED={chosen})")
    return chosen


def prepare(folder: Path, source: str, job: str = JOB) -> Path:
    result = compile_text(source, str(folder / "p.sial"), Options())
    assert result.code is not None, result.render()
    (folder / "p.sial").write_text(source)
    (folder / "p.sialc").write_bytes(result.code)
    (folder / "p.toml").write_text(job)
    return folder / "p.toml"


def explain(job: Path, workers: int = 1, servers: int = 1, **options: Any) -> list[dict[str, Any]]:
    read = jobs.read(job)
    given = {"workers": workers, "servers": servers, "schedule": "balanced", **options}
    found = sial_explain.explain(read, jobs.options_of(read, 1, given), job.parent / "no.state")
    programs: list[dict[str, Any]] = json.loads(sial_explain.to_json(found, None))
    return programs


def run(native: paths.Native, job: Path, workers: int, servers: int) -> list[dict[str, Any]]:
    """Returns the report of a run in one process. Its servers have a limit, so that blocks that
    workers keep do not count as theirs. No pardo changes its schedule because it is uneven."""
    report = job.parent / "report.json"
    command = [native.daemon.parent / "outboard-sial", job, "--workers", workers]
    command += ["--servers", servers, "--server-memory", "1G", "--report", report]
    command += ["--schedule", "balanced"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    programs: list[dict[str, Any]] = json.loads(report.read_text())
    return programs


def executions(program: dict[str, Any]) -> dict[tuple[str, int], int]:
    """Returns how often each line is executed. The first line stands for the end of the program,
    which only the report counts."""
    return {
        (Path(line["file"]).name, line["line"]): line["executions"]
        for line in program["lines"]
        if line.get("executions")
    }


def fetched(report: dict[str, Any]) -> tuple[int, int]:
    """Returns the number and the bytes of the blocks that workers asked for."""
    gets = [line["get"] for line in report["lines"] if "get" in line]
    requests = sum(get["requests"] + get["prefetched"] for get in gets)
    return requests, sum(get["bytes"] for get in gets)


def expected(program: dict[str, Any]) -> tuple[int, int]:
    lines = program["lines"]
    return sum(line["requests"] for line in lines), sum(line["received"] for line in lines)


def check_memory(found: dict[str, Any], report: dict[str, Any], most: float = 1.2) -> None:
    """Checks memory within 20 %, as docs/sial/explain.md promises."""
    own, real = found["memory"], report["memory"]
    for one, other in zip(own["workers"], real["workers"], strict=True):
        for key in ("blocks", "fetched"):
            assert other[key] <= most * one[key] and one[key] <= most * other[key], key
    for one, other in zip(own["servers"], real["servers"], strict=True):
        assert other <= most * one and one <= most * other


def check_counts(found: dict[str, Any], report: dict[str, Any]) -> None:
    own, real = executions(found), executions(report)
    first = {place for place in real if place not in own}
    assert {line: count for line, count in real.items() if line not in first} == own
    assert len(first) <= 1, "the end of the program"
    assert expected(found) == fetched(report)


def test_random_programs_are_counted_exactly(
    native: paths.Native, tmp_path: Path, seed: int
) -> None:
    exact = 0
    for number in range(seed, seed + PROGRAMS):
        program = random_program(number)
        job = prepare(tmp_path, program.source, program.job("p.sial"))
        workers, servers = 1 + number % 6, 1 + number % 4
        print(f"program {number}, {workers} workers, {servers} servers")
        (found,), (report,) = explain(job, workers, servers), run(native, job, workers, servers)
        own, real = found["memory"], report["memory"]
        # While a server replaces a block, and while it sends one, it has one more.
        block = 8 * max(program.segments) ** 2
        if found["unknown"]:
            # Conditions on the results of super-instructions: explain counts both branches.
            counted = executions(found)
            assert all(counted.get(k, 1) >= count for k, count in executions(report).items())
            assert expected(found) >= fetched(report)
            assert all(a >= b for a, b in zip(own["servers"], real["servers"], strict=True)) or all(
                b <= a + 2 * block for a, b in zip(own["servers"], real["servers"], strict=True)
            )
            continue
        exact += 1
        check_counts(found, report)
        assert own["workers"] == real["workers"]
        for one, other in zip(own["servers"], real["servers"], strict=True):
            assert one <= other <= one + 2 * block
    assert exact >= PROGRAMS // 4


CHAIN = "sial_job = 1\nprograms = ['save.sial', 'load.sial']\n[ints]\nnorb = 5\n"


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", ["job", "chain", "listing"])
def test_examples_are_counted_exactly(
    native: paths.Native, tmp_path: Path, name: str, workers: int
) -> None:
    folder = tmp_path / "sial"
    shutil.copytree(EXAMPLES, folder)
    segments = "[segments]\nao = [20, 20, 13, 7, 30]\n"
    (folder / "chain.toml").write_text(CHAIN + segments)
    listing = CHAIN.replace("'save.sial', 'load.sial'", "'listing_a1.sial'")
    (folder / "listing.toml").write_text(listing + segments)
    job = folder / f"{name}.toml"
    compile_sources(job, ())
    both = zip(explain(job, workers, 2), run(native, job, workers, 2), strict=True)
    for found, report in both:
        assert found["unknown"] == []
        check_counts(found, report)
        assert found["memory"]["workers"] == report["memory"]["workers"]
        check_memory(found, report, 1.05)


def test_chemistry_is_counted_within_a_fifth(native: paths.Native, tmp_path: Path) -> None:
    make = [sys.executable, str(EXAMPLES / "make_molecule.py"), "h2o", "sto-3g", "job"]
    subprocess.run(
        [*make, "--segment", "2", "--integrals", "own"], cwd=tmp_path, check=True, timeout=60,
        env=clean_environment(), capture_output=True,
    )  # fmt: skip
    job = tmp_path / "job" / "job.toml"
    compile_sources(job, ())
    report = run(native, job, 3, 2)
    found = explain(job, 3, 2, rounds=12)
    for one, other in zip(found, report, strict=True):
        check_memory(one, other)
        assert one["unknown"] if one["program"] != "mp2" else not one["unknown"]
    check_counts(found[1], report[1])  # mp2 has no loop that converges
    # With the numbers of iterations that the run took, all counts are those of the run.
    for at, program in ((0, "rhf.sial"), (2, "ccsd.sial")):
        source = [line.strip() for line in (job.parent / program).read_text().splitlines()]
        behind = source.index("do iteration") + 2
        times = executions(report[at])[program, behind]
        again = explain(job, 3, 2, rounds=times // 3)[at]
        assert expected(again) == fetched(report[at])


PATTERNS = {
    "locals": """  local l[i,j]
  pardo i
    allocate l[i,*]
    do j
      l[i,j] += 1.0
      put d[i,j] = l[i,j]
    enddo j
    deallocate l[i,*]
  endpardo i
  allocate l[*,*]
  do i
    do j
      t[i,j] = 2.0
      l[i,j] += t[i,j]
    enddo j
  enddo i
  deallocate l
""",
    "locals that stay": """  local l[i,j]
  pardo i, j
    where i <= j
    allocate l[i,j]
  endpardo i, j
""",
    "regions": """  contiguous local c[i,j]
  do i
    allocate contiguous c[1:n, i:i]
    c[1:n, i:i] = 3.0
    do j
      t[j,i] = c[j:j, i:i]
    enddo j
    deallocate contiguous c[1:n, i:i]
  enddo i
""",
    "subindices": """  subindex ii of i
  subindex jj of j
  temp part[ii,jj]
  pardo i, j
    t[i,j] = 1.0
    do ii in i
      do jj in j
        part[ii,jj] = t[ii,jj]
        part[ii,jj] *= 2.0
        t[ii,jj] = part[ii,jj]
      enddo jj in j
    enddo ii in i
    put d[i,j] = t[i,j]
  endpardo i, j
""",
    "temps of outer loops": """  do i
    do j
      t[i,j] = 1.0
      do k
        u[k,j] = 2.0
        t[i,j] += u[k,j] * u[k,j]
      enddo k
      u[i,j] = t[i,j]
    enddo j
  enddo i
""".replace("u[k,j] * u[k,j]", "u[i,j]").replace("        t[i,j] += u[i,j]\n", ""),
    "conditions": """  pardo i, j
    where i + j != 4
    if i < j
      put d[i,j] = 1.0
    else
      m = 2 * i
      if m == 2 * j
        cycle
      endif
      put d[i,j] = 2.0
    endif
    t[i,j] = 3.0
  endpardo i, j
  sip_barrier
  do i
    do j
      if j > 2
        exit
      endif
      x += 1.0
    enddo j
  enddo i
""",
    "rounds": """  index round = 1:70
  pardo i, j
    put d[i,j] = 1.0
  endpardo i, j
  sip_barrier
  do round
    pardo i, j
      get d[i,j]
      t[i,j] = 2.0 * d[i,j]
      put e[i,j] = t[i,j]
    endpardo i, j
    sip_barrier
    do i
      do j
        get e[i,j]
        x += e[i,j] * e[i,j]
      enddo j
    enddo i
    sip_barrier
  enddo round
""",
    "sections": """  section
    pardo i
      put d[i,i] = 1.0
    endpardo i
    pardo j "static"
      put e[j,j] = 2.0
    endpardo j
  endsection
  pardo k
    get d[k,k]
    get e[k,k]
    u[k,k] = d[k,k] + e[k,k]
  endpardo k
  sip_barrier
  delete d
  pardo i, j
    put d[i,j] = 1.0
  endpardo i, j
""",
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("workers", [1, 3])
def test_patterns_are_counted_exactly(
    native: paths.Native, tmp_path: Path, pattern: str, workers: int
) -> None:
    declarations = PATTERNS[pattern].splitlines(keepends=True)
    job = prepare(tmp_path, f"{HEAD}{''.join(declarations)}endsial p\n")
    (found,), (report,) = explain(job, workers, 2), run(native, job, workers, 2)
    check_counts(found, report)
    assert found["memory"]["workers"] == report["memory"]["workers"]
    block = 8 * 7 * 7
    for one, other in zip(found["memory"]["servers"], report["memory"]["servers"], strict=True):
        assert one <= other <= one + 2 * block
    told = [note.partition(": ")[2] for note in found["unknown"]]
    if pattern == "rounds":
        assert told == [
            "the first 32 of 70 iterations were followed; the others are counted like the last of "
            "these"
        ]
    else:
        assert told == []


def test_operations_are_those_of_the_matrices(tmp_path: Path) -> None:
    body = """  pardo i, j
    where i <= j
    t[i,j] = 0.0
    do k
      get d[i,k]
      get d[k,j]
      t[i,j] += d[i,k] * d[k,j]
    enddo k
    t[i,j] += 2.0 * t[i,j]
    x += t[i,j] * t[i,j]
    put e[i,j] = t[i,j]
  endpardo i, j
"""
    job = prepare(tmp_path, f"{HEAD}{body}endsial p\n")
    (found,) = explain(job, 2, 1)
    extents = [7, 5, 1, 6]
    pairs = [(p, q) for p in range(4) for q in range(4) if p <= q]
    upper = sum(extents[p] * extents[q] for p, q in pairs)
    whole = sum(extents)
    flops = {line["line"]: line["flops"] for line in found["lines"] if line["flops"]}
    first = HEAD.count("\n")
    assert flops == {first + 7: 2 * upper * whole, first + 9: 2 * upper, first + 10: 2 * upper}
    assert sum(found["worker_flops"]) == 2 * upper * (whole + 2)
    (sent,) = [line["sent"] for line in found["lines"] if line["sent"]]
    assert sent == 8 * upper == sum(found["memory"]["servers"])


PLACED = """  static s[i,j]
  pardo i, j
    t[i,j] = 0.0
    u[i,j] = 1.0
    do k
      get d[i,k]
      get d[k,j]
      t[i,j] += d[i,k] * d[k,j]
      gpu_on
      t[i,j] += d[i,k] * d[k,j]
      gpu_off
      t[i,j] += s[i,k] * d[k,j]
    enddo k
    put e[i,j] = t[i,j]
  endpardo i, j
"""


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("auto", ["auto", "auto", "host"]),
        ("host", ["host", "host", "host"]),
        ("device", ["device", "device", "host"]),
        ("hints", ["host", "device", "host"]),
    ],
)
def test_places_of_contractions(tmp_path: Path, place: str, expected: list[str]) -> None:
    job = prepare(tmp_path, f"{HEAD}{PLACED}endsial p\n")
    (without,) = explain(job)
    assert not any("places" in line for line in without["lines"])
    (found,) = explain(job, 3, devices=("one:1", "two:2"), place=place)
    assert found["devices"] == ["one:1", "two:2"]
    assert [line["places"] for line in found["lines"] if "places" in line] == [
        [one] for one in expected
    ]


def test_the_text_names_devices_and_reasons(tmp_path: Path) -> None:
    job = prepare(tmp_path, f"{HEAD}{PLACED}endsial p\n")
    options = ["sial", "explain", str(job), "-n", "4", "--device", "one:1", "--device", "two:2"]
    done = CliRunner().invoke(outboard, options)
    assert done.exit_code == 0, done.output
    assert "device one:1: workers 0, 2" in done.output
    assert "device two:2: worker 1" in done.output
    static = HEAD.count("\n") + 12
    done = CliRunner().invoke(outboard, [*options, "--line", str(static)])
    assert "on the host (s is static or contiguous, so it stays on the host)" in done.output


UNKNOWN = {  # statements, words about them, executions of the statement behind the condition
    "if": ("  if x > 1.0\n  m = 1\n  else\n  m = 2\n  endif\n", "both branches", 1),
    "exit": (
        "  do i\n  x += 1.0\n  if x > 2.0\n  exit\n  endif\n  m = 3\n  enddo i\n",
        "all iterations", 4,
    ),
    "where": ("  do i\n  where x > 1.0\n  m = 3\n  enddo i\n", "all iterations", 4),
}  # fmt: skip


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_depends_on_values_is_said(tmp_path: Path, case: str) -> None:
    body, words, times = UNKNOWN[case]
    reads = "  static s[i,j]\n  index one = 1:1\n  static v[one]\n"
    value = "  do one\n  x = v[one]\n  enddo one\n"
    job = prepare(tmp_path, f"{HEAD}{reads}{value}{body}endsial p\n")
    (found,) = explain(job)
    assert any(words in note for note in found["unknown"]), found["unknown"]
    assert found["lines"][-1]["executions"] >= 1
    source = (tmp_path / "p.sial").read_text().splitlines()
    lines = {line["line"]: line["executions"] for line in found["lines"]}
    assigned = [at for at, text in enumerate(source, 1) if text.strip().startswith("m = ")]
    assert [lines[at] for at in assigned] == [times] * len(assigned)


def test_schedules_that_a_run_decides_are_said(tmp_path: Path) -> None:
    body = '  pardo i, j "guided"\n    put d[i,j] = 1.0\n  endpardo i, j\n'
    (found,) = explain(prepare(tmp_path, f"{HEAD}{body}endsial p\n"), 3, schedule=None)
    (note,) = found["unknown"]
    assert "as if they were balanced" in note
    plain = body.replace(' "guided"', "")
    job = prepare(tmp_path, f"{HEAD}{plain}endsial p\n")
    assert explain(job, 3, schedule=None)[0]["unknown"] == []
    job.write_text(JOB + "[run]\nschedule = 'measured'\n")
    assert explain(job, 3, schedule=None)[0]["unknown"] == [note]


def test_rounds_limit_loops_that_converge(tmp_path: Path) -> None:
    body = "  index r = 1:50\n  index one = 1:1\n  static v[one]\n  do r\n    do one\n"
    body += "      x = v[one]\n    enddo one\n    if x > 1.0\n      exit\n    endif\n  enddo r\n"
    job = prepare(tmp_path, f"{HEAD}{body}endsial p\n")
    for rounds in (1, 7, 40):
        (found,) = explain(job, rounds=rounds)
        assert max(line["executions"] for line in found["lines"]) == rounds


def explain_command(*arguments: object) -> Any:
    return CliRunner().invoke(outboard, ["sial", "explain", *map(str, arguments)])


BIG = """sial p
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  aoindex k = 1:n
  distributed a[i,j]
  distributed c[i,j]
  temp t[i,j]
  pardo i, j
    put a[i,j] = 1.0
  endpardo i, j
  sip_barrier
  pardo i, j
    t[i,j] = 0.0
    do k
      get a[i,k]
      get a[k,j]
      t[i,j] += a[i,k] * a[k,j]
    enddo k
    put c[i,j] = t[i,j]
  endpardo i, j
endsial p
"""


def test_huge_arrays_take_no_memory(tmp_path: Path) -> None:
    """The matrices have 6 TiB each, and a worker computes 27,000 blocks with 90 products each."""
    n = 90
    text = f"sial_job = 1\nprograms = ['p.sial']\n[ints]\nn = {n}\n[segments]\nao = {[10000] * n}\n"
    (found,) = explain(prepare(tmp_path, BIG, text), 9, 3, server_memory=1 << 40)
    assert sum(found["memory"]["servers"]) == 2 * 8 * n**2 * 10**8
    assert sum(line["flops"] for line in found["lines"]) == 2 * (n * 10**4) ** 3
    assert found["spilled"] == [2 * 8 * n**2 * 10**8 // 3 - (1 << 40)] * 3
    assert found["memory"]["workers"][0]["blocks"] == 8 * 10**8


def test_tables_say_what_does_not_fit(tmp_path: Path) -> None:
    text = JOB.replace("[7, 5, 1, 6]", "[100, 100, 100, 100]")
    job = prepare(tmp_path, BIG, text)
    shown = explain_command(job, "-n", 3, "--server-memory", "1M", "--worker-memory", "200K")
    assert shown.exit_code == 0, shown.output
    assert "1.44 MiB of blocks go to disk" in shown.output
    assert "Fetched blocks do not fit half of --worker-memory" in shown.output
    assert "p.sial:18" in shown.output and "128 Mflop" in shown.output
    shown = explain_command(job, "-n", 3, "--worker-memory", "50K")
    assert "ends with R10" in shown.output and "78.1 KiB" in shown.output
    line = explain_command(job, "-n", 3, "--line", "p.sial:18")
    assert "summed over k (100)" in line.output
    assert "64 iterations" in line.output and "2 Mflop each" in line.output
    get = explain_command(job, "-n", 3, "--line", 16)
    assert "of 64 need a request" in get.output


def test_times_come_from_a_measurement_or_a_report(native: paths.Native, tmp_path: Path) -> None:
    job = prepare(tmp_path, BIG)
    report = tmp_path / "report.json"
    run(native, job, 1, 1)
    for option in (["--from", report], ["--measure"]):
        done = subprocess.run(
            [ROOT / "outboard", "sial", "explain", job, *map(str, option), "--json"], text=True,
            env=clean_environment(OUTBOARD_NATIVE_DIR=str(native.root)), capture_output=True,
            timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (found,) = json.loads(done.stdout)
        (product,) = [line for line in found["lines"] if line["line"] == 18]
        assert product["seconds"] > 0
    (measured,) = json.loads(report.read_text())
    (real,) = [line for line in measured["lines"] if line["line"] == 18]
    (found,) = json.loads(explain_command(job, "--from", report, "--json").output)
    (product,) = [line for line in found["lines"] if line["line"] == 18]
    assert product["seconds"] == pytest.approx(real["seconds"])


def test_mistakes_are_explained(tmp_path: Path) -> None:
    job = prepare(tmp_path, BIG)
    for arguments, words in (
        (("--line", "p.sial:3000"), "no statement stands on line p.sial:3000"),
        (("--line", "p.sial"), "is no line"),
        (("-n", 4, "--workers", 4), "4 workers and 0 servers do not make up 4 ranks"),
        (("--from", tmp_path / "p.toml"), "is no report"),
        (("--server-memory", "much"), "is not a size"),
        (("--measure", "--from", job), "take one of them"),
    ):
        check_mistake(job, words, *arguments)
    for text, words in (
        (JOB.replace("n = 4", "q = 4"), "the job lacks int n"),
        (JOB.replace("ao", "mo"), "the job lacks segment table ao"),
        (JOB.replace("n = 4", "n = 5"), "has segments 1 to 4"),
        (JOB.replace("n = 4", "n = 'four'"), "a value that is no number"),
        ("programs = 3\n", "is no job"),
    ):
        job.write_text(text)
        check_mistake(job, words)


def check_mistake(job: Path, words: str, *arguments: object) -> None:
    done = explain_command(job, *arguments)
    assert done.exit_code != 0 and words in done.output, done.output


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_run_over_mpi_takes_what_was_said(native: paths.Native, tmp_path: Path, mpi: str) -> None:
    needs(f"mpiexec.{mpi}")
    shutil.copytree(EXAMPLES, tmp_path / "sial")
    job, report = tmp_path / "sial" / "job.toml", tmp_path / "report.json"
    command = [ROOT / "outboard", "sial", "run", job, "-n", 4, "--mpi", mpi]
    done = subprocess.run(
        [*map(str, command), "--report", f"json:{report}"], capture_output=True, text=True,
        env=clean_environment(OUTBOARD_NATIVE_DIR=str(native.root)), timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(explain_command(job, "-n", 4, "--json").output)
    check_memory(found, json.loads(report.read_text())[0])
