"""The history checker finds nothing in good histories, and each of twelve kinds of wrong ones."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pool_commands import fresh_seed
from pool_histories import CHECKER, VIOLATIONS, History, check_history

from outboard.pool.simulate import World


@pytest.fixture(scope="module")
def good() -> History:
    seed = fresh_seed()
    world = World(seed, record=True)
    world.run(15_000)
    assert isinstance(world.oracle.events, list)  # type: ignore[attr-defined]
    return world.oracle.events  # type: ignore[attr-defined, no-any-return]


def test_a_good_history(good: History) -> None:
    assert check_history.check(good) == []


@pytest.mark.parametrize("violate", VIOLATIONS, ids=lambda violate: violate.__name__)
def test_a_violation_is_found(violate: Callable[[History], None], good: History) -> None:
    history = list(good)
    violate(history)
    wrong = check_history.check(history)
    assert any(re.search(VIOLATIONS[violate], text) for text in wrong), wrong[:3]


def test_the_command(good: History, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(json.dumps(event) + "\n" for event in good))
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    run = subprocess.run(
        [sys.executable, str(CHECKER), str(log)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert f"{len(good)} events, 0 problem(s)" in run.stdout
