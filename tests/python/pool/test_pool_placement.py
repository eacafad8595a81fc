"""The choice of devices against a plain search, and how much of a large pool the core looks at."""

from __future__ import annotations

import random
from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest
from pool_commands import Pool, fresh_seed

from outboard.pool.core import placement
from outboard.pool.core.commands import (
    DeviceFacts,
    Link,
    RegisterDaemon,
    ReportLinks,
    SetAdmin,
    Tick,
)
from outboard.pool.core.records import Admin, Near, Request, Selector, Spread
from outboard.pool.core.state import (
    FOREVER,
    Allocation,
    Health,
    NodeTable,
    State,
    allocation,
    health,
    hold_end,
)

NEAR = Near("here", "10.0.0", {"rack": "r1", "switch": "s1"}, 1_000_000, 1e9)
NEIGHBOURS: dict[str, Any] = {"machine": "", "subnet": "", "labels": {}}
PLACES: list[dict[str, Any]] = [
    {"machine": "here"},
    {"labels": {"rack": "r1"}},
    {"labels": {"switch": "s1", "rack": "r2"}},
    {"subnet": "10.0.0"},
    {"subnet": "10.0.1", "labels": {"rack": "r2"}},
    {},
]


def rank(state: State, node: str) -> tuple[int, float, int]:
    """Says how near a node is, by the words of docs/pool.md, "The order"."""
    daemon = state.daemons[node]
    measured = state.links.get(NEAR.machine, {}).get(node)
    cost = 0.0
    if measured:
        rates = median(rate for _, rate in measured)
        cost = median(rtt for rtt, _ in measured) * 1e-6 + NEAR.bytes / rates
    if daemon.machine == NEAR.machine:
        return 0, cost, 0
    if measured:
        return 1, cost, 0
    if any(daemon.labels.get(label) == NEAR.labels[label] for label in ("rack", "switch")):
        return 1, 50e-6 + NEAR.bytes / 3.1e9, 1
    if daemon.subnet == NEAR.subnet:
        return 1, 100e-6 + NEAR.bytes / 1.2e9, 1
    return 1, 500e-6 + NEAR.bytes / 1.2e8, 1


def some_pool(random_numbers: random.Random) -> Pool:
    """Returns daemons of one to four devices at random places, some measured, some devices held."""
    pool = Pool(daemons=12)
    for name in pool.devices:
        pool.devices[name] = [f"{name}/{d}" for d in range(random_numbers.randint(1, 4))]
        for _ in range(2):  # the second one moves the daemon
            pool.register(name, **NEIGHBOURS | random_numbers.choice(PLACES))
        pool.beat(name)
        if random_numbers.random() < 0.5:
            for _ in range(3):
                rtt_us, rate = random_numbers.uniform(10, 1e4), 10 ** random_numbers.uniform(7, 10)
                pool.ask(ReportLinks((Link("here", name, rtt_us, rate),)))
    for number in range(random_numbers.randint(0, 15)):
        pool.put(f"x{number}")
    if random_numbers.random() < 0.3:
        pool.restart_manager()
        for name in pool.devices:
            pool.register(name, **NEIGHBOURS | random_numbers.choice(PLACES))
            pool.beat(name)
    return pool


@pytest.mark.parametrize("near", [NEAR, None], ids=["near", "anywhere"])
def test_the_choice_is_that_of_a_plain_search(near: Near | None) -> None:
    numbers = random.Random(fresh_seed())
    for _ in range(60):
        pool = some_pool(numbers)
        state = pool.state
        free: dict[str, list[str]] = {}
        for device, record in sorted(state.devices.items()):
            if allocation(state, device) is Allocation.FREE:
                free.setdefault(record.daemon, []).append(device)
        total = sum(map(len, free.values()))
        count = numbers.randint(1, 6)
        found = placement.choose(state, Request(count=count, near=near), count, set(), set())
        assert (found is None) == (count > total)
        if found is None:
            continue
        assert len(set(found)) == count
        assert set(found) <= {device for devices in free.values() for device in devices}
        # Whole nodes in the order of their ranks and sizes; only the last one may have some left.
        nodes = list(dict.fromkeys(state.devices[device].daemon for device in found))
        key = {n: (*(rank(state, n) if near else (0, 0.0, 0)), len(free[n])) for n in free}
        assert [key[n] for n in nodes] == sorted(key.values())[: len(nodes)]
        for node in nodes[:-1]:
            assert set(free[node]) <= set(found)


def test_a_request_for_one_node_gets_one_where_all_fit() -> None:
    pool = Pool(daemons=3, devices=4)
    pool.held("a", count=3)  # one is left on n0
    found = pool.held("b", count=4, spread=Spread.ONE_NODE)
    assert len({handle.daemon for handle in found.handles}) == 1
    assert pool.held("c").handles[0].device == "n0/3"  # the fullest node


def test_a_table_knows_its_nodes_by_count() -> None:
    numbers, table = random.Random(fresh_seed()), NodeTable()
    model: dict[str, set[str]] = {}
    for _ in range(2000):
        node, device = f"n{numbers.randrange(6)}", f"d{numbers.randrange(5)}"
        if numbers.random() < 0.5:
            table.add(node, device)
            model.setdefault(node, set()).add(device)
        else:
            table.remove(node, device)
            model.get(node, set()).discard(device)
        there = {name: devices for name, devices in model.items() if devices}
        assert {name: set(devices) for name, devices in table.nodes.items()} == there
        listed = list(table.fewest_first())
        assert sorted(listed) == sorted((len(devices), name) for name, devices in there.items())
        assert [count for count, _ in listed] == sorted(count for count, _ in listed)


