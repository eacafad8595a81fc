"""Tests the comparison of results for `outboard demo`."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest

from outboard import demo
from outboard.errors import OutboardError


def difference(tmp_path: Path, left: list[float], right: list[float]) -> demo.Difference:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(struct.pack(f"<{len(left)}d", *left))
    b.write_bytes(struct.pack(f"<{len(right)}d", *right))
    return demo.compare(a, b)


def test_largest_difference(tmp_path: Path) -> None:
    found = difference(tmp_path, [1.0, -4.0, 2.0], [1.5, -4.0, 1.75])
    assert (found.elements, found.largest, found.scale) == (3, 0.5, 4.0)
    assert found.relative == 0.125
    assert not found.only_rounding
    assert "THE RESULTS DIFFER" in found.line()


def test_rounding(tmp_path: Path) -> None:
    found = difference(tmp_path, [1.0, 1000.0], [1.0 + 1e-12, 1000.0])
    assert found.only_rounding
    assert "rounding only" in found.line()


def test_nan_on_one_side_only_differs(tmp_path: Path) -> None:
    assert not difference(tmp_path, [1.0, 2.0], [1.0, math.nan]).only_rounding
    assert difference(tmp_path, [1.0, math.nan], [1.0, math.nan]).only_rounding


def test_infinities(tmp_path: Path) -> None:
    assert not difference(tmp_path, [1.0, math.inf], [1.0, 1.0]).only_rounding


def test_nothing_is_not_a_result(tmp_path: Path) -> None:
    assert not difference(tmp_path, [], []).only_rounding


def test_results_that_cannot_be_compared(tmp_path: Path) -> None:
    with pytest.raises(OutboardError, match="1 and 2 numbers"):
        difference(tmp_path, [1.0], [1.0, 2.0])
    (tmp_path / "odd").write_bytes(b"123")
    with pytest.raises(OutboardError, match="no usable result"):
        demo.compare(tmp_path / "odd", tmp_path / "odd")
    with pytest.raises(OutboardError, match="no usable result"):
        demo.compare(tmp_path / "missing", tmp_path / "missing")
