"""Short forms for tests of the pool's core: one daemon after the other, one clock."""

from __future__ import annotations

import os
import random
from typing import Any

from outboard.pool.core.apply import Outcome, apply
from outboard.pool.core.commands import (
    Command,
    DeviceFacts,
    DeviceReport,
    Heartbeat,
    PutLease,
    RegisterDaemon,
    Release,
    Renew,
    SessionReport,
    Start,
    Tick,
)
from outboard.pool.core.records import Lease, Request
from outboard.pool.core.replies import Answer, LeaseView
from outboard.pool.core.state import (
    Allocation,
    Config,
    Health,
    State,
    allocation,
    health,
    living_handles,
)
from outboard.pool.store.memory import MemoryStore

MEMORY = 1000
SECOND = 1_000


def fresh_seed() -> int:
    """Returns a seed, and prints how the test is repeated."""
    seed = int(os.environ.get("OUTBOARD_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"seed: OUTBOARD_TEST_SEED={seed}")
    return seed


class Pool:
    """A state, its store, and the time. Daemons are named n0, n1, ..., devices n0/0, n0/1, ..."""

    def __init__(self, daemons: int = 1, devices: int = 1, **config: Any) -> None:
        self.config = Config(**config)
        self.state = State(self.config)
        self.store = MemoryStore()
        self.now_ms = 1_000_000
        self.devices = {f"n{n}": [f"n{n}/{d}" for d in range(devices)] for n in range(daemons)}
        self.instances = dict.fromkeys(self.devices, 1)
        self.seqs = dict.fromkeys(self.devices, 0)
        for daemon in self.devices:
            self.register(daemon)
            self.beat(daemon)

    def do(self, command: Command) -> Outcome:
        outcome = apply(self.state, command, self.now_ms)
        self.store.commit(self.state.rev, self.state.now_ms, outcome.changes)
        return outcome

    def ask(self, command: Command) -> Any:
        answer: Answer = self.do(command).answer
        return answer

    def wait(self, ms: int, beating: bool = True) -> None:
        """Time passes; daemons that beat do so each second."""
        end = self.now_ms + ms
        while self.now_ms < end:
            self.now_ms = min(end, self.now_ms + SECOND)
            if beating:
                self.beat_all()
            self.do(Tick())

    def register(self, daemon: str, **facts: Any) -> Any:
        found = tuple(DeviceFacts(d, "gpu", "m", MEMORY) for d in self.devices[daemon])
        instance = f"{daemon}.{self.instances[daemon]}"
        return self.ask(RegisterDaemon(daemon, instance, found, **facts))

    def restart_daemon(self, daemon: str) -> Any:
        self.instances[daemon] += 1
        self.seqs[daemon] = 0
        return self.register(daemon)

    def beat(
        self,
        daemon: str = "n0",
        rev: int | None = None,
        floor: int | None = None,
        sessions: tuple[SessionReport, ...] = (),
        **report: Any,
    ) -> Any:
        """A heartbeat that confirms all, unless told otherwise."""
        self.seqs[daemon] += 1
        reports = []
        for device in self.devices[daemon]:
            record = self.state.devices[device]
            said = record.floor if floor is None else floor
            reports.append(DeviceReport(device, said, sessions, **report))
        rev = self.state.rev if rev is None else rev
        instance = f"{daemon}.{self.instances[daemon]}"
        return self.ask(Heartbeat(daemon, instance, self.seqs[daemon], rev, tuple(reports)))

    def beat_all(self) -> None:
        for daemon in self.devices:
            self.beat(daemon)

    def restart_manager(self) -> None:
        self.state = self.store.load(self.config)
        self.do(Start())

    def put(self, lease: str, holder: str = "ada", **request: Any) -> Any:
        return self.ask(PutLease(lease, holder, Request(**request)))

    def held(self, lease: str, holder: str = "ada", **request: Any) -> LeaseView:
        view = self.put(lease, holder, **request)
        assert isinstance(view, LeaseView)
        assert view.state == "held"
        return view

    def renew(self, lease: str, holder: str = "ada", unreachable: tuple[str, ...] = ()) -> Any:
        return self.ask(Renew(holder, (lease,), unreachable)).leases[0]

    def release(self, lease: str, holder: str = "ada") -> Any:
        return self.ask(Release(lease, holder))

    def lease(self, lease: str) -> Lease:
        return self.state.leases[lease]

    def where(self, lease: str) -> list[str]:
        if lease not in self.state.leases:
            return []
        return sorted(handle.device for handle in living_handles(self.state, lease))

    def allocation(self, device: str = "n0/0") -> Allocation:
        return allocation(self.state, device)

    def health(self, device: str = "n0/0") -> Health:
        return health(self.state, device)
