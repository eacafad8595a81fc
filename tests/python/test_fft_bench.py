"""Tests `outboard bench fft`: its problems, the measurements that it rejects, its rows and
pictures."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import fft, fft_plot, fft_rows, rows
from outboard_bench.fft_measure import How, Result, measure, shares
from outboard_bench.fft_problems import Problem, cubes, of_check
from outboard_bench.fft_program import PROGRAM_NAME, Place, Stages
from outboard_bench.link import Speed

C2C = Problem("c2c", (8, 8))  # 1024 bytes each way
LOCAL = Place("local 1 thread")


def test_bytes_and_flops_by_hand() -> None:
    sizes = {
        Problem("c2c", (64, 10)): (10240, 10240),
        Problem("r2c", (64, 10)): (5120, 6144),
        Problem("c2r", (64, 10)): (6144, 5120),
        Problem("r2c", (7,), "single"): (28, 32),
    }
    for problem, expected in sizes.items():
        assert (problem.bytes_to, problem.bytes_from) == expected
        assert Problem.parse(str(problem)) == problem
    assert Problem("c2c", (32, 32)).flops == 5 * 1024 * 10
    assert Problem("r2c", (1024,)).flops == 2.5 * 1024 * 10


def test_problems_of_a_run() -> None:
    every = list(cubes(("c2c", "r2c"), (1, 2, 3), "double", (0, 1 << 24)))
    assert len(every) == 2 * (8 + 7 + 5)
    assert max(p.points for p in every) == 1 << 24
    assert {(p.kind, len(p.shape)) for p in of_check()} == {
        (kind, rank) for kind in ("c2c", "r2c", "c2r") for rank in (1, 2, 3)
    }


def test_shares_are_parts_of_one() -> None:
    stages = Stages(to_device=10, plan=5, compute=20, back=15, whole=100, calls=2)
    parts = shares([stages])
    assert parts == {"to device": 0.1, "plan": 0.05, "compute": 0.2, "back": 0.15, "other": 0.5}
    # stages that overlap may take more than the whole time together
    assert shares([Stages(to_device=60, back=60, whole=100)]) == pytest.approx(
        {"to device": 0.5, "plan": 0, "compute": 0, "back": 0.5, "other": 0}
    )


def test_links_are_not_left_out_silently(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert fft.parse([]).links == ()
    assert "links are left out" in capsys.readouterr().err
    with pytest.raises(OutboardError, match="need root"):
        fft.parse(["--links", "1,10"])
    assert fft.parse(["--links", "none"]).links == ()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--kinds", "c2c,c3c", "c2c,c3c"),
        ("--dims", "4", "'4'"),
        ("--rounds", "0", "1 or more"),
        ("--links", "fast", "no rates"),
    ],
)
def test_bad_options_are_named(
    capsys: pytest.CaptureFixture[str], option: str, value: str, words: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        fft.parse([option, value])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


FAKE = """#!{python}
import os, sys
sys.path.insert(0, {tests!r})
from blocks import block
print("planned 7", flush=True)
calls = 0
for line in sys.stdin:
    word, value = line.split()
    if word == "run":
        calls += int(value)
        if "OUTBOARD_REPORT" in os.environ:
            out = calls - int(os.environ.get("STAYED", 0))
            row = dict(calls=calls, remote=out, bytes_to=int(os.environ["BYTES"]) * out,
                       bytes_from=1024 * out, to_server_ns=3 * calls, remote_ns=9 * calls)
            file = os.environ["OUTBOARD_REPORT"] + f"/report.{{os.getpid()}}.bin"
            open(file, "wb").write(block({{"fftw c2c": row}}, pid=os.getpid(), notice="lost it"))
        print(*(["11"] * int(value)), flush=True)
    elif word == "save":
        print("saved", flush=True)
    elif word == "compare":
        print(os.environ.get("DISTANCE", "0"), flush=True)
