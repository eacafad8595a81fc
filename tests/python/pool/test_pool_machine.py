"""Random commands, restarts and lost messages, shrunk by Hypothesis to short histories.

The oracle of the simulation watches. After each step, what the core keeps in memory beside its
tables must equal what a start makes of the tables.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from outboard.pool.core import commands as c
from outboard.pool.core.apply import apply
from outboard.pool.core.records import (
    Admin,
    Priority,
    Quota,
    Request,
    Reservation,
    Selector,
    Spread,
)
from outboard.pool.core.replies import Answer, Desired, LeaseView, Renewal
from outboard.pool.core.state import Config, State
from outboard.pool.simulation.gate_model import LeaseGate, Refusal, Token
from outboard.pool.simulation.oracle import Oracle
from outboard.pool.store.memory import MemoryStore

MEMORY = 1000
DEVICES = {"n0": ("n0/0", "n0/1"), "n1": ("n1/0",)}
ALL = [device for devices in DEVICES.values() for device in devices]
USERS = ["ada", "bob"]
EXAMPLES = int(os.environ.get("OUTBOARD_HYPOTHESIS_EXAMPLES", "60"))

requests = st.builds(
    Request,
    count=st.integers(1, 3),
    exclusive=st.booleans(),
    share=st.sampled_from([250, 500, 1000]),
    memory_bytes=st.sampled_from([0, 400, MEMORY]),
    spread=st.sampled_from(Spread),
    priority=st.sampled_from(Priority),
    static=st.booleans(),
    until_ms=st.sampled_from([0, 1_050_000]),
    max_hold_ms=st.sampled_from([0, 20_000]),
    ttl_ms=st.sampled_from([0, 30_000]),
    replace=st.booleans(),
    group=st.sampled_from(["", "chem"]),
)
users = st.sampled_from(USERS)
daemons = st.sampled_from(sorted(DEVICES))
devices = st.sampled_from(ALL)
leases = st.sampled_from([f"{user}{number}" for user in USERS for number in range(3)])


class PoolMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_000_000
        self.state, self.store = State(Config()), MemoryStore()
        self.oracle = Oracle(confirms=True)
        self.gates: dict[str, LeaseGate] = {}
        self.instances = dict.fromkeys(DEVICES, 0)
        self.seqs = dict.fromkeys(DEVICES, 0)
        self.tokens: list[Token] = []
        self.late: list[tuple[LeaseGate, Desired]] = []
        self.sessions: list[tuple[LeaseGate, int, Token]] = []
        self.running: list[tuple[LeaseGate, int, Token]] = []

    def do(self, command: c.Command) -> Any:
        outcome = apply(self.state, command, self.now_ms)
        self.store.commit(self.state.rev, self.state.now_ms, outcome.changes)
        self.oracle.committed(outcome.changes)
        answer: Answer = outcome.answer
        self.oracle.answered(answer)
        for view in answer.leases if isinstance(answer, Renewal) else (answer,):
            if isinstance(view, LeaseView):
                holder = self.state.leases[view.id].holder
                self.tokens += [self._token(holder, view, handle) for handle in view.handles]
        return answer

    def _token(self, holder: str, view: LeaseView, h: Any) -> Token:
        facts = (h.epoch, h.floor, h.exclusive, h.share, h.memory_bytes)
        return Token(h.daemon, h.device, holder, *facts, view.end_ms, view.rev)

    @initialize()
    def all_daemons_register(self) -> None:
        for daemon in DEVICES:
            self.start_daemon(daemon, lost=False)
            self.heartbeat(daemon, lost=False)

    # Clients.

    @rule(lease=leases, request=requests)
    def put(self, lease: str, request: Request) -> None:
        self.do(c.PutLease(lease, lease[:3], request))

    @rule(lease=leases, unreachable=st.booleans())
    def renew(self, lease: str, unreachable: bool) -> None:
        self.do(c.Renew(lease[:3], (lease,), tuple(ALL) if unreachable else ()))

    @rule(lease=leases, part=st.sampled_from("pq"))
    def grow(self, lease: str, part: str) -> None:
        self.do(c.Grow(lease, lease[:3], part, 1))

    @rule(lease=leases, device=devices)
    def shrink(self, lease: str, device: str) -> None:
        self.do(c.Shrink(lease, lease[:3], device))

    @rule(lease=leases)
    def release(self, lease: str) -> None:
        self.do(c.Release(lease, lease[:3]))

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def connect(self, data: st.DataObject) -> None:
        """With any token of the past: tokens may be late, or stolen from the dead."""
        token = data.draw(st.sampled_from(self.tokens))
        gate = self.gates[token.daemon]
        session = gate.admit(token, token.holder, self.now_ms)
        if session is Refusal.FENCING or not isinstance(session, Refusal):
            self.oracle.floor_known(token.device, token.floor)
        if not isinstance(session, Refusal):
            self.sessions.append((gate, session, token))

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        entry = data.draw(st.sampled_from(self.sessions))
        gate, session, token = entry
        if gate is self.gates[token.daemon] and gate.begin(session):
            self.oracle.began(token)
            self.running.append(entry)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        self._end(data.draw(st.sampled_from(self.running)))

    def _end(self, entry: tuple[LeaseGate, int, Token]) -> None:
        self.running.remove(entry)
        gate, session, token = entry
        if gate is self.gates[token.daemon]:
            gate.end(session)
            self.oracle.ended(token)

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def disconnect(self, data: st.DataObject) -> None:
        entry = data.draw(st.sampled_from(self.sessions))
        self.sessions.remove(entry)
        entry[0].close(entry[1])

    # Daemons. Answers get lost, or come late.

    @rule(daemon=daemons, lost=st.booleans())
    def start_daemon(self, daemon: str, lost: bool) -> None:
        self.oracle.daemon_died(list(DEVICES[daemon]))
        self.gates[daemon] = LeaseGate(daemon, dict.fromkeys(DEVICES[daemon], MEMORY))
        self.instances[daemon] += 1
        self.seqs[daemon] = 0
        self.register(daemon, lost)

    @rule(daemon=daemons, lost=st.booleans())
    def register(self, daemon: str, lost: bool) -> None:
        facts = tuple(c.DeviceFacts(d, "gpu", "m", MEMORY) for d in DEVICES[daemon])
        instance = f"{daemon}.{self.instances[daemon]}"
        self._enforce(daemon, self.do(c.RegisterDaemon(daemon, instance, facts)), lost)

    @rule(daemon=daemons, lost=st.booleans())
    def heartbeat(self, daemon: str, lost: bool) -> None:
        gate = self.gates[daemon]
        gate.tick(self.now_ms)
        self.seqs[daemon] += 1
        instance = f"{daemon}.{self.instances[daemon]}"
        beat = c.Heartbeat(daemon, instance, self.seqs[daemon], gate.rev, gate.report())
        self._enforce(daemon, self.do(beat), lost)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def late_answer(self, data: st.DataObject) -> None:
        gate, desired = data.draw(st.sampled_from(self.late))
        gate.apply(desired, self.now_ms)

    def _enforce(self, daemon: str, answer: Answer, lost: bool) -> None:
        if isinstance(answer, Desired):
            gate = self.gates[daemon]
            if lost:
                self.late.append((gate, answer))
                return
            gate.apply(answer, self.now_ms)
            if answer.rev >= gate.rev:
                self.oracle.desired_known(answer)

    @rule(daemon=daemons, fatal=st.booleans(), index=st.integers(0, 1))
    def device_report(self, daemon: str, fatal: bool, index: int) -> None:
        reports = list(self.gates[daemon].report())
        old = reports[index % len(reports)]
        tests = 0 if fatal else 3
        reports[index % len(reports)] = c.DeviceReport(
            old.id, old.floor, old.sessions, 0, fatal, tests
        )
        self.seqs[daemon] += 1
        instance, rev = f"{daemon}.{self.instances[daemon]}", self.gates[daemon].rev
        beat = c.Heartbeat(daemon, instance, self.seqs[daemon], rev, tuple(reports))
        self.do(beat)

    # Time, the manager, and administrators.

    @rule(ms=st.sampled_from([1, 500, 3_000, 11_000, 40_000]))
    def wait(self, ms: int) -> None:
        self.now_ms += ms
        self.do(c.Tick())

    @rule()
    def restart_manager(self) -> None:
        self.state = self.store.load(Config())
        self.oracle.restarted(self.state)
        self.do(c.Start())

    @rule(device=devices, admin=st.sampled_from([Admin.OPEN, Admin.CORDONED, Admin.DRAINING]))
    def administer(self, device: str, admin: Admin) -> None:
        self.do(c.SetAdmin("root", device, admin))

    @rule(device=devices)
    def clear(self, device: str) -> None:
        self.do(c.ClearDevice("root", device))

    @rule(user=users, banned=st.booleans())
    def ban(self, user: str, banned: bool) -> None:
        self.do(c.BanUser("root", user) if banned else c.UnbanUser("root", user))

    @rule(name=st.sampled_from(["user:ada", "group:chem"]), number=st.integers(0, 2))
    def quota(self, name: str, number: int) -> None:
        self.do(c.SetQuota("root", Quota(name, devices=number, waiting=number)))

    @rule(user=users, count=st.integers(1, 2))
    def reserve(self, user: str, count: int) -> None:
        window = (self.now_ms + 5_000, self.now_ms + 60_000)
        reservation = Reservation("r", Selector("gpu"), count, (user,), *window)
        self.do(c.SetReservation("root", reservation))

    @rule()
    def unreserve(self) -> None:
        self.do(c.DeleteReservation("root", "r"))

    @invariant()
    def memory_is_what_a_start_makes_of_the_tables(self) -> None:
        fresh = self.store.load(Config())
        apply(fresh, c.Start(), self.now_ms)
        mine = self.state
        assert set(mine.waiting) == set(fresh.waiting)
        for counts, others in ((mine.held_of, fresh.held_of), (mine.waiting_of, fresh.waiting_of)):
            assert {k: v for k, v in counts.items() if v} == {k: v for k, v in others.items() if v}
        assert mine.renewing == fresh.renewing
        for device, live in mine.live_devices.items():
            other = fresh.live_devices[device]
            assert (live.share_left, live.memory_left) == (other.share_left, other.memory_left)
            assert live.handles == other.handles
            assert live.share_left >= 0
            assert live.memory_left >= 0
        for account in mine.accounts.values():
            assert account.running >= 0

    def teardown(self) -> None:
        """All faults end, all clients leave: within bounds, all devices are free."""
        if not self.gates:
            return
        for entry in list(self.running):
            self._end(entry)
        self.restart_manager()
        for device in ALL:
            self.do(c.SetAdmin("root", device, Admin.OPEN))
            self.do(c.ClearDevice("root", device))
        for lease in [lease.id for lease in self.state.leases.values()]:
            self.do(c.Release(lease, lease[:3]))
        for _ in range(12):  # a new instance may have to wait until the old one is lost
            for daemon in DEVICES:
                self.register(daemon, lost=False)
            self.now_ms += 1_000
        for daemon in list(DEVICES) * 2:
            self.heartbeat(daemon, lost=False)
        self.oracle.all_free(self.state, dead=set())
        self.oracle.all_served(self.state)


def test_pool_machine() -> None:
    run_state_machine_as_test(
        PoolMachine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=50,
            deadline=None,
            database=None,
            derandomize=False,  # in CI, too: Hypothesis would repeat the same examples there
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
