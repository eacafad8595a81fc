"""Tests `outboard bench device`: its options and its rows."""

from __future__ import annotations

import pytest

from outboard_bench import device_api, device_places


def test_options() -> None:
    options = device_api.parse(["--parts", "python,between", "--links", "2.5", "--runs", "3"])
    assert options.parts == ("python", "between")
    assert (options.links, options.runs) == ((2.5,), 3)
    assert device_api.parse([]).parts == device_api.PARTS
    assert device_api.parse(["--check"]).runs == 1


@pytest.mark.parametrize("words", [["--parts", "copy"], ["--links", "0"], ["--runs", "0"]])
def test_refused_options(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        device_api.parse(words)
    assert words[0] in capsys.readouterr().err


@pytest.mark.parametrize(("unit", "ratio"), [("GB/s", 2.0), ("1/s", 2.0), ("ms", 0.5), ("%", 0.5)])
def test_a_larger_ratio_is_better(unit: str, ratio: float) -> None:
    made = device_places.row("a case", 8, unit, [4.0, 3.0, 9.0], [2.0], "a limit")
    assert (made.value, made.min, made.max, made.runs) == (4.0, 3.0, 9.0, 3)
    assert made.ratio == pytest.approx(ratio)


def test_a_row_without_a_limit_has_no_ratio() -> None:
    made = device_places.row("a case", 8, "ms", [4.0], [], None)
    assert (made.ceiling, made.ceiling_name, made.ratio) == (None, None, None)
