"""Tests the report's line about the work of other programs."""

from __future__ import annotations

import time

import pytest

from blocks import block
from outboard import counters, load
from outboard.load import Load, Meter
from outboard.report import Report


@pytest.mark.parametrize(
    ("others", "own", "cores", "disturbs"),
    [
        (1.0, 1.0, 2, True),
        (0.3, 1.6, 2, True),
        (0.1, 1.9, 2, False),  # the command itself keeps the machine busy
        (1.0, 0.3, 2, False),  # there was room for both
        (5.2, 20.0, 64, False),
        (40.0, 20.0, 64, True),
    ],
)
def test_others_disturb_on_a_full_machine(
    others: float, own: float, cores: int, disturbs: bool
) -> None:
    assert Load(others, own, cores).disturbs == disturbs


def test_the_report_says_so() -> None:
    report = Report([counters.parse(block({"dgemm": {"calls": 1}}))], [])  # type: ignore[arg-type]
    quiet = report.headlines()
    report.load = Load(0.0, 1.0, 2)
    assert report.headlines() == quiet
    report.load = Load(1.04, 0.96, 2)
    line = "other programs used 1.0 of 2 cores meanwhile, so these times are upper bounds"
    assert report.headlines() == [*quiet, f"outboard: {line}"]
    assert (report.to_json()["other_cores"], report.to_json()["cores"]) == (1.04, 2)
    report.processes.clear()
    assert line not in " ".join(report.headlines())


def test_the_time_of_others_is_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    now, busy, own = 0.0, 100.0, 3.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(load, "_busy_s", lambda: busy)
    monkeypatch.setattr(load, "_own_s", lambda: own)
    meter = Meter()
    now, busy, own = 0.05, 100.1, 3.05
    assert meter.load() is None, "too short"
    now, busy, own = 10.0, 118.0, 9.0
    measured = meter.load()
    assert measured is not None
    assert (measured.other_cores, measured.own_cores) == pytest.approx((1.2, 0.6))


def test_real_figures() -> None:
    meter = Meter()
    time.sleep(0.15)
    measured = meter.load()
    assert measured is not None
    assert 0 <= measured.other_cores <= measured.cores + 1
