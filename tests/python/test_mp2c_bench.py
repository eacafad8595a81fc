"""Tests `outboard bench mp2c`: its options, the figures of a run, its rows, its model, its
picture."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from outboard_bench import mp2c, mp2c_run, rows
from outboard_bench.link import Speed
from outboard_bench.mp2c_run import Outcome, Place, Problem

PROBLEM = Problem("travelling", 20, 4, 1)
# 1 Gb/s both ways, and a burst of 0: 1 MB takes 8 ms
LINK = Place("link 1 Gb/s", "far:1", speed=Speed([1.0], [1.0], 0))


def outcome(ms: float, digest: int = 7) -> Outcome:
    return Outcome(ms, device_ms=6.0, bytes_to=1_000_000, bytes_from=2_000_000, digest=digest)


def test_figures_leave_out_the_first_collisions() -> None:
    rank = {"device_s": 0.7, "to_device_bytes": 400, "from_device_bytes": 800}
    found = mp2c_run.outcome_of(
        {
            "collision_seconds": [0.4, 0.3, 0.1, 0.2],
            "ranks": [rank, {**rank, "device_s": 0.75}],
            "measurements": [{"digest": 1}, {"digest": 2}],
        }
    )
    assert found.ms == pytest.approx(150)
    assert found.device_ms == pytest.approx((0.75 - 0.4) / 4 * 1e3)
    assert (found.bytes_to, found.bytes_from, found.digest) == (200, 400, 2)


def test_the_model_of_travelling_particles_overlaps_with_the_device() -> None:
    # 10 ms, of which 6 are the device's; 16 ms down, and an eighth of the 8 ms up
    assert mp2c.model_ms(PROBLEM, LINK, [outcome(10)]) == pytest.approx(10 - 6 + 16 + 1)


def test_the_model_of_resident_particles_waits_for_all_bytes() -> None:
    resident = Problem("resident", 20, 4, 1)
    assert mp2c.model_ms(resident, LINK, [outcome(10)]) == pytest.approx(10 + 8 + 16)


def test_rows() -> None:
    places = [Place("local", "local:cpu"), Place("local again", "local:cpu"), LINK]
    found = mp2c.rows_of(PROBLEM, places, [[outcome(10)] * 3, [outcome(8)] * 3, [outcome(42)] * 3])
    local, again, link = found
    assert local.case == "travelling, 80,000 particles, local"
    assert (local.value, local.ceiling) == (10, None)
    assert (again.ratio, again.ceiling_name) == (1.25, "local")
    assert (link.ratio, link.ceiling_name) == (0.5, "model")
    assert rows.check([asdict(row) for row in found])


def test_the_picture_has_a_panel_for_each_problem(tmp_path: Path) -> None:
    places = [Place("local", "local:cpu"), Place("shm", "unix:a"), LINK]
    outcomes = [[outcome(10)], [outcome(10.1)], [outcome(42)]]
    found = [
        asdict(row)
        for problem in (PROBLEM, Problem("resident", 20, 4, 2))
        for row in mp2c.rows_of(problem, places, outcomes)
    ]
    file = tmp_path / "mp2c.svg"
    mp2c.Mp2c().draw(found, file)
    assert "resident, 80,000 particles, 2 ranks" in file.read_text()


@pytest.mark.parametrize("words", [["--edges", "3"], ["--placements", "other"], ["--runs", "0"]])
def test_wrong_options(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        mp2c.parse([*words, "--links", "none"])


def test_the_boxes_of_the_paper() -> None:
    options = mp2c.parse(["--edges", "80,90,100", "--links", "none"])
    sizes = sorted({problem.particles for problem in options.problems})
    assert sizes == [5_120_000, 7_290_000, 10_000_000]
