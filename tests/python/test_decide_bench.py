"""Tests `outboard bench decide`: its points, the conclusions from their times, its refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from outboard import paths, preload
from outboard.errors import OutboardError
from outboard_bench import decide, decide_measure, decide_plot, decide_rows, decide_tune, rows
from outboard_bench.decide_measure import How, measure
from outboard_bench.decide_places import Server
from outboard_bench.decide_point import AGAIN, KINDS, LOCAL, REMOTE, TUNED, UNTUNED, Point, Timed
from outboard_bench.decide_problems import (
    EDGES,
    PROGRAMS,
    ROUTINES,
    Call,
    chosen,
    is_fresh,
    problems,
    program_of,
)
from outboard_bench.fft_problems import Problem

MS = 1_000_000


def test_bytes_and_flops_by_hand() -> None:
    sizes = {
        Call("dgemm", 10): (1600, 800, 2000),
        Call("sgemm", 10): (800, 400, 2000),
        Call("zgemm", 10): (3200, 1600, 8000),
        Call("thin", 10): (8 * (100 + 640), 8 * 640, 12800),
        Call("dsyrk", 10): (800, 800, 1000),
        Call("dtrsm", 10): (1600, 800, 1000),
        Call("dpotrf", 30): (7200, 7200, 9000),
    }
    for call, expected in sizes.items():
        assert (call.bytes_to, call.bytes_from, call.flops) == pytest.approx(expected)
    assert Call("thin", 10).routine == "dgemm"
    assert str(Call("dgemm", 10, fresh=True)) == "dgemm fresh 10"


def test_problems_of_a_run() -> None:
    groups = list(problems(ROUTINES))
    assert [len(group) for group in groups] == [4] * len(EDGES) + [5]
    fresh, transforms = list(problems(("dgemm fresh", "c2c"), (7,), ((4, 4),)))
    assert fresh == [Call("dgemm", 7, fresh=True)]
    assert transforms == [Problem("c2c", (4, 4))]
    assert [is_fresh(problem) for problem in (*fresh, *transforms)] == [True, False]
    assert [program_of(problem) for problem in (*fresh, *transforms)] == list(PROGRAMS)


def test_a_share_of_the_combinations_is_spread() -> None:
    groups = list(problems(ROUTINES))
    every = [problem for group in groups for problem in group]
    taken = {(at, on): list(chosen(groups, at, on, 4)) for at in range(5) for on in range(4)}
    for at in range(5):  # each problem occurs once at a place, with one device or another
        here = [problem for on in range(4) for problem in taken[at, on]]
        assert sorted(map(str, here)) == sorted(map(str, every))
    for found in taken.values():  # all routines occur, with more than one size
        assert {p.group for p in found} >= {p.group for p in every if isinstance(p, Call)}
        ranks = {EDGES[str(p).rpartition(" ")[0]].index(p.n) for p in found if isinstance(p, Call)}
        assert len(ranks) == 4
    assert list(chosen(groups, 3, 2, 1)) == every


def point(**ms: list[float]) -> Point:
    """Makes a call of each kind ("auto_tuned") in each round. A kind that is left out takes 1
    ms."""
    rounds = max(len(values) for values in ms.values())
    timed = {}
    for kind in KINDS:
        values = ms.get(kind.replace(" ", "_"), [1.0] * rounds)
        timed[kind] = Timed([[round(value * MS)] for value in values])
    return Point(Call("dgemm", 100), "tcp", "cpu", timed)


def test_a_ratio_is_that_of_rounds() -> None:
    """The machine becomes three times slower in the second round, before the turn of auto. The
    medians alone would therefore show a loss."""
    drifting = point(
        local=[1, 1, 3, 3],
        local_again=[1, 1, 3, 3],
        remote=[9, 9, 27, 27],
        auto_tuned=[1.02, 3.06, 3.06, 3.06],
    )
    assert drifting.winner == LOCAL
    assert drifting.ratio(TUNED) == pytest.approx(1.02)
    assert not drifting.above(TUNED)
    assert drifting.noise == 1


def test_the_better_side_is_that_of_the_medians() -> None:
    won = point(remote=[0.5, 0.5, 0.5], auto_tuned=[0.53] * 3, auto_untuned=[0.6] * 3)
    assert (won.winner, won.best) == (REMOTE, 0.5 * MS)
    assert won.ratio(TUNED) == pytest.approx(1.06)
    assert (won.above(TUNED), won.above(UNTUNED)) == (True, False)
    won.timed[TUNED].shares = [1.0]
    assert (won.is_wrong(TUNED), won.is_wrong(UNTUNED)) == (False, True)
    lost = point(remote=[1.04], local_again=[1.1])
    assert lost.winner == REMOTE  # local is the median of both, 1.05
    lost.timed[TUNED].shares = [0.4]
    assert not lost.is_wrong(TUNED)  # a difference of one percent does not count


def test_calls_of_a_round() -> None:
    assert decide_measure.times(1) == 500
    assert decide_measure.times(1 * MS) == 8
    assert decide_measure.times(900 * MS) == 1


def test_who_is_measured_no_longer() -> None:
    assert decide_measure.hopeless_of(point(remote=[3.1])) == {REMOTE}
    assert decide_measure.hopeless_of(point(remote=[0.3])) == {LOCAL, AGAIN}
    assert decide_measure.hopeless_of(point(remote=[2.9])) == set()


def test_rows_and_their_picture(tmp_path: Path) -> None:
    won = point(remote=[0.5], auto_tuned=[0.55])
    won.timed[TUNED].shares = [0.75]
    written = list(decide_rows.rows_of(won))
    assert len({row.case for row in written}) == len(written) == len(KINDS) + 2
    by_case = {row.case: row for row in written}
    tuned = by_case["dgemm 100, tcp, cpu, auto tuned"]
    assert (tuned.value, tuned.ceiling) == pytest.approx((0.55, 0.5))
    assert tuned.ceiling_name == REMOTE
    assert tuned.ratio == pytest.approx(0.5 / 0.55)
    out = by_case["dgemm 100, tcp, cpu, auto tuned, out"]
    assert (out.value, out.unit, out.ratio) == (75, "%", None)
    file = tmp_path / "rows.json"
    rows.write(written, file)
    checked = rows.check(rows.load(file))
    decide_plot.draw(checked, tmp_path / "picture.svg")
    picture = (tmp_path / "picture.svg").read_text()
    for text in (
        "auto tuned (limit 1.05), tcp",
        "auto untuned (limit 1.25), tcp",
        "remote wins",
        "cpu",
    ):
        assert text in picture
    with pytest.raises(OutboardError, match="nothing to plot"):
        decide_plot.draw([row for row in checked if "auto" not in row["case"]], file)


def test_the_summary_counts() -> None:
    good, wrong, slow = point(remote=[2]), point(remote=[0.5]), point(auto_tuned=[1.1], remote=[3])
    said = list(decide_rows.summary([good, wrong, slow]))
    assert said[0] == "3 points; remote wins at 1 (33 %)"
    (tuned,) = (line for line in said if line.startswith("auto tuned: "))
    assert "2.00 at most (dgemm 100, tcp, cpu)" in tuned
    assert "above 1.05 at 2 points, of which 1 were decided wrongly; 1 of all" in tuned
    (untuned,) = (line for line in said if line.startswith("auto untuned: "))
    assert "above 1.25 at 1 points, of which 1 were decided wrongly" in untuned
    assert sum(line.startswith("    ") for line in said) == 3


def test_libraries_of_a_program() -> None:
    text = """\