"""


@pytest.fixture
def how(tmp_path: Path) -> How:
    program = tmp_path / "fake"
    tests = str(Path(__file__).parent)
    program.write_text(FAKE.format(python=sys.executable, tests=tests))
    program.chmod(0o755)
    return How(program, tmp_path, rounds=2)


def remote(folder: Path, **variables: str) -> Place:
    settings = {"OUTBOARD_REPORT": str(folder), "BYTES": "1024", **variables}
    return Place("tcp", variables=settings, counters=folder)


def test_measures_in_turns_and_splits_by_round(how: How, tmp_path: Path) -> None:
    local, out = measure(C2C, [LOCAL, remote(tmp_path)], how)
    assert (local.first_plan, local.first_execute, local.rounds) == (7, 11, [11, 11])
    assert out.first_stages == Stages(3, 0, 0, 0, 9, 1, 1024, 1024)
    assert out.round_stages == [Stages(3 * 64, 0, 0, 0, 9 * 64, 64, 1024 * 64, 1024 * 64)] * 2


@pytest.mark.parametrize("distance", ["nan", "1e-14", "inf"])
def test_wrong_results_end_it(how: How, tmp_path: Path, distance: str) -> None:
    assert C2C.error_bound == 12 * 2.0**-52  # 2.7e-15
    with pytest.raises(OutboardError, match="over tcp is wrong"):
        measure(C2C, [LOCAL, remote(tmp_path, DISTANCE=distance)], how)


def test_results_within_the_bound_are_good(how: How, tmp_path: Path) -> None:
    measure(C2C, [LOCAL, remote(tmp_path, DISTANCE="2.6e-15")], how)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"STAYED": "1"}, "1 of 1 calls stayed local \\(lost it\\)"),
        ({"BYTES": "1000"}, r"\(1, 1000, 1024\)"),
    ],
)
def test_calls_have_to_go_out_with_all_their_bytes(
    how: How, tmp_path: Path, variables: dict[str, str], words: str
) -> None:
    with pytest.raises(OutboardError, match=words):
        measure(C2C, [LOCAL, remote(tmp_path, **variables)], how)


def test_a_library_that_counts_nothing_is_noticed(how: How, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    place = Place("tcp", counters=empty)
    with pytest.raises(OutboardError, match=r"\(0, 0, 0\)"):
        measure(C2C, [LOCAL, place], how)


def test_a_program_that_ends_early_is_named(tmp_path: Path) -> None:
    how = How(Path("/bin/true"), tmp_path)
    with pytest.raises(OutboardError, match="ended early at c2c 8x8 double over local 1 thread"):
        measure(C2C, [LOCAL], how)


def results(problem: Problem) -> list[Result]:
    stages = Stages(2_000_000, 0, 1_000_000, 4_000_000, 8_000_000, 1)
    local = Result(LOCAL, 1_000_000, 3_000_000, [2e6, 4e6, 3e6])
    two = Result(Place("local 2 threads"), 1_000_000, 2_000_000, [2e6, 2e6, 2e6])
    over = Place("link 10 Gb/s", counters=Path("x"))
    far = Result(over, 5_000_000, 15_000_000, [8e6] * 3, stages, [stages] * 3)
    return [local, two, far]


def test_rows_stand_beside_the_best_local_time_and_the_link(tmp_path: Path) -> None:
    problem = Problem("c2c", (1000,))
    speeds = {"link 10 Gb/s": Speed([8.0], [8.0], burst_bytes=12000)}
    written = list(fft_rows.rows_of(problem, results(problem), speeds))
    rows.write(written, tmp_path / "rows.json")
    assert rows.check(rows.load(tmp_path / "rows.json"))
    by_case = {row.case.removeprefix("c2c 1000 double, "): row for row in written}
    far = by_case["link 10 Gb/s"]
    assert (far.value, far.ceiling, far.ceiling_name) == (8.0, 2.0, "best local 2 threads")
    assert (far.ratio, far.bytes, far.runs) == (0.25, 32000, 3)
    transfer = by_case["link 10 Gb/s, transfer"]
    assert transfer.ceiling == pytest.approx(0.008)
    assert transfer.ratio == pytest.approx(0.001)
    first = by_case["link 10 Gb/s, first"]
    assert (first.value, first.ceiling) == (20.0, 3.0)
    stages = {s: by_case[f"link 10 Gb/s, stage {s}"].value for s in fft_rows.STAGES}
    assert stages == pytest.approx({"to device": 2, "plan": 0, "compute": 1, "back": 4, "other": 1})
    assert by_case["link 10 Gb/s, first stage other"].value == pytest.approx(13)
    assert by_case["local 1 thread"].ratio == pytest.approx(2 / 3)
    assert "local 1 thread, transfer" not in by_case


def test_no_transfer_row_for_what_passes_at_once() -> None:
    problem = Problem("c2c", (100,))
    speeds = {"link 10 Gb/s": Speed([8.0], [8.0], burst_bytes=12000)}
    cases = [row.case for row in fft_rows.rows_of(problem, results(problem), speeds)]
    assert not [case for case in cases if case.endswith("transfer")]


@pytest.mark.parametrize(("width", "tables"), [(180, 1), (100, 2)])
def test_a_narrow_terminal_gets_two_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, tables: int
) -> None:
    problem = Problem("c2c", (1000,))
    monkeypatch.setattr(fft_rows, "console", lambda: Console(width=width))
    speeds = {"link 10 Gb/s": Speed([8.0], [8.0], burst_bytes=12000)}
    fft_rows.print_table({problem: results(problem)}, speeds)
    text = capsys.readouterr().out
    assert text.count("c2c 1000 double") == tables
    lines = [line.split() for line in text.splitlines() if "link 10 Gb/s" in line]
    cells = [cell for line in lines for cell in line[3:]]
    assert cells == "20 8 8 .. 8 0.00623 0.25 0.00 25 0 12 50 12".split()


def test_both_pictures(tmp_path: Path) -> None:
    problems = [Problem("c2c", (n,)) for n in (1000, 2000)] + [Problem("r2c", (30, 30))]
    written = [row for p in problems for row in fft_rows.rows_of(p, results(p), {})]
    rows.write(written, tmp_path / "rows.json")
    fft_plot.draw(rows.load(tmp_path / "rows.json"), tmp_path / "fft.svg")
    speed = (tmp_path / "fft.svg").read_text()
    for text in ("c2c, 1-D, double", "r2c, 2-D, double", "link 10 Gb/s", "GFLOP/s"):
        assert f">{text}</text>" in speed
    stages = (tmp_path / "fft-stages.svg").read_text()
    for text in ("c2c, 1-D, link 10 Gb/s", "to device", "back", "1000", "2000"):
        assert f">{text}</text>" in stages
    assert "r2c" not in stages


@pytest.fixture(scope="session")
def transforms(native: paths.Native) -> Path:
    program = native.root / "bin" / PROGRAM_NAME
    if not program.exists():
        pytest.fail(f"{program} is not built (configure with OUTBOARD_BENCH=ON)")
    return program


@pytest.mark.end_to_end
@pytest.mark.parametrize("kind", ["c2c", "r2c", "c2r"])
def test_the_program_notices_wrong_results(transforms: Path, tmp_path: Path, kind: str) -> None:
    saved, wrong, short, long = (tmp_path / name for name in ("saved", "wrong", "short", "long"))
    command = [str(transforms), "double", kind, "6x10", "estimate", "1", "5"]

    def ask(lines: str) -> list[str]:
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
        return str(done.stdout).split("\n")[1:-1]

    assert ask(f"run 1\nsave {saved}\n")[1] == "saved"
    data = bytearray(saved.read_bytes())
    middle = 8 * (len(data) // 16)
    (value,) = struct.unpack_from("<d", data, middle)
    struct.pack_into("<d", data, middle, value + 1e-6)
    wrong.write_bytes(data)
    short.write_bytes(data[:-8])
    long.write_bytes(data + b"12345678")
    unwritten, _, good, bad, cut, more = ask(
        f"compare {saved}\nrun 3\ncompare {saved}\ncompare {wrong}\ncompare {short}\n"
        f"compare {long}\n"
    )
    assert float(good) <= 1e-15
    assert 1e-10 < float(bad) < 1e-6
    # the array is poisoned until the first run
    assert [unwritten, cut, more] == ["nan", "nan", "nan"]