def plain_ends(state: State, request: Request) -> list[int]:
    """Says when each device that is healthy and fits will be free, by a look at all of them."""
    found = []
    for device, record in state.devices.items():
        labels = state.daemons[record.daemon].labels
        fits = request.selector.model in ("", record.model) and all(
            labels.get(key) == value for key, value in request.selector.labels.items()
        )
        if not fits or record.admin is Admin.RETIRED or health(state, device) is not Health.OK:
            continue
        live = state.live_devices[device]
        living = [state.leases[h.lease] for h in live.handles.values() if h.lives]
        if living:
            found.append(max(hold_end(lease, state.now_ms) for lease in living))
        elif live.handles:
            found.append(0)
        else:
            known = state.live_daemons[record.daemon].registered and live.confirmed
            found.append(0 if known and record.admin is Admin.OPEN else FOREVER)
    return sorted(found)


def live(pool: Pool, numbers: random.Random, turn: int) -> None:
    """Does something that changes when devices will be free."""
    name = numbers.choice(list(pool.devices))
    device = numbers.choice(pool.devices[name])
    what = numbers.randrange(9)
    if what < 3:
        pool.put(
            f"y{turn}",
            count=numbers.randint(1, 3),
            exclusive=numbers.random() < 0.7,
            share=numbers.choice([300, 1000]),
            max_hold_ms=numbers.choice([0, 5_000, 60_000]),
            until_ms=numbers.choice([0, pool.now_ms + 30_000]),
        )
    elif what == 3:
        pool.release(f"y{numbers.randrange(turn + 1)}")
    elif what == 4:
        pool.ask(SetAdmin("root", device, numbers.choice(list(Admin))))
    elif what == 5:
        pool.beat(name, fatal=numbers.random() < 0.5)
    elif what == 6:
        pool.restart_daemon(name)
    elif what == 7:
        facts = tuple(DeviceFacts(d, "gpu", f"m{turn % 3}", 1000) for d in pool.devices[name])
        pool.ask(RegisterDaemon(name, f"{name}.{pool.instances[name]}", facts))
    else:
        pool.now_ms += numbers.choice([100, 3_000])
        pool.do(Tick())


def test_the_first_ends_are_those_of_all_devices() -> None:
    numbers = random.Random(fresh_seed())
    for _ in range(8):
        pool = some_pool(numbers)
        for turn in range(150):
            live(pool, numbers, turn)
            labels = numbers.choice([{}, {}, {"rack": "r1"}])
            request = Request(selector=Selector(model=f"m{turn % 3}" * (turn % 2), labels=labels))
            ends = plain_ends(pool.state, request)
            for count in (1, 2, len(ends), len(ends) + 1):
                expected = ends[count - 1] if 0 < count <= len(ends) else FOREVER
                if count:
                    assert placement.first_end(pool.state, request, count) == expected
            for until in {0, pool.now_ms, pool.now_ms + 30_000, *ends}:
                expected = sum(end_ms <= until for end_ms in ends)
                assert placement.count_until(pool.state, request, until) == expected


class Watched(dict[str, Any]):
    """A table that counts how often somebody looks at a row."""

    looks = 0

    def __getitem__(self, key: str) -> Any:
        self.looks += 1
        return super().__getitem__(key)

    def items(self) -> Any:
        self.looks += len(self)
        return super().items()

    def values(self) -> Any:
        self.looks += len(self)
        return super().values()

    def __iter__(self) -> Iterator[str]:
        self.looks += len(self)
        return super().__iter__()


@pytest.mark.parametrize("waiting", [0, 20])
@pytest.mark.parametrize("first_wants", [1, 50])
def test_a_command_does_not_look_at_all_devices(waiting: int, first_wants: int) -> None:
    pool = Pool(daemons=100, devices=4)
    for daemon in pool.devices:
        facts = tuple(DeviceFacts(d, "gpu", "m", 1000) for d in pool.devices[daemon])
        where = {"wire": (), "addresses": (), "machine": daemon, "subnet": "10.0.0"}
        pool.ask(RegisterDaemon(daemon, f"{daemon}.1", facts, **where))
    for number in range(400 if waiting else 200):
        pool.held(f"x{number}", near=NEAR, max_hold_ms=100_000 + number)
    for number in range(waiting):
        count = first_wants if number == 0 else 1
        assert pool.put(f"q{number}", near=NEAR, count=count).state == "queued"
    watched = Watched(pool.state.live_devices)
    pool.state.live_devices = watched

    def looks(*commands: Any) -> int:
        before = watched.looks
        for command in commands:
            command()
        return watched.looks - before

    few = 60  # of 400, for all that a command does
    assert looks(lambda: pool.put("new", near=NEAR)) < few
    assert looks(lambda: pool.do(Tick())) < few
    assert looks(lambda: pool.release("x0")) < few
    assert looks(lambda: pool.beat("n0")) < few
    if waiting:
        assert pool.lease("q0").state == ("held" if first_wants == 1 else "queued")
