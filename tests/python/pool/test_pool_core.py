"""The core is pure: it imports nothing that could tell the time, throw dice, or reach a file."""

from __future__ import annotations

import ast
import copy
from pathlib import Path

import pytest
from pool_commands import fresh_seed

from outboard.pool import core
from outboard.pool.core.apply import apply
from outboard.pool.core.commands import Command
from outboard.pool.core.state import Config, State
from outboard.pool.simulate import World
from outboard.pool.simulation import manager
from outboard.pool.store.memory import MemoryStore

# Modules that compute, and do nothing else.
PURE = {
    "__future__",
    "collections.abc",
    "dataclasses",
    "enum",
    "bisect",
    "functools",
    "heapq",
    "statistics",
    "typing",
}
PURE |= {"itertools", "msgspec", "msgspec.structs", "operator"}


def _imported(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("file", sorted(Path(core.__path__[0]).glob("*.py")), ids=lambda f: f.stem)
def test_core_imports_nothing_from_outside(file: Path) -> None:
    inside = {name for name in _imported(file) if name.startswith("outboard.pool.core")}
    assert _imported(file) - inside - PURE == set()


def recorded(
    seed: int, operations: int, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[int, Command]]:
    """Returns the commands that a simulated manager got, with their times."""
    commands = []

    def record(state: State, command: Command, now_ms: int) -> object:
        commands.append((now_ms, command))
        return apply(state, command, now_ms)

    monkeypatch.setattr(manager, "apply", record)
    World(seed).run(operations)
    return commands


def test_the_same_arguments_give_the_same_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = fresh_seed()
    one, other = State(Config()), State(Config())
    for number, (now_ms, command) in enumerate(recorded(seed, 4_000, monkeypatch)):
        outcome = apply(one, command, now_ms)
        if number % 50 == 0:
            other = copy.deepcopy(other)
        again = apply(other, command, now_ms)
        assert outcome[1:] == again[1:], (number, command)
    assert one == other


def test_the_changes_are_all_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that applies the changes has the tables of the state after each command."""
    seed = fresh_seed()
    state, store = State(Config()), MemoryStore()
    for number, (now_ms, command) in enumerate(recorded(seed, 10_000, monkeypatch)):
        before = state.rev
        outcome = apply(state, command, now_ms)
        assert state.rev == before + bool(outcome.changes)
        store.commit(state.rev, state.now_ms, outcome.changes)
        if number % 20 == 0:
            for name, table in store.tables.items():
                assert getattr(state, name) == table, (number, name, command)
