"""Tests `outboard bench sial`: its bars, its rows as points of figures, its model, its agent."""

from __future__ import annotations

import random
import subprocess
from dataclasses import asdict, replace

import pytest

from outboard_bench import rows, sial, sial_hosts
from outboard_bench.paper_points import SHOWS
from outboard_bench.sial_bars import Bar
from outboard_bench.sial_prefetch import Case, Found, _rows
from outboard_bench.sial_runs import Report


@pytest.mark.parametrize(("value", "met"), [(0.0, True), (1.0, True), (1.1, True), (1.2, False)])
def test_bar_of_a_figure_that_must_be_small(value: float, met: bool) -> None:
    bar = Bar.at_most("waiting", value, 1.1, "transfers")
    assert bar.met is met
    assert rows.check([asdict(bar.row)])


@pytest.mark.parametrize(("value", "met"), [(0.98, False), (0.99, True), (1.0, True)])
def test_bar_of_a_figure_that_must_be_large(value: float, met: bool) -> None:
    assert Bar.at_least("hits", value, 0.99, "").met is met


def test_bar_beside_a_figure_of_the_same_run() -> None:
    row = rows.Row.of_runs("sial", "put", 8, [94.0, 96.0, 95.0], "MB/s", 100.0, "plain MPI")
    assert Bar(row, 0.95).met
    assert not Bar(row, 0.96).met


CASE = Case(extent=100, blocks=10, depth="auto", computes=True)


def test_model_is_the_sum_over_the_blocks() -> None:
    seed = random.SystemRandom().randrange(1 << 31)
    print(f"seed {seed}")
    numbers = random.Random(seed)
    for _ in range(100):
        tau, compute = numbers.uniform(0.1, 10), numbers.uniform(0, 20)
        case = replace(CASE, blocks=numbers.randrange(1, 30))
        found = Found(case, tau, tau, compute)
        # The link brings one block after the other, and the worker takes them as they come.
        waited, now = tau, tau
        for number in range(2, case.blocks + 1):
            now += compute
            waited += max(0.0, number * tau - now)
            now = max(now, number * tau)
        assert found.model_ms() == pytest.approx(waited / case.blocks)
        none = Found(replace(case, depth="0"), tau, tau, compute)
        assert none.model_ms() == tau
        many = Found(replace(case, depth="100"), tau, tau, compute)
        assert many.model_sia_ms() >= 0.999 * tau  # all blocks come before the first one is there


def test_rows_become_points_of_the_figures() -> None:
    off, on = (Found(replace(CASE, depth=depth), 2.0, 2.0, 3.0) for depth in ("0", "auto"))
    for found, wait in ((off, 4.0), (on, 0.5)):
        found.values = {
            "hit ratio": [0.75],
            "first-use hits": [0.0],
            "first wait": [4.0],
            "mean wait": [wait],
            "loop": [50.0],
        }
    written = [asdict(row) for found in (off, on) for row in _rows(found, "range")]
    assert rows.check(written)
    points = SHOWS["fetches"](written, "mean wait")
    by_series = {point.series: point for point in points}
    assert by_series["compute N=0"].value == 4
    assert by_series["compute N=auto model"].value == pytest.approx(0.2)
    assert by_series["compute N=0 / N=auto"].value == pytest.approx(8)
    assert {point.x for point in points} == {"10"}
    assert not SHOWS["fetches"](written, "of no row")


def test_seconds_of_a_stretch_end_at_its_barrier() -> None:
    source = ["put a", "sip_barrier", "get a", "x = a", "sip_barrier", "get a", "sip_barrier"]
    lines = {n: {"seconds": 10.0**n, "wait_s": 2 * 10.0**n} for n in range(1, 8)}
    report = Report(2, source, lines)
    assert report.seconds("put a", "sip_barrier") == pytest.approx(3 * (1e1 + 1e2) / 2)
    assert report.seconds("get a", "sip_barrier") == pytest.approx(3 * (1e3 + 1e4 + 1e5) / 2)
    assert report.seconds("get a", "sip_barrier", 1) == pytest.approx(3 * (1e6 + 1e7) / 2)


def test_agent_enters_the_namespace_of_the_host() -> None:
    text = sial_hosts._agent({"10.77.0.1": "one", "10.77.0.2": "two"})
    shown = text.replace("exec ip", "echo ip")
    words = ["sh", "-c", shown, "agent", "-x", "10.77.0.2", "proxy", "--port", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == (
        "ip netns exec two unshare --uts sh -c hostname two; proxy --port 1".split()
    )


@pytest.mark.parametrize(
    "words",
    [["nothing"], ["--depths", "1,x"], ["--ranges", "0"], ["--runs", "0"], ["--mpi", "none"]],
)
def test_bad_options_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        sial.parse(words)
    assert ended.value.code == 2
    assert "error" in capsys.readouterr().err