\tlinux-vdso.so.1 (0x00007f54bba15000)
\tlibopenblas.so.0 => /lib/libopenblas.so.0 (0x00007f54b9708000)
\tliblapack.so.3 => /lib/liblapack.so.3 (0x00007f54b9708000)
\tlibfftw3f_threads.so.3 => /lib/libfftw3f_threads.so.3 (0x0000)
\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f54b9628000)
\tlibblas.so.3 => not found
"""
    names = ("libopenblas.so.0", "liblapack.so.3", "libfftw3f_threads.so.3")
    assert decide_tune.libraries_in(text) == [f"/lib/{name}" for name in names]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--routines", "dgemm,ddot"], "'dgemm,ddot'"),
        (["--sizes", "100,0"], "'100,0'"),
        (["--shapes", "8xa"], "'8xa'"),
        (["--rounds", "0"], "1 or more"),
        (["--share", "0"], "1 or more"),
        (["--seconds", "0"], "more than 0"),
    ],
)
def test_bad_options_are_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        decide.parse([*arguments, "--links", "none"])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


# A call takes as many ms as its mode defines. The first argument of the template is the answer to
# `compare`.
PROGRAM = """#!{python}
import os, sys
ms = {{"remote": 3, "auto": 2}}.get(os.environ.get("OUTBOARD_MODE"), 1)
with open("{log}", "a") as log:
    print(" ".join([os.environ.get("OUTBOARD_PROFILE", "none"), *sys.argv[1:]]), file=log)
