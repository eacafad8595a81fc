"""Runs the pool in virtual time. A broken rule must be found, whichever it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from pool_commands import fresh_seed

from outboard.pool.core import devices, handles, schedule, timers
from outboard.pool.core.apply import apply
from outboard.pool.core.commands import Start
from outboard.pool.core.records import Handle
from outboard.pool.simulate import World
from outboard.pool.simulation import manager as manager_module
from outboard.pool.simulation.gate_model import LeaseGate
from outboard.pool.simulation.manager import Manager
from outboard.pool.simulation.oracle import ViolationError

OPERATIONS = 1_000_000


@pytest.mark.parametrize("unsafe", [False, True], ids=["confirmed", "grant-unconfirmed"])
def test_invariants_hold(unsafe: bool) -> None:
    seed = fresh_seed()
    world = World(seed, grant_unconfirmed=unsafe)
    world.run(OPERATIONS // 10 if unsafe else OPERATIONS)
    assert world.oracle.grants > 100
    assert world.oracle.commands > 1000


def test_a_seed_gives_one_history() -> None:
    worlds = [World(7), World(7)]
    for world in worlds:
        world.run(5_000)
    first, second = (w.manager.store for w in worlds)
    assert first.tables == second.tables
    assert first.audit == second.audit
    assert first.audit


def _gate_without_floors(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LeaseGate, "_is_over", lambda self, device, token: False)


def _gate_that_does_not_wait(patch: pytest.MonkeyPatch) -> None:
    """A closed session is forgotten while its command runs."""
    patch.setattr(LeaseGate, "_close", _close_at_once)


def _close_at_once(self: LeaseGate, device: object, session: object) -> None:
    session.closed = True  # type: ignore[attr-defined]
    device.sessions.pop(session.id, None)  # type: ignore[attr-defined]


def _confirmed_with_open_sessions(patch: pytest.MonkeyPatch) -> None:
    report = devices._report
    patch.setattr(devices, "_report", lambda tx, r, rev: report(tx, replace(r, sessions=()), rev))


def _answers_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    def handle(self: Manager, command: object, reply: Callable[[object], None]) -> None:
        if self.alive:
            outcome = apply(self.state, command, self._clock.now_ms)  # type: ignore[arg-type]
            self._oracle.answered(outcome.answer)
            reply(outcome.answer)
            self.store.commit(self.state.rev, self.state.now_ms, outcome.changes)
            self._oracle.committed(outcome.changes)

    patch.setattr(Manager, "handle", handle)


def _leases_without_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(timers, "_lease", lambda tx, key, held: None)


def _gangs_never_start(patch: pytest.MonkeyPatch) -> None:
    grant = handles.grant
    patch.setattr(
        schedule,
        "grant",
        lambda tx, lease, demand, found: (
            None if demand.count > 1 else grant(tx, lease, demand, found)
        ),
    )


def _epochs_that_repeat(patch: pytest.MonkeyPatch) -> None:
    """A new grant has the epoch of the one before."""
    patch.setattr(
        handles,
        "Handle",
        lambda device, epoch, *rest, **more: Handle(device, max(1, epoch - 1), *rest, **more),
    )


def _granted_before_confirmation(patch: pytest.MonkeyPatch) -> None:
    end = handles.end_handle

    def end_and_close(tx: object, handle: Handle, *rest: object, **more: object) -> None:
        end(tx, handle, *rest, **more)  # type: ignore[arg-type]
        ended = tx.state.handles.get((handle.device, handle.epoch))  # type: ignore[attr-defined]
        if ended is not None:
            handles.close_handle(tx, ended)  # type: ignore[arg-type]

    for module in (handles, devices, timers):
        patch.setattr(module, "end_handle", end_and_close)


def _starts_without_its_handles(patch: pytest.MonkeyPatch) -> None:
    def forgetful(state: object, command: object, now_ms: int) -> object:
        if isinstance(command, Start) and state.handles:  # type: ignore[attr-defined]
            for lease in state.leases.values():  # type: ignore[attr-defined]
                if lease.state == "held":
                    state.leases[lease.id] = replace(lease, end_ms=0)  # type: ignore[attr-defined]
            state.devices = {  # type: ignore[attr-defined]
                name: replace(device, epoch=0, floor=1)
                for name, device in state.devices.items()  # type: ignore[attr-defined]
            }
        return apply(state, command, now_ms)  # type: ignore[arg-type]

    patch.setattr(manager_module, "apply", forgetful)


@pytest.mark.parametrize(
    ("fault", "invariants"),
    [
        (_gate_without_floors, "I1|I3|clean"),
        (_gate_that_does_not_wait, "I1|clean"),
        (_confirmed_with_open_sessions, "clean"),
        (_answers_before_the_commit, "I4"),
        (_leases_without_end, "I5|I6"),
        (_gangs_never_start, "I6"),
        (_epochs_that_repeat, "I2|I4"),
        (_granted_before_confirmation, "clean"),
        (_starts_without_its_handles, "I2"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__.strip("_"),
)
def test_the_oracle_finds(
    fault: Callable[[pytest.MonkeyPatch], None], invariants: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    with pytest.raises(ViolationError, match=f"^({invariants}):"):
        for seed in range(5):
            World(seed).run(60_000)
