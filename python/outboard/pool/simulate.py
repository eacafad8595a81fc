"""Simulates a pool in virtual time: python -m outboard.pool.simulate --operations 1000000

The core, the store in memory and the model of the gate are the real ones. Messages are lost, late
and repeated, hosts are cut off, daemons and the manager crash, clients die. An oracle with books of
its own checks the invariants I1 to I6 of docs/pool.md. A seed gives one history.
"""

from __future__ import annotations

import argparse
import sys
import time
from random import Random, SystemRandom

from outboard.pool.core.commands import ClearDevice, SetAdmin
from outboard.pool.core.records import Admin
from outboard.pool.core.replies import Answer
from outboard.pool.core.state import Config
from outboard.pool.simulation.clock import Clock
from outboard.pool.simulation.daemon import Daemon
from outboard.pool.simulation.holder import LONGEST_COMMAND_MS, LONGEST_HOLD_MS, Holder
from outboard.pool.simulation.manager import NAME as MANAGER
from outboard.pool.simulation.manager import Manager
from outboard.pool.simulation.network import Network
from outboard.pool.simulation.oracle import Oracle, ViolationError
from outboard.pool.simulation.recorder import Recorder

_DAEMONS, _DEVICES_EACH, _HOLDERS = 4, 2, 10
_STORM_EVENTS = 20_000  # events between two calm times
_TTL_MS = 30_000
# When calm begins: a token or a desired state may be late by 8 s, a daemon may be down for 20 s, a
# name may be taken for 10 s, a lease may live for T, a command runs for its time.
_BOUND_MS = 8_000 + 20_000 + 10_000 + _TTL_MS + LONGEST_COMMAND_MS + 10_000


class World:
    """A pool of 8 devices on 4 hosts, and 10 clients."""

    def __init__(self, seed: int, grant_unconfirmed: bool = False, record: bool = False) -> None:
        """`record`: the oracle is a Recorder, which keeps the history."""
        self.random = Random(seed)
        self.clock = Clock()
        self.oracle = Recorder(self.clock) if record else Oracle(not grant_unconfirmed)
        self.network = Network(self.clock, self.random)
        config = Config(grant_unconfirmed=grant_unconfirmed)
        self.daemons: dict[str, Daemon] = {}
        self.manager = Manager(self.clock, self.random, self.oracle, config, self._push)
        for number in range(_DAEMONS):
            name = f"node{number}"
            devices = [f"{name}/{index}" for index in range(_DEVICES_EACH)]
            self.daemons[name] = Daemon(
                name, devices, self.clock, self.random, self.network, self.manager, self.oracle
            )
        self.holders = [
            Holder(
                f"user{i}",
                self.clock,
                self.random,
                self.network,
                self.manager,
                self.daemons,
                self.oracle,
            )
            for i in range(_HOLDERS)
        ]
        self._calm = False
        self.clock.after(1_000, self._chaos)

    def run(self, operations: int) -> None:
        """Storms and calm times in turns, for at least so many events."""
        while self.clock.events < operations:
            self._storm(min(self.clock.events + _STORM_EVENTS, operations))
            self._become_calm()

    def _push(self, daemon: str, desired: Answer) -> None:
        target = self.daemons.get(daemon)
        if target is not None:
            self.network.send(MANAGER, daemon, lambda: target.desire(desired))

    def _storm(self, until_events: int) -> None:
        self.network.calm = self._calm = False
        self.manager.crash_chance = 0.002
        while self.clock.events < until_events:
            self.clock.step()

    def _become_calm(self) -> None:
        """All faults end. The queue must empty; then all clients die, and all must be free."""
        self.network.heal()
        self.network.calm = self._calm = True
        self.manager.crash_chance = 0.0
        for holder in self.holders:
            holder.may_start = False
        self._pass(_BOUND_MS)
        for daemon in self.daemons.values():
            for device in daemon.devices:
                self._administer(device, Admin.OPEN)
                self.manager.handle(ClearDevice("admin", device), lambda answer: None)
        self._pass(_BOUND_MS + len(self.holders) * (LONGEST_HOLD_MS + _BOUND_MS // 4))
        self.oracle.all_served(self.manager.state)
        for holder in self.holders:
            holder.die()
        self._pass(LONGEST_HOLD_MS + _BOUND_MS)
        self.oracle.all_free(self.manager.state, dead=set())
        for holder in self.holders:
            holder.may_start = True

    def _pass(self, ms: int) -> None:
        until_ms = self.clock.now_ms + ms
        while self.clock.now_ms < until_ms:
            self.clock.step()

    def _chaos(self) -> None:
        """One fault, now and then."""
        self.clock.after(self.random.randrange(200, 6_000), self._chaos)
        if self._calm:
            return
        kind, random = self.random.random(), self.random
        if kind < 0.25:
            hosts = [MANAGER, *self.daemons, *(holder.name for holder in self.holders)]
            self._cut(*random.sample(hosts, 2))
        elif kind < 0.45:
            self._cut(MANAGER, random.choice(list(self.daemons)))
        elif kind < 0.65:
            self.network.heal()
        elif kind < 0.72:
            random.choice(list(self.daemons.values())).kill(random.randrange(10, 20_000))
        elif kind < 0.90:
            random.choice(self.holders).die()
        elif kind < 0.93:
            daemon = random.choice(list(self.daemons.values()))
            daemon.fail(random.choice(daemon.devices), random.randrange(1, 20_000))
        else:
            device = random.choice(random.choice(list(self.daemons.values())).devices)
            self._administer(device, random.choice((Admin.CORDONED, Admin.DRAINING)))
            self.clock.after(20_000, lambda: self._administer(device, Admin.OPEN))

    def _cut(self, one: str, other: str) -> None:
        way = self.random.randrange(3)  # one way, the other, or both
        if way != 1:
            self.network.cut(one, other)
        if way != 0:
            self.network.cut(other, one)

    def _administer(self, device: str, admin: Admin) -> None:
        self.manager.handle(SetAdmin("admin", device, admin), lambda answer: None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 32))
    parser.add_argument(
        "--unsafe-grant-unconfirmed",
        action="store_true",
        help="the manager grants devices that are not confirmed: I1 and I3 must still hold",
    )
    arguments = parser.parse_args()
    print(f"simulate: seed {arguments.seed}", flush=True)
    world = World(arguments.seed, arguments.unsafe_grant_unconfirmed)
    start = time.perf_counter()
    try:
        world.run(arguments.operations)
    except ViolationError as violation:
        print(f"simulate: event {world.clock.events}: {violation}")
        return 1
    seconds = time.perf_counter() - start
    oracle = world.oracle
    print(
        f"simulate: {world.clock.events} operations ({world.manager.applied} commands to the "
        f"manager, {oracle.grants} grants, {oracle.commands} commands on devices) in "
        f"{seconds:.1f} s: {world.clock.events / seconds:.0f} per second"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