print("planned 0", flush=True)
for line in sys.stdin:
    word, value = line.split()
    print(*({{"run": [ms * 1000000] * int(value)}} if word == "run" else {{}}).get(
        word, [{distance} if word == "compare" else "done"]), flush=True)
"""


def stand_in(folder: Path, distance: str, device: str = "cpu") -> tuple[Server, How]:
    program = folder / "blas_calls"
    program.write_text(PROGRAM.format(python=sys.executable, log=folder / "log", distance=distance))
    program.chmod(0o755)
    server = Server("tcp", 1, device, 0, "127.0.0.1:1", folder / "counters", folder / "profile")
    return server, How(folder, folder / preload.PRELOAD_NAME, folder, 7, 8, 0.01)


@pytest.mark.parametrize("fresh", [False, True])
def test_what_is_above_a_limit_is_measured_again(tmp_path: Path, fresh: bool) -> None:
    server, how = stand_in(tmp_path, "0.0")
    measured = measure(Call("dgemm", 9, fresh), server, how)
    assert measured.repeated
    assert [measured.ratio(kind) for kind in (UNTUNED, TUNED)] == [2, 2]
    assert (measured.winner, measured.remote) == (LOCAL, 3 * MS)
    started = (tmp_path / "log").read_text().splitlines()
    assert len(started) == 2 * len(KINDS)
    assert sorted(line.partition(" ")[0] for line in started[: len(KINDS)]) == sorted(
        ["none", "none", "off", "off", str(tmp_path / "profile")]
    )
    assert all(line.endswith("dgemm 9 1 7") for line in started)


def test_wrong_results_end_a_run(tmp_path: Path) -> None:
    server, how = stand_in(tmp_path, "1e-3")
    with pytest.raises(OutboardError, match=r"dgemm 9 over local.* is wrong: off by 0\.001"):
        measure(Call("dgemm", 9), server, how)
    server, how = stand_in(tmp_path, "'nan'")
    with pytest.raises(OutboardError, match="off by nan"):
        measure(Call("dgemm", 9), server, how)
    server, how = stand_in(tmp_path, "'nan'", device="20GF")  # the results are wrong
    assert measure(Call("dgemm", 9), server, how).timed[REMOTE].distance == 0


@pytest.mark.end_to_end
@pytest.mark.parametrize("routine", sorted({name.split(" ")[0] for name in EDGES}))
def test_the_program_has_the_routine(native: paths.Native, tmp_path: Path, routine: str) -> None:
    program = native.root / "bin" / PROGRAMS[0]
    if not program.exists():
        pytest.fail(f"{program} is not built (configure with OUTBOARD_BENCH=ON)")
    saved, other = tmp_path / "saved", tmp_path / "other"
    lines = f"""run 1
save {saved}
run 2
compare {saved}
fresh on
run 2
compare {saved}
save {other}
run 1
compare {other}
fresh off
run 1
compare {saved}
"""
    command = [str(program), routine, "80", "1", "5"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    same, new, newer, back = (float(said[index]) for index in (4, 7, 10, 13))
    bound = Call(routine, 80).error_bound
    assert same <= bound
    assert back <= bound
    assert new > 1e3 * bound
    assert newer > 1e3 * bound


@pytest.mark.end_to_end
@pytest.mark.parametrize("arguments", [["dgemmm", "9", "1", "1"], ["dgemm", "0", "1", "1"], []])
def test_the_program_refuses(native: paths.Native, arguments: list[str]) -> None:
    program = native.root / "bin" / PROGRAMS[0]
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: blas_calls ROUTINE" in done.stderr
