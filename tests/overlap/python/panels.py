"""Panels of all layouts, and moves, in three of the modes, beside what every rank computes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from ranks import FIXED_MODES, WORLD, generator, run

from outboard import overlap

RANDOM = generator()


def one_panel(k: int) -> tuple[NDArray[Any], str]:
    """Returns a panel, as all ranks draw it, and the order of its elements."""
    order = "CF"[int(RANDOM.integers(2))]
    shape = tuple(
        int(n) for n in RANDOM.integers(0 if k == 2 else 1, 40, int(RANDOM.integers(1, 4)))
    )
    kind = ["float64", "complex64", "int8"][int(RANDOM.integers(3))]
    elements = RANDOM.integers(0, 100, shape).astype(kind)
    return np.asarray(elements, order=order), order


def panels() -> None:
    for mode in RANDOM.permutation(FIXED_MODES)[:3].tolist():
        look_ahead = int(RANDOM.integers(0, 4))
        owners = [int(n) for n in RANDOM.integers(0, WORLD.size, 5)]
        drawn = [one_panel(k) for k in range(len(owners))]
        right = [np.array(panel) for panel, _ in drawn]
        with overlap.Runtime(WORLD, mode) as rt:
            plan = overlap.PanelPlan(rt, WORLD, look_ahead=look_ahead)
            for owner, (panel, order) in zip(owners, drawn, strict=True):
                if owner == WORLD.rank:
                    plan.add(owner, panel)
                else:
                    plan.add(owner, shape=panel.shape, dtype=panel.dtype, order=order)
            plan.commit()
            for _ in range(2):
                started = 0
                for k in range(len(owners)):
                    while started < min(len(owners), k + 1 + look_ahead):
                        plan.start(started)
                        started += 1
                    assert plan.under_way
                    if plan.ticks:
                        rt.tick()
                    plan.wait(k)
                    got = plan[k]
                    assert not got.flags.writeable
                    np.testing.assert_array_equal(got, right[k])
                    assert got.dtype == right[k].dtype
                # The next round has other elements.
                for owner, (panel, _), expected in zip(owners, drawn, right, strict=True):
                    expected += 1
                    if owner == WORLD.rank:
                        panel += 1
            assert not plan.under_way


def moves() -> None:
    """Message t goes from a random rank to another one, or to itself, between views with gaps."""
    for mode in RANDOM.permutation(FIXED_MODES)[:3].tolist():
        count = 12
        ends = RANDOM.integers(0, WORLD.size, (count, 2))
        source = np.zeros((count, 50))
        target = np.full((50, count), -1.0)
        expected = target.copy()
        with overlap.Runtime(WORLD, mode) as rt:
            plan = overlap.MovePlan(rt, WORLD)
            for t, (sender, receiver) in enumerate(ends.tolist()):
                out, into = source[t, 3::2], target[-1:2:-2, t]  # the second one is backwards
                if sender == receiver == WORLD.rank:
                    plan.move(out, into)
                elif sender == WORLD.rank:
                    plan.send(out, receiver, t)
                elif receiver == WORLD.rank:
                    plan.receive(into, sender, t)
            plan.commit()
            for step in range(2):
                values = RANDOM.integers(0, 1000, (WORLD.size, count, 50))
                source[...] = values[WORLD.rank]
                for t, (sender, receiver) in enumerate(ends.tolist()):
                    if receiver == WORLD.rank:
                        expected[-1:2:-2, t] = values[sender, t, 3::2]
                with plan.start():
                    pass
                np.testing.assert_array_equal(target, expected, f"step {step}, mode {mode}")


run(panels, moves)
