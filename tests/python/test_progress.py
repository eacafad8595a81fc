"""Tests the progress line of builds."""

from __future__ import annotations

import pytest

from outboard import progress
from outboard.progress import ProgressLine


class Clock:
    """A clock that stands still until it is set."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    result = Clock()
    monkeypatch.setattr(progress, "time", result)
    return result


def test_log_names_the_work_and_the_time_left(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressLine("building", "the library") as line:
        line.update(1, 100, "a.cpp")
        clock.now = 5.0
        line.update(10, 100, "b.cpp")
        clock.now = 60.0
        line.update(20, 100, "c.cpp")
        line.update(21, 100, "d.cpp")
        clock.now = 200.0
        line.update(100, 100, "e.cpp")
    assert capsys.readouterr().err.splitlines() == [
        "outboard: building the library (100 steps)",
        "outboard: building 1 % (1/100)",
        "outboard: building 10 % (10/100)",
        "outboard: building 20 % (20/100, about 4 min left)",
        "outboard: building 100 % (100/100)",
    ]


def test_nothing_to_do_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine("building", "the library"):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1, "5 s"),
        (42, "40 s"),
        (56, "1 min"),
        (400, "7 min"),
        (3590, "1 h 0 min"),
        (4800, "1 h 20 min"),
    ],
)
def test_durations_are_rounded(seconds: float, text: str) -> None:
    assert progress.duration(seconds) == text
