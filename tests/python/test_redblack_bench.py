"""Tests `outboard bench redblack`: its options, tables and rows, and the runs of its program."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from outboard.errors import OutboardError
from outboard_bench import netns, paper_figures, redblack, redblack_runs
from outboard_bench.proxy_tables import TABLES, Kept, Kernel, Node, Ranks
from outboard_bench.redblack_runs import CHECK, FULL, QUICK, Place, Times

# Milliseconds of an iteration, by mode: total, relaxation, communication.
TIMES = {
    "sync": Times(740, 560, 180),
    "async": Times(750, 560, 190),
    "ticked": Times(590, 580, 10),
    "shared": Times(630, 600, 30),
    "proxy": Times(610, 607, 3),
}


class Program:
    """Takes the place of redblack3d, and keeps the words of each run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.runs: list[list[str]] = []
        self.rates: list[float] = []

        def run(place: Place, ranks: Any, edge: int, count: int, mode: str, *more: str) -> Times:
            self.runs.append([f"{ranks[0] + ranks[1]} ranks", str(edge), str(count), mode, *more])
            return TIMES[mode]

        @contextlib.contextmanager
        def link(rate: float, burst: int | None) -> Iterator[None]:
            self.rates.append(rate)
            yield None

        @contextlib.contextmanager
        def over_link(link: None, mpi: str) -> Iterator[None]:
            yield None

        monkeypatch.setattr(redblack_runs, "_run", run)
        monkeypatch.setattr(redblack_runs, "Link", link)
        monkeypatch.setattr(redblack_runs, "over_link", over_link)


def values(found: Sequence[Any]) -> dict[tuple[str, str], tuple[float, float | None]]:
    return {(row.case, row.unit): (row.value, row.ceiling) for row in found}


def test_the_output_of_the_program_is_read() -> None:
    output = "64^3 cells, 2 iterations: 41.580 ms each\nrelaxation 12.672 ms, communication 28.9 ms"
    assert redblack_runs.times_of(output) == Times(41.58, 12.672, 28.9)
    with pytest.raises(OutboardError, match="printed no times: 'no rank'"):
        redblack_runs.times_of("no rank\n")


def test_options() -> None:
    assert redblack.parse([]).tables == tuple(TABLES)
    assert redblack.parse([]).sizes is QUICK
    assert redblack.parse(["--tables", "IV.4,IV.1", "--full"]).tables == ("IV.4", "IV.1")
    assert redblack.parse(["--full"]).sizes is FULL
    assert redblack.parse(["--check"]).sizes is CHECK
    for bad in (["--tables", "IV.10"], ["--check", "--full"]):
        with pytest.raises(SystemExit):
            redblack.parse(bad)


def test_the_halo_of_kept_time_is_what_the_table_does_not_relax() -> None:
    """A table's synchronous iteration is its relaxation and the halo."""
    figures = paper_figures.load()[1]
    for name, parts in TABLES.items():
        stated = {
            (stated.series, stated.unit): stated.low for stated in figures[f"PROXY-{name}"].stated
        }
        for part in parts:
            if isinstance(part, Kept) and stated:
                assert stated["kept sync", "ms"] == part.variants[0].relax_ms + part.halo_ms


def test_kept_time_stands_beside_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(monkeypatch)
    (kept,) = (part for part in TABLES["IV.4"] if isinstance(part, Kept))
    found = values(redblack_runs.rows_of("IV.4", kept, QUICK))
    assert found == {
        ("IV.4, kept sync, 8 nodes", "ms"): (740, 557 + 181),
        ("IV.4, kept proxy, 8 nodes", "ms"): (610, 606),
        ("IV.4, kept proxy, 8 nodes", "% of sync"): (pytest.approx(100 * 610 / 740), None),
    }
    assert program.runs[0] == ["2 ranks", "256", "4", "sync", "--relax-ms", "557.0000"]
    # A face of 256 x 256 doubles in each of two sweeps takes 181 ms.
    assert program.rates == [pytest.approx(2 * 256 * 256 * 64 / 0.181 * 1e-9)]
    assert len(program.runs) == 2 * QUICK.turns


def test_a_short_relaxation_is_hidden_behind_the_halo(monkeypatch: pytest.MonkeyPatch) -> None:
    Program(monkeypatch)
    kept = Kept("few cells", 900, TABLES["IV.4"][1].variants)  # type: ignore[union-attr]
    found = values(redblack_runs.rows_of("IV.4", kept, QUICK))
    assert found["IV.4, kept proxy, few cells", "ms"] == (610, 900)


def test_two_ranks_have_the_part_of_the_halo_that_the_table_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = Program(monkeypatch)
    ranks = Ranks(800, ("sync", "shared"))
    found = values(redblack_runs.rows_of("IV.4", ranks, QUICK))
    assert found == {
        ("IV.4, ranks sync: communication, 200", "%"): (pytest.approx(18000 / 740), None),
        ("IV.4, ranks sync, 200", "ms"): (740, 560),
        ("IV.4, ranks shared, 200", "ms"): (630, 560),
        ("IV.4, ranks shared, 200", "% of sync"): (pytest.approx(63000 / 740), None),
    }
    assert program.rates == [4.0]
    assert "--periodic" in program.runs[0]
    redblack_runs.rows_of("IV.4", ranks, FULL)
    assert program.rates == [4.0, 1.0]
    assert program.runs[-1][:3] == ["2 ranks", "800", "16"]


def test_threads_stand_beside_one_thread_and_beside_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = Program(monkeypatch)
    kernel = values(redblack_runs.rows_of("IV.2", Kernel((360,)), FULL))
    assert kernel["IV.2, 2 threads, 360", "% of 1 thread"] == (100, None)
    node = values(redblack_runs.rows_of("IV.3", Node((360,)), QUICK))
    assert node["IV.3, communication, 240", "% of processes"] == (
        pytest.approx(18000 / 740),
        None,
    )
    words = {(run[0], *run[4:]) for run in program.runs}
    assert words == {("1 ranks",), ("1 ranks", "--threads", "2"), ("2 ranks",)}


def test_without_root_only_one_node_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def refuse() -> None:
        raise OutboardError("emulated links need root")

    monkeypatch.setattr(netns, "require_root", refuse)
    monkeypatch.setattr(redblack_runs, "program", lambda: tmp_path)
    Program(monkeypatch)
    assert redblack.Redblack().run(["--tables", "IV.2,IV.4", "--check"], None) == 0
    said = capsys.readouterr()
    assert "IV.2, 1 thread, 24" in said.out and "IV.4" not in said.out
    assert "skipped: emulated links need root" in said.err
    assert redblack.Redblack().run(["--tables", "IV.5", "--check"], None) == 77
