"""Tests the benchmarks of the pool at their smallest size."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from outboard import paths
from outboard_bench import rows, written_here

pytestmark = pytest.mark.end_to_end

CASES = {
    "pool": ["acquire p50", "acquire p99", "page", "manager's cores", "manager's memory"],
    "pool_job": [
        "with --server",
        "under the pool",
        "with --wait --require",
        "under the pool: longer by",
        "with --wait --require: longer by",
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_smallest(name: str, tmp_path: Path, native: paths.Native) -> None:
    file = tmp_path / "rows.json"
    assert written_here()[name].run(["--check"], file) == 0
    found = rows.check(rows.load(file))
    assert [row["case"] for row in found] == CASES[name]
    assert all(row["min"] <= row["value"] <= row["max"] for row in found)
    assert all(row["min"] > 0 for row in found if "longer" not in row["case"])


@pytest.mark.parametrize("name", CASES)
def test_wrong_options(name: str) -> None:
    for wrong in (["--runs"], ["--seconds", "0"], ["--none", "3"], ["-1"]):
        with pytest.raises(click.UsageError, match=f"{name} takes --"):
            written_here()[name].run(wrong, None)
