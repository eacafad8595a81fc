"""Which devices a request gets: candidates come from indices per class, node and place."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from statistics import median

from outboard.pool.core.records import Lease, Near, Request, Selector, Spread
from outboard.pool.core.state import (
    FOREVER,
    NEIGHBOUR_LABELS,
    ClassIndex,
    ClassKey,
    NodeTable,
    Place,
    State,
    class_of,
    living_handles,
)

# Links that nobody has measured: round trip [us] and rate [bytes/s] beside the client (the same
# switch or rack: 25 Gb/s), in its subnet (10 Gb/s), and elsewhere (1 Gb/s).
BESIDE, SUBNET, REST = (50.0, 3.1e9), (100.0, 1.2e9), (500.0, 1.2e8)


def class_matches(key: ClassKey, selector: Selector) -> bool:
    return (
        (not selector.kind or key.kind == selector.kind)
        and (not selector.model or key.model == selector.model)
        and key.memory_bytes >= selector.min_memory_bytes
        and key.gflops >= selector.min_gflops
    )


def node_matches(state: State, node: str, selector: Selector, wire: tuple[int, ...]) -> bool:
    if not wire and not selector.labels:
        return True
    daemon = state.daemons[node]
    if wire and daemon.wire and not set(wire) & set(daemon.wire):
        return False
    return all(daemon.labels.get(key) == value for key, value in selector.labels.items())


def matching(state: State, selector: Selector, wire: tuple[int, ...] = ()) -> Iterator[str]:
    """Yields all devices that a selector accepts, in any state but retired."""
    for index in _classes(state, selector):
        for node, devices in index.members.nodes.items():
            if node_matches(state, node, selector, wire):
                yield from devices


def fits(state: State, device: str, request: Request) -> bool:
    """Returns whether matching() would yield the device for the request."""
    record = state.devices[device]
    return class_matches(class_of(record), request.selector) and _accepts(
        state, request, record.daemon
    )


def count_matching(state: State, request: Request, enough: int) -> int:
    """Returns how many devices could ever be granted together for the request, or some number from
    `enough` on if there are at least so many."""
    per_node: dict[str, int] = {}
    total = 0
    for key, index in state.classes.items():
        if not (class_matches(key, request.selector) and request.memory_bytes <= key.memory_bytes):
            continue
        for node, devices in index.members.nodes.items():
            if node_matches(state, node, request.selector, request.wire):
                before = per_node.get(node, 0)
                per_node[node] = before + len(devices)
                if request.spread is Spread.ONE_NODE:
                    total = max(total, per_node[node])
                elif request.spread is Spread.DISTINCT_NODES:
                    total = len(per_node)
                else:
                    total += len(devices)
                if total >= enough:
                    return total
    return total


def first_end(state: State, request: Request, count: int) -> int:
    """Returns when `count` of the devices that matching() yields will be free; FOREVER: nobody
    knows, or there are not so many healthy ones."""
    tables = (index.ends.first_ones() for index in _classes(state, request.selector))
    ends = (
        end_ms
        for end_ms, device in heapq.merge(*tables)
        if _accepts(state, request, state.devices[device].daemon)
    )
    return next(islice(ends, count - 1, None), FOREVER)


def count_until(state: State, request: Request, end_ms: int) -> int:
    """Returns how many of the devices that matching() yields will be free until then."""
    if not request.wire and not request.selector.labels:
        return sum(index.ends.count_until(end_ms) for index in _classes(state, request.selector))
    return sum(
        _accepts(state, request, state.devices[device].daemon)
        for index in _classes(state, request.selector)
        for _, device in islice(index.ends.first_ones(), index.ends.count_until(end_ms))
    )


def candidates(state: State, request: Request) -> set[str]:
    """Returns all devices that could be granted now."""
    tables = _tables(state, request)
    nodes = {node for table in tables for node in table.nodes if _accepts(state, request, node)}
    return {device for node in nodes for device in _usable(state, request, tables, node)}


def any_free(state: State, request: Request) -> bool:
    """Returns whether candidates() would return any."""
    return any(
        True
        for table in _tables(state, request)
        for node in table.nodes
        if _accepts(state, request, node)
        for _ in _usable(state, request, [table], node)
    )


def shortage(state: State, lease: Lease, count: int) -> str:
    """Returns in words what the lease lacks, which choose() does not find."""
    request = lease.request
    there = sum(1 for _ in matching(state, request.selector, request.wire))
    if there < count:
        return f"the pool has {there} such devices now" if there else "the pool has no such device"
    own = {handle.device for handle in living_handles(state, lease.id)}
    free = len(candidates(state, request) - own)
    if free >= count:
        on = " on one node" if request.spread is Spread.ONE_NODE else " on as many nodes"
        on = "" if request.spread is Spread.ANY else on
        return f"{free} can be granted now, but not {count} of them{on}"
    if not request.exclusive and (lack := _lack(state, request, count)):
        return lack
    return f"{free} can be granted now"


def _lack(state: State, request: Request, count: int) -> str:
    """Returns which part of shared devices is too small; empty if there are too few devices."""
    rooms = [
        (state.live_devices[device], request.memory_on(state.devices[device].memory_bytes))
        for table in _tables(state, request)
        for node, devices in table.nodes.items()
        if _accepts(state, request, node)
        for device in devices
    ]
    if len(rooms) < count:
        return ""
    memory = sum(live.memory_left >= needed for live, needed in rooms)
    share = sum(live.share_left >= request.share for live, _ in rooms)
    if share < count:  # first, as the memory may be in proportion to it
        return f"too small a share is left ({share} of {len(rooms)} devices have enough)"
    if memory < count:
        return f"too little memory is left ({memory} of {len(rooms)} devices have enough)"
    return f"too few of {len(rooms)} devices have both memory and share enough"


def anything_free(state: State) -> bool:
    """Returns whether there is a free device, or a shared one with room, of any class."""
    return any(index.free.nodes or index.room.nodes for index in state.classes.values())


def _tables(state: State, request: Request) -> list[NodeTable]:
    """Returns the tables of devices with room and of free ones."""
    classes = _classes(state, request.selector)
    free = [index.free for index in classes]
    # Shared devices first, so that whole ones stay free.
    return free if request.exclusive else [index.room for index in classes] + free


def _classes(state: State, selector: Selector) -> list[ClassIndex]:
    return [index for key, index in state.classes.items() if class_matches(key, selector)]


def _accepts(state: State, request: Request, node: str) -> bool:
    return node_matches(state, node, request.selector, request.wire)


def _usable(state: State, request: Request, tables: list[NodeTable], node: str) -> Iterator[str]:
    for table in tables:
        for device in sorted(table.nodes.get(node, ())):
            if request.exclusive or _has_room(state, device, request):
                yield device


def _has_room(state: State, device: str, request: Request) -> bool:
    live, memory = state.live_devices[device], state.devices[device].memory_bytes
    return live.share_left >= request.share and live.memory_left >= request.memory_on(memory)


def _nearest_first(state: State, near: Near, tables: list[NodeTable]) -> Iterator[str]:
    """Yields all nodes, those near a client first: those of its machine, then the others by the
    cost of a call. Nobody has measured most links; their cost is what such links usually have, so
    that a slow link that happens to be known is not taken for the best."""
    links = state.links.get(near.machine, {})

    def cost(node: str) -> float:
        return link_cost(near, links[node]) if links.get(node) else 0.0

    def fullness(node: str) -> int:
        return sum(table.count(node) for table in tables)

    def cost_and_fullness(node: str) -> tuple[float, int]:
        return cost(node), fullness(node)

    yield from sorted(state.places.get(Place("machine", near.machine), ()), key=cost_and_fullness)
    usable = [node for node in links if any(table.count(node) for table in tables)]
    measured = sorted(usable, key=cost_and_fullness, reverse=True)  # the nearest last
    labels = [(label, near.labels.get(label, "")) for label in NEIGHBOUR_LABELS]
    beside = {node: None for label in labels for node in state.places.get(Place(*label), ())}
    subnet = state.places.get(Place("subnet", near.subnet), ())
    groups = (
        (BESIDE, iter(sorted(beside, key=fullness))),
        (SUBNET, (node for node in _fullest_first(tables) if node in subnet) if subnet else ()),
        (REST, _fullest_first(tables)),
    )
    for usual, nodes in groups:
        while measured and cost(measured[-1]) <= link_cost(near, [usual]):
            yield measured.pop()
        yield from (node for node in nodes if not links.get(node))
    yield from reversed(measured)


def link_cost(near: Near, measurements: Sequence[tuple[float, float]]) -> float:
    """Returns the time of a call [s] over a link, by the medians of round trip [us] and rate
    [bytes/s]."""
    rate = median(rate for _, rate in measurements)
    return median(round_trip for round_trip, _ in measurements) * 1e-6 + near.bytes / rate


def _fullest_first(tables: Iterable[NodeTable]) -> Iterator[str]:
    """Yields nodes with few devices left first, so that whole nodes stay free for those who need
    them. A node that is in several tables comes several times."""
    counted = heapq.merge(*(table.fewest_first() for table in tables), key=itemgetter(0))
    return (node for _, node in counted)


def choose(
    state: State, request: Request, count: int, without: set[str], taken: set[str]
) -> list[str] | None:
    """Returns `count` devices for the request, or None. `without`: devices that it must not get;
    `taken`: nodes that its lease has, which a lease over distinct nodes avoids."""
    tables, near = _tables(state, request), request.near
    nodes = _nearest_first(state, near, tables) if near else _fullest_first(tables)
    chosen: list[str] = []
    seen: set[str] = set()
    for node in nodes:
        if node in seen or not _accepts(state, request, node):
            continue
        seen.add(node)
        wanted = _wanted(request.spread, node, count - len(chosen), taken)
        usable = (d for d in _usable(state, request, tables, node) if d not in without)
        found = list(islice(usable, wanted))
        if request.spread is not Spread.ONE_NODE or len(found) == count:
            chosen += found
        if len(chosen) == count:
            return chosen
    return None


def _wanted(spread: Spread, node: str, count: int, taken: set[str]) -> int:
    """Returns how many devices of a node a request takes at most."""
    if spread is Spread.DISTINCT_NODES:
        return 0 if node in taken else 1
    if spread is Spread.ONE_NODE:
        return count if taken <= {node} else 0
    return count
