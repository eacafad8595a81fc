"""Tests `outboard bench programs`: its places, its ratios and limits, its rows, its failures."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import machine, programs, programs_plot, programs_rows, rows
from outboard_bench.programs_list import FOLDER, PROGRAMS, Interpreters, Program
from outboard_bench.programs_measure import How, hopeless_of, measure
from outboard_bench.programs_outcome import AUTO, KINDS, NATIVE, REMOTE, Outcome, Timed
from outboard_bench.programs_places import (
    ALL,
    LAUNCHER,
    Client,
    Host,
    Place,
    chosen,
    without_links_unless_root,
)
from outboard_bench.programs_run import Run, RunError, run


def outcome(**seconds: list[float]) -> Outcome:
    """Makes the outcome of a program with these seconds of each kind, by round."""
    found = Outcome(PROGRAMS[0], "10x-shm")
    for kind in KINDS:
        values = seconds.get(kind, [1.0])
        out = [] if kind == NATIVE else [3] * len(values)
        found.timed[kind] = Timed(dict(enumerate(values)), [4] * len(out), out, 100)
    return found


def test_every_program_has_its_file() -> None:
    files = {file.name for file in FOLDER.iterdir() if file.is_file()}
    assert files == {program.file for program in PROGRAMS}
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)


def test_a_ratio_is_that_of_rounds() -> None:
    """The machine becomes three times slower in the second round."""
    drifting = outcome(native=[1, 3, 3], remote=[5, 15, 15], auto=[1.02, 3.06, 3.06])
    assert drifting.winner == NATIVE
    assert drifting.ratio(AUTO, NATIVE) == pytest.approx(1.02)
    assert not drifting.above


def test_the_limit_is_that_of_the_better_side() -> None:
    for auto, above in ((1.02, False), (1.04, True)):
        assert outcome(remote=[2], auto=[auto]).above == above
    for auto, above in ((1.07, False), (1.09, True)):
        assert outcome(native=[2], remote=[1], auto=[auto]).above == above


def test_a_hopeless_side_runs_once() -> None:
    assert hopeless_of(outcome(remote=[3.1])) == {REMOTE}
    assert hopeless_of(outcome(remote=[0.3])) == {NATIVE}
    assert hopeless_of(outcome(remote=[2.9])) == set()
    found = outcome(auto=[60], remote=[60])
    found.timed[AUTO].too_long = True
    assert hopeless_of(found) == {AUTO, REMOTE}
    once = outcome(native=[2.0], remote=[0.5, 0.5, 0.5], auto=[0.6, 0.6, 0.6])
    assert once.ratio(AUTO, NATIVE) == pytest.approx(0.3)  # by medians


def test_names_of_places() -> None:
    assert list(map(str, chosen("none,own-*"))) == ["none", "own-shm", "own-tcp"]
    assert chosen("*") == list(ALL)
    assert chosen("10x-1gbit") == [Place("10x", "1gbit")]
    with pytest.raises(ValueError, match="'11x-shm' is none of none, own-shm"):
        chosen("none,11x-shm")
    assert [place.computes for place in chosen("none,own-shm,50x-tcp")] == [True, True, False]


def test_links_are_left_out_unless_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = without_links_unless_root(chosen("10x-*"), explicit=False)
    assert list(map(str, found)) == ["10x-shm", "10x-tcp"]
    assert without_links_unless_root(chosen("none"), explicit=True) == [Place("none")]
    with pytest.raises(OutboardError):
        without_links_unless_root(chosen("10x-*"), explicit=True)


def test_kernels_are_chosen_only_for_a_library_that_is_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine.openblas, "processor_level", lambda: "avx512")
    for core, chosen_type in (("Prescott", "SkylakeX"), ("Cooperlake", None)):
        said = machine.openblas.OpenBlas("", core, 2, 50.0)
        monkeypatch.setattr(machine.openblas, "ask", lambda *_, said=said: said)
        found = machine.best_kernels({})
        assert found.get("OPENBLAS_CORETYPE") == chosen_type
        assert machine.best_kernels({"OPENBLAS_CORETYPE": "Zen"}) == {}
        assert machine.dgemm_gflops({}) == 50.0
    monkeypatch.setattr(machine.openblas, "ask", lambda *_: None)
    assert machine.best_kernels({}) == {}
    with pytest.raises(OutboardError, match="no BLAS"):
        machine.dgemm_gflops({})


def test_rows_and_their_picture(tmp_path: Path) -> None:
    won = outcome(native=[2, 2], remote=[1, 1], auto=[1.2, 1.2])
    written = list(programs_rows.rows_of(won))
    by_case = {row.case: row for row in written}
    assert len(by_case) == len(written) == 5
    auto = by_case["mixed_products, 10x-shm, auto"]
    assert (auto.value, auto.ceiling, auto.ceiling_name, auto.unit) == (1.2, 1, REMOTE, "s")
    assert auto.ratio == pytest.approx(1 / 1.2)
    out = by_case["mixed_products, 10x-shm, auto, out"]
    assert (out.value, out.ceiling, out.ratio, out.unit) == (3, 4, 0.75, "calls")
    failed = outcome()
    failed.failed = "exit status 1"
    assert list(programs_rows.rows_of(failed)) == []
    file = tmp_path / "rows.json"
    rows.write(written, file)
    checked = rows.check(rows.load(file))
    programs_plot.draw(checked, tmp_path / "picture.svg")
    picture = (tmp_path / "picture.svg").read_text()
    for text in ("10x-shm: 0 of 1 within the limits", "mixed_products", "native", "remote"):
        assert text in picture
    with pytest.raises(OutboardError, match="nothing to plot"):
        programs_plot.draw([], file)


def test_the_table_and_the_summary_say_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    good, slow, skipped, failed = (outcome(remote=[9]) for _ in range(4))
    slow.timed[AUTO].seconds = {0: 1.5}
    skipped.skipped, failed.failed = "no Rscript", "auto: exit status 3: why"
    programs_rows.print_table("10x-shm", [good, slow, skipped, failed])
    table = capsys.readouterr().out
    for text in ("skipped: no Rscript", "FAILED", "1.500!", "3 of 4"):
        assert text in table
    said = list(programs_rows.summary([good, slow, skipped, failed]))
    assert said[0].startswith("10x-shm: 1 of 2 within the limits")
    assert "worst 1.50 (mixed_products, 10x-shm, native is better)" in said[0]
    assert said[0].endswith("; 1 skipped; 1 FAILED")
    assert said[1] == "FAILED: mixed_products, 10x-shm: auto: exit status 3: why"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--programs", "als,nothing"], "'nothing'"),
        (["--places", "moon"], "'moon'"),
        (["--rounds", "0"], "1 or more"),
        (["--threads", "-1"], "0 or more"),
        (["--rate", "0"], "more than 0"),
    ],
)
def test_bad_options_are_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        programs.parse(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_options_choose() -> None:
    options = programs.parse(["--programs", "fft_*,als", "--places", "none"])
    assert [program.name for program in options.programs][:2] == ["als", "fft_filter"]
    options = programs.parse(["--check"])
    assert (len(options.programs), options.rounds) == (2, 1)


def words_that_print(text: str, status: int = 0) -> list[str]:
    return [sys.executable, "-c", f"import sys; print({text!r}); sys.exit({status})"]


def test_a_run(tmp_path: Path) -> None:
    found = run(words_that_print("hello\nresult 3 4"), os.environ, 60, None)
    assert (found.result, found.out) == ((3, 4), 0)
    assert found.distance(Run(1, (3, 4.5))) == pytest.approx(0.1)
    assert found.distance(Run(1, (3,))) == math.inf
    for text in ("hello", "result", "result x"):
        with pytest.raises(RunError, match="no line of results"):
            run(words_that_print(text), os.environ, 60, None)
    with pytest.raises(RunError, match="exit status 3"):
        run(words_that_print("result 1", 3), os.environ, 60, None)
    broken = f"open({str(tmp_path / 'report.1.bin')!r}, 'w').close(); print('result 1')"
    with pytest.raises(RunError, match="counters cannot be read"):
        run([sys.executable, "-c", broken], os.environ, 60, tmp_path)
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    assert run(sleeping, os.environ, 0.1, None) == Run(0.1)


def test_commands_and_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTBOARD_MODE", "remote")
    monkeypatch.setenv("PYTHONPATH", "")
    host = Host(paths.Native(tmp_path), tmp_path, {"OPENBLAS_NUM_THREADS": "1"})
    there = Client(Place("own", "tcp"), host, "127.0.0.1:1", lambda words: ["wrap", *words])
    assert there.command(NATIVE, ["x"]) == there.command(AUTO, ["x"]) == ["wrap", "x"]
    native, auto = there.environment(NATIVE), there.environment(AUTO)
    assert "LD_PRELOAD" not in native
    assert "OUTBOARD_MODE" not in native
    assert native["OPENBLAS_NUM_THREADS"] == auto["OPENBLAS_NUM_THREADS"] == "1"
    assert (auto["OUTBOARD_MODE"], auto["OUTBOARD_SERVER"]) == ("auto", "127.0.0.1:1")
    assert there.environment(REMOTE)["OUTBOARD_MODE"] == "remote"
    by_run = Client(Place("none"), host)
    assert by_run.command(NATIVE, ["x"]) == ["x"]
    assert by_run.command(AUTO, ["x"]) == [str(LAUNCHER), "run", "--", "x"]
    assert by_run.command(REMOTE, ["x"])[-5:] == ["run", "--mode", "remote", "--", "x"]
    assert "LD_PRELOAD" not in by_run.environment(AUTO)
    done = subprocess.run([LAUNCHER, "--help"], capture_output=True, check=False)
    assert done.returncode == 0


class _StandIn(Interpreters):
    """A program that prints a result. The drop-in library does not see it."""

    def command(self, program: Program, argument: int | None = None) -> list[str]:
        del program, argument
        return words_that_print("result 1")

    def missing(self, program: Program) -> str:
        return "no Rscript" if program.file.endswith(".R") else ""


def test_a_program_whose_calls_do_not_go_out_has_failed(tmp_path: Path) -> None:
    host = Host(paths.Native(tmp_path), tmp_path)
    client = Client(Place("own", "tcp"), host, "127.0.0.1:1")
    how = How(_StandIn(host.native), rounds=1, seed=1)
    found = measure(PROGRAMS[0], client, how)
    assert "none of 0 calls went out" in found.failed
    (in_r,) = (program for program in PROGRAMS if program.file.endswith(".R"))
    assert measure(in_r, client, how).skipped == "no Rscript"


@pytest.mark.end_to_end
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_small_run_of_each_program_is_the_same_again(
    native: paths.Native, program: Program
) -> None:
    interpreters = Interpreters(native)
    if reason := interpreters.missing(program):
        pytest.skip(reason)
    command = interpreters.command(program, program.small)
    first, again = (run(command, Host(native, Path()).environment(), 120, None) for _ in range(2))
    assert first.distance(again) <= program.tolerance
    assert all(math.isfinite(number) for number in first.result)
