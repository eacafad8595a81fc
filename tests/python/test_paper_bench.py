"""Tests `outboard bench paper`: its file, the rows of a figure, its tables and pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import outboard_bench
from outboard.errors import OutboardError
from outboard_bench import (
    blas,
    copies,
    devices,
    fft,
    fft_rows,
    mp2c,
    paper,
    paper_figures,
    paper_points,
    paper_table,
    products,
    redblack,
    rows,
)
from outboard_bench.fft_measure import Result
from outboard_bench.fft_problems import Problem
from outboard_bench.fft_program import Place, Stages
from outboard_bench.paper_figures import Stated
from outboard_bench.paper_points import Point

SOURCES, FIGURES = paper_figures.load()
COMPILED = {"plan_ahead", "byte_swap"}
SECOND_NS = 10**9


def row(case: str, value: float, **others: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "bench": "any",
        "bytes": 1 << 20,
        "unit": "ms",
        "ceiling": None,
        "ceiling_name": None,
        "ratio": None,
        "min": value / 2,
        "max": value * 2,
        "runs": 3,
    }
    return known | {"case": case, "value": value} | others


def values(points: Sequence[Point]) -> dict[tuple[str, str, str], float]:
    found = {(point.series, point.x, point.unit): point.value for point in points}
    assert len(found) == len(points)
    return found


def test_the_file_has_the_figures_and_what_is_said_of_them() -> None:
    chapter_4 = [f"rcpu-4.{number}" for number in range(1, 11)]
    sia = [f"SIA-6.{number}" for number in (*range(1, 10), 12, *range(14, 20))]
    dac = [f"dac-{number}" for number in range(5, 12)]
    assert list(FIGURES) == [
        *chapter_4,
        "rcpu-5.4",
        "rcpu-5.8",
        *dac,
        "dacs-byte-swap",
        "dacs-fftw",
        *sia,
        *(f"PROXY-IV.{number}" for number in range(1, 10)),
    ]
    for figure in FIGURES.values():
        assert figure.differs and figure.title and figure.section
        assert figure.says or figure.table or figure.skipped
        assert all(len(line) == len(figure.columns) for line in figure.table)
        for stated in figure.stated:
            assert re.compile(stated.series) and re.compile(stated.x)
            assert stated.better in ("", "larger", "smaller")
            assert stated.unit != "%" or not stated.better  # a share is neither good nor bad
            assert stated.low <= stated.high


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_run_is_understood(name: str) -> None:
    source = SOURCES[name]
    for arguments in (source.quick, source.full, source.check):
        given = [*arguments, *(["--links", "none"] if source.links else [])]
        if source.bench == "fft":
            fft.parse(given)
        elif source.bench == "blas":
            blas.parse(given)
        elif source.bench == "copies":
            copies.parse(given)
        elif source.bench == "products":
            products.parse(given)
        elif source.bench == "devices":
            devices.parse(given)
        elif source.bench == "mp2c":
            mp2c.parse(given)
        elif source.bench == "redblack":
            redblack.parse(given)
        else:
            assert source.bench in COMPILED | outboard_bench.written_here().keys()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('measured_by = "flops"', 'measured_by = "guess"'), "'guess'"),
        (('shows = "flops"', 'shows = "dreams"'), "'dreams'"),
        (('id = "rcpu-4.2"', 'id = "rcpu-4.1"'), "same id"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    text = paper_figures.FILE.read_text()
    assert change[0] in text
    bad = tmp_path / "paper.toml"
    bad.write_text(text.replace(*change))
    with pytest.raises(ValueError, match=words):
        paper_figures.load(bad)


def test_better_is_larger_in_every_ratio() -> None:
    point = Point("link 10 Gb/s", "1000", 6, "x", 5, 7)
    assert Stated("link .*", "x", low=3, high=3, better="larger").ratio(point.value) == 2
    assert Stated("link .*", "x", low=3, high=3, better="smaller").ratio(point.value) == 0.5
    assert Stated("link .*", "x", low=3, high=4, better="larger").ratio(point.value) is None
    assert Stated("link .*", "x", low=3, high=3).ratio(point.value) is None
    assert Stated("link .*", "x").fits(point)
    assert not Stated("link", "x").fits(point)
    assert not Stated("link .*", "ms").fits(point)
    assert not Stated("link .*", "x", x="^2000$").fits(point)


def test_factorizations_stand_beside_one_device() -> None:
    measured = [
        row("qr n=10240 70 GF/s 20.8 Gb/s g=1 nb=128 chosen", 21000, ceiling=20500),
        row("qr n=10240 70 GF/s 20.8 Gb/s g=3 nb=64 tried", 1, ceiling=1),
        row("qr n=10240 70 GF/s 20.8 Gb/s g=3 nb=128 chosen", 8400, ceiling=8000),
        row("cholesky n=10240 70 GF/s 20.8 Gb/s g=1 nb=128 chosen", 5000, ceiling=5000),
    ]
    figure = FIGURES["dac-9"]
    points = figure.points(measured)
    assert values(points) == {
        ("n=10240", "1", "ms"): 21000,
        ("n=10240 model", "1", "ms"): 20500,
        ("n=10240", "3", "ms"): 8400,
        ("n=10240 model", "3", "ms"): 8000,
        ("n=10240", "3", "x one device"): pytest.approx(2.5),
    }
    assert [point.stated for point in points] == [None, None, None, None, 2.2]
    assert set(values(FIGURES["dac-10"].points(measured))) == {
        ("n=10240", "1", "ms"),
        ("n=10240 model", "1", "ms"),
    }


def test_molecular_dynamics_stands_beside_a_local_device() -> None:
    measured = [
        row("travelling, 5,120,000 particles, local", 400),
        row("travelling, 5,120,000 particles, local again", 402),
        row("travelling, 5,120,000 particles, link 10 Gb/s", 416),
        row("resident, 5,120,000 particles, local", 300),
        row("resident, 5,120,000 particles, shm", 312),
    ]
    figure = FIGURES["dac-11"]
    points = figure.points(measured)
    found = values(points)
    assert found["travelling local", "5120000", "ms"] == 400
    assert found["travelling local again", "5120000", "% of local"] == pytest.approx(100.5)
    assert found["travelling link 10 Gb/s", "5120000", "% of local"] == pytest.approx(104)
    assert found["resident shm", "5120000", "% of local"] == pytest.approx(104)
    stated = {point.series for point in points if figure.stated_for(point) is not None}
    assert stated == {"travelling link 10 Gb/s", "resident shm"}
    with pytest.raises(ValueError, match="no case"):
        figure.points([row("travelling, some particles, local", 1)])


def test_kept_time_stands_beside_a_table_and_its_model() -> None:
    model = {"ceiling_name": "model"}
    measured = [
        row("IV.4, kept sync, 8 nodes", 741, ceiling=738, **model),
        row("IV.4, kept proxy, 8 nodes", 612, ceiling=606, **model),
        row("IV.4, kept proxy, 8 nodes", 82.6, unit="% of sync"),
        row("IV.4, ranks sync: communication, 200", 25, unit="%"),
    ]
    figure = FIGURES["PROXY-IV.4"]
    points = figure.points(measured)
    found = values(points)
    assert found["kept proxy", "8 nodes", "ms"] == 612
    assert found["kept proxy model", "8 nodes", "ms"] == 606
    beside = {(point.series, point.unit): point.stated for point in points}
    assert beside == {
        ("kept sync", "ms"): 738,
        ("kept sync model", "ms"): None,
        ("kept proxy", "ms"): 637,
        ("kept proxy model", "ms"): None,
        ("kept proxy", "% of sync"): 86.3,
        ("ranks sync: communication", "%"): 22.1,
    }
    kernel = FIGURES["PROXY-IV.2"].points([row("IV.2, 2 threads, 360", 52, unit="% of 1 thread")])
    assert kernel[0].stated == 49.7  # 15.25 s of 30.66 s


def test_the_table_of_a_paper_stands_beside_ours() -> None:
    figure = FIGURES["dacs-fftw"]
    beside = {
        (series, x): figure.stated_for(Point(series, x, 1, "s", 1, 1))
        for series in ("local 1 thread", "tcp: comm", "tcp: wall", "local 2 threads")
        for x in ("131072", "256x256x256", "64x64x64")
    }
    found = {key: stated.low for key, stated in beside.items() if stated}
    assert found == {
        ("local 1 thread", "131072"): 0.025,
        ("local 1 thread", "256x256x256"): 6.062,
        ("tcp: comm", "131072"): 0.009,
        ("tcp: comm", "256x256x256"): 0.643,
        ("tcp: wall", "131072"): 0.011,
        ("tcp: wall", "256x256x256"): 0.812,
    }


def measured(problem: Problem) -> list[dict[str, Any]]:
    """Returns rows: locally 4 s with one thread and 2 s with two; over a link 8 s."""
    first = Stages(2 * SECOND_NS, SECOND_NS, 0, SECOND_NS, 4 * SECOND_NS, 1)
    later = Stages(3 * SECOND_NS, 0, 2 * SECOND_NS, SECOND_NS, 8 * SECOND_NS, 1)
    places = [
        Result(Place("local 1 thread"), 0, 4 * SECOND_NS, [4.0 * SECOND_NS] * 3),
        Result(Place("local 2 threads"), 0, 2 * SECOND_NS, [2.0 * SECOND_NS] * 3),
        Result(
            Place("link 10 Gb/s", counters=Path("x")),
            SECOND_NS,
            4 * SECOND_NS,
            [8.0 * SECOND_NS] * 3,
            first,
            [later] * 3,
        ),
    ]
    return [asdict(row) for row in fft_rows.rows_of(problem, places, {})]


def test_times_and_stages_of_the_problems_that_are_asked_for() -> None:
    every = measured(Problem("c2c", (64, 64))) + measured(Problem("c2c", (1024,)))
    link = "link 10 Gb/s"
    assert values(paper_points.times(every, r"^c2c \d+ ")) == {
        ("local 1 thread", "1024", "ms"): 4000,
        ("local 2 threads", "1024", "ms"): 2000,
        (link, "1024", "ms"): 8000,
        (link, "1024", "x"): 0.25,
    }
    shares = values(paper_points.stages(every, r"^c2c \d+x\d+ "))
    assert shares == pytest.approx(
        {
            (f"{link}: to device", "64x64", "%"): 37.5,
            (f"{link}: plan", "64x64", "%"): 0,
            (f"{link}: compute", "64x64", "%"): 25,
            (f"{link}: back", "64x64", "%"): 12.5,
            (f"{link}: other", "64x64", "%"): 25,
            (f"{link}: moving", "64x64", "%"): 50,
            (f"{link}: plan of the first call", "64x64", "%"): 20,
        }
    )
    both = values(paper_points.times_and_stages(every, r"^c2c \d+ "))
    assert both[link, "1024", "x 1 thread"] == 0.5
    seconds = values(paper_points.hybrid(every, r"^c2c \d+ "))
    assert seconds[f"{link}: comm", "1024", "s"] == pytest.approx(4)
    assert seconds[f"{link}: wall", "1024", "s"] == 8
    assert seconds["local 1 thread", "1024", "s"] == 4


def test_planning_ahead_by_hand() -> None:
    measured = [row("tcp planned ahead", 15.0), row("tcp planned late", 20.0)]
    assert values(paper_points.reduction(measured, "")) == {("tcp", "1 MiB", "%"): 25}
    (point,) = paper_points.reduction(measured, "")
    assert (point.low, point.high) == (-50, 62.5)  # computed from 30 and 7.5 ms


def test_products_stand_beside_the_one_that_is_not_pipelined() -> None:
    where = "link 10 Gb/s n=8000 rho=0.5"
    measured = [
        row(f"{where} whole 1", 100.0),
        row(f"{where} alternating 1", 101.0),
        row(f"{where} whole 8", 99.0),
        row(f"{where} alternating 8", 80.0),
        row(f"{where} chosen: hybrid 12", 75.0),
    ]
    found = values(paper_points.panels(measured, ""))
    less = {key: value for key, value in found.items() if key[2] == "% less"}
    assert less == {
        ("n=8000 rho=0.5 alternating", "8", "% less"): pytest.approx(20),
        ("n=8000 rho=0.5 chosen: hybrid", "12", "% less"): pytest.approx(25),
    }
    assert len(found) == 5 + 2
    stated = FIGURES["rcpu-5.8"].stated_for(
        Point("n=8000 rho=0.5 alternating", "8", 20, "% less", 1, 1)
    )
    assert stated is not None and stated.ratio(20) == 1
    with pytest.raises(ValueError, match="'whole' is no case"):
        paper_points.panels([row("whole", 1)], "")


def test_copies_by_block_and_place() -> None:
    measured = [
        row("tcp, host to device, whole", 900.0, ceiling=1000.0, bytes=64 << 20),
        row("tcp, host to device, blocks of 64 KiB", 800.0, ceiling=1000.0, bytes=64 << 20),
        row("tcp, device to host, whole", 700.0, ceiling=1000.0, bytes=64 << 20),
    ]
    assert values(paper_points.blocks(measured, "host to device")) == {
        ("tcp whole", "64 MiB", "MiB/s"): 900,
        ("tcp whole", "64 MiB", "% of transport"): 90,
        ("pure transport of tcp", "64 MiB", "MiB/s"): 1000,
        ("tcp blocks of 64 KiB", "64 MiB", "MiB/s"): 800,
    }
    assert values(paper_points.attached(measured, "device to host")) == {
        ("tcp", "64 MiB", "MiB/s"): 700
    }


def test_swaps_and_operations() -> None:
    swaps = [row("avx2, 64-bit words, 1 thread", 4.0, ceiling=5.0, bytes=16384)]
    assert values(paper_points.swap(swaps, "")) == {
        ("avx2 64-bit words 1 thread", "16 KiB", "us"): pytest.approx(4.096),
        ("avx2 64-bit words 1 thread", "16 KiB", "% of memcpy"): 80,
    }
    counted = [row("2-D, 8x8, ratio", 30.0, unit="flop per element")]
    assert values(paper_points.flops(counted, "")) == {("2-D ratio", "8x8", "flop per element"): 30}


def test_sizes_that_are_numbers_are_sorted() -> None:
    points = [Point("a", x, 1, "ms", 1, 1) for x in ("1", "16", "12", "1")]
    assert paper_points.sizes(points) == ["1", "12", "16"]
    shapes = [Point("a", x, 1, "ms", 1, 1) for x in ("64 KiB", "1 MiB", "12")]
    assert paper_points.sizes(shapes) == ["64 KiB", "1 MiB", "12"]


def link_figure() -> tuple[paper_figures.Figure, list[Point]]:
    figure = FIGURES["rcpu-4.2"]
    return figure, figure.points(measured(Problem("c2c", (1024,))))


def test_theirs_is_in_brackets() -> None:
    figure, points = link_figure()
    lines = {line["series"]: line for line in paper_table.cells(figure, points)}
    assert lines["link 10 Gb/s: compute"]["1024"] == "25 (3)"
    assert lines["link 10 Gb/s: moving"]["1024"] == "50 (97)"
    assert lines["link 10 Gb/s: other"]["1024"] == "25"


@pytest.mark.parametrize(("width", "parts"), [(200, 1), (40, 2), (30, 3)])
def test_a_narrow_terminal_gets_several_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, parts: int
) -> None:
    from rich.console import Console

    monkeypatch.setattr(paper_table, "console", lambda: Console(width=width))
    figure = FIGURES["rcpu-4.6"]
    points = [Point("ratio", str(n), n, "flop", n, n) for n in (1000000, 2000000, 3000000)]
    paper_table.print_figure(figure, points)
    text = capsys.readouterr().out
    assert len(re.findall(r"ratio +flop", text)) == parts
    assert all(f"{n}" in text for n in (1000000, 2000000, 3000000))
    assert "a ratio equal to 129" in re.sub(r"\s+", " ", text)


def test_rows_and_pictures_of_a_figure(tmp_path: Path) -> None:
    figure, points = link_figure()
    paper._write(figure, points, tmp_path / "out")
    assert (tmp_path / "out" / "rcpu-4.2.png").stat().st_size > 1000
    content = rows.load(tmp_path / "out" / "rcpu-4.2.json")
    assert content["says"] == list(figure.says)
    written: list[Mapping[str, Any]] = rows.check(content["rows"])
    by_case = {row["case"]: row for row in written}
    compute = by_case["rcpu-4.2, link 10 Gb/s: compute, 1024"]
    assert (compute["value"], compute["ceiling"]) == (pytest.approx(25), 3)
    assert compute["ceiling_name"] == "RCPU, 4.1"
    paper.Paper().draw(written, tmp_path / "all.svg")
    drawn = (tmp_path / "all.svg").read_text()
    for text in ("rcpu-4.2 link 10 Gb/s", "to device", "link 10 Gb/s: moving", "1024"):
        assert f">{text}</text>" in drawn
    assert ">stated by the paper</text>" in drawn


@pytest.mark.parametrize("points", [[], [Point("a", "1", float("nan"), "ms", 1, 1)]])
def test_a_figure_without_numbers_is_an_error(points: list[Point]) -> None:
    with pytest.raises(OutboardError, match=r"rcpu-4\.1 has no points"):
        paper._check(FIGURES["rcpu-4.1"], points)


def test_the_other_figures_are_measured_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    called: list[str] = []

    def measure(name: str, *arguments: str) -> list[dict[str, Any]]:
        called.append(name)
        if name == "plan_ahead":
            raise OutboardError("no daemon")
        return measured(Problem("c2c", (1024,)))

    monkeypatch.setattr(paper, "_measure", measure)
    kept = tmp_path / "rows.json"
    arguments = ["--figure", "rcpu-4.1,rcpu-4.2,rcpu-5.4", "--links", "none"]
    with pytest.raises(OutboardError, match=r"not measured: rcpu-5\.4 "):
        paper.Paper().run([*arguments, "--full"], kept)
    assert called == ["fft", "plan_ahead"]  # one run for two figures
    assert "rcpu-5.4  not measured: no daemon" in capsys.readouterr().out
    ids = {row["case"].split(", ")[0] for row in rows.check(rows.load(kept))}
    assert ids == {"rcpu-4.1", "rcpu-4.2"}


def test_figures_are_chosen_by_name_or_its_beginning() -> None:
    def chosen(text: str) -> Any:
        return paper.parse(["--figure", text, "--links", "none"], FIGURES).figure

    assert chosen("rcpu-4.1") == ["rcpu-4.1"]
    assert len(chosen("rcpu-4")) == 10
    assert chosen("dacs,rcpu-5.4") == ["rcpu-5.4", "dacs-byte-swap", "dacs-fftw"]
    assert chosen("all") == list(FIGURES)
    assert chosen("list") is None
    named = paper.parse(["PROXY-IV.4", "--links", "none"], FIGURES)
    assert named.figure == ["PROXY-IV.4"]
    with pytest.raises(OutboardError, match="rcpu-9"):
        chosen("rcpu-9")
    assert paper._by_source(["rcpu-4.1", "rcpu-4.6", "rcpu-4.2"], FIGURES) == [
        "rcpu-4.1",
        "rcpu-4.2",
        "rcpu-4.6",
    ]


def test_commands_of_a_run() -> None:
    options = paper.parse(["--links", "10,2.5", "--device-rate", "500GF"], FIGURES)
    command = paper._command(SOURCES["fft"], options)
    assert command[:3] == ("fft", "--kinds", "c2c")
    assert command[-4:] == ("--links", "10,2.5", "--device-rate", "500GF")
    assert paper._command(SOURCES["copies"], options)[-2:] == ("--links", "10")
    without = paper.parse(["--check"], FIGURES)
    assert without.links == "none"
    assert paper._command(SOURCES["products"], without)[-1] == "--loopback"
