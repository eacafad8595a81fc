"""Tests `outboard bench summa`: its options, what it reads, and its rows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from outboard.errors import OutboardError
from outboard_bench import summa

OUTPUT = """1024 x 1024 x 1024 on 1 x 2 ranks, panels of 128, look-ahead 1
summa   best 65.345 ms, median 74.283 ms of 2, 32.86 Gflop/s at best
pdgemm  best 172.441 ms, median 191.824 ms of 2, 12.45 Gflop/s at best
"""


def test_options() -> None:
    assert summa.parse([]).rates == (0, 1, 4)
    options = summa.parse(["--rates", "0,2.5", "--modes", "proxy", "--meshes", "2x1"])
    assert (options.rates, options.modes, options.meshes) == ((0, 2.5), ("proxy",), ("2x1",))
    for bad in (
        ["--rates", "0,-1"],
        ["--orders", "0"],
        ["--panels", "64,x"],
        ["--modes", "fast"],
        ["--meshes", "2x2"],
        ["--turns", "0"],
        ["--products", "0"],
        ["--mpi", "other"],
    ):
        with pytest.raises(SystemExit):
            summa.parse(bad)


def test_the_output_of_the_program_is_read() -> None:
    assert summa.times_of(OUTPUT) == (74.283, 191.824)
    with pytest.raises(OutboardError, match=r"printed no times of both .*: 'no ScaLAPACK'"):
        summa.times_of("no ScaLAPACK\n")


def test_each_side_has_its_best_shape() -> None:
    times = {
        ("ticked", "1x2", "64"): (30, 50),
        ("ticked", "1x2", "128"): (20, 40),
        ("ticked", "2x1", "64"): (25, 22),
        ("ticked", "2x1", "128"): (35, 60),
        ("sync", "1x2", "64"): (44, 51),
        ("sync", "1x2", "128"): (41, 45),
        ("sync", "2x1", "64"): (42, 24),
        ("sync", "2x1", "128"): (43, 61),
    }
    runs = []

    def run(words: Sequence[str]) -> str:
        given = dict(zip(words[:-3:2], words[1:-3:2], strict=True))
        assert (given["--m"], given["--n"], given["--k"]) == ("300", "300", "300")
        assert list(words[-3:]) == ["--scalapack", "--turns", "3"]
        runs.append((given["--mode"], given["--mesh"], given["--panel"]))
        ours, theirs = times[runs[-1]]
        return f"summa   best 1.0 ms, median {ours} ms\npdgemm  best 1.0 ms, median {theirs} ms\n"

    words = ["--modes", "ticked,sync", "--panels", "64,128", "--turns", "2"]
    ticked, sync = summa.measure(summa.parse(words), "here", run, 300)
    assert sorted(runs) == sorted([*times, *times])
    assert ticked.case == "here, order 300, ticked, mesh 1x2, panels of 128"
    assert sync.case == "here, order 300, sync, mesh 1x2, panels of 128"
    assert (ticked.value, sync.value, ticked.bytes) == (20, 41, 720_000)
    assert (ticked.ceiling, ticked.ceiling_name) == (22, "pdgemm, mesh 2x1, panels of 64")
    assert ticked.ratio == pytest.approx(22 / 20)
    assert sync.ceiling == 24
