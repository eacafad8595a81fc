"""Which devices a request gets: candidates come from indices per class and node."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from statistics import median

from outboard.pool.core.records import Near, Request, Selector, Spread
from outboard.pool.core.state import ClassKey, State

_NEIGHBOUR_LABELS = ("switch", "rack")


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
    for key, index in state.classes.items():
        if class_matches(key, selector):
            for node, devices in index.members.items():
                if node_matches(state, node, selector, wire):
                    yield from devices


def count_matching(state: State, request: Request) -> int:
    """Returns how many devices could ever be granted together for the request."""
    per_node: dict[str, int] = {}
    for key, index in state.classes.items():
        if class_matches(key, request.selector) and request.memory_bytes <= key.memory_bytes:
            for node, devices in index.members.items():
                if devices and node_matches(state, node, request.selector, request.wire):
                    per_node[node] = per_node.get(node, 0) + len(devices)
    if request.spread is Spread.ONE_NODE:
        return max(per_node.values(), default=0)
    return len(per_node) if request.spread is Spread.DISTINCT_NODES else sum(per_node.values())


def candidates(state: State, request: Request) -> set[str]:
    """Returns all devices that could be granted now."""
    pools = _pools(state, request)
    return {device for tables in pools.values() for device in _usable(state, request, tables)}


def _pools(state: State, request: Request) -> dict[str, list[dict[str, None]]]:
    """Returns the tables of free devices and of those with room per node, without a look at each
    device."""
    found: dict[str, list[dict[str, None]]] = {}
    for key, index in state.classes.items():
        if class_matches(key, request.selector):
            # Shared devices first, so that whole ones stay free.
            for table in (index.free,) if request.exclusive else (index.room, index.free):
                for node, devices in table.items():
                    if node_matches(state, node, request.selector, request.wire):
                        found.setdefault(node, []).append(devices)
    return found


def _usable(state: State, request: Request, tables: list[dict[str, None]]) -> Iterator[str]:
    for devices in tables:
        for device in sorted(devices):
            if request.exclusive or _has_room(state, device, request):
                yield device


def _has_room(state: State, device: str, request: Request) -> bool:
    live = state.live_devices[device]
    return live.share_left >= request.share and live.memory_left >= request.memory_bytes


def distance(state: State, near: Near, node: str) -> tuple[int, float]:
    """Returns a rank for the nodes: same machine, then measured ones by cost, then others."""
    daemon = state.daemons[node]
    measured = state.links.get((near.machine, node))
    cost = 0.0
    if measured:
        rtt_us = median(rtt for rtt, _ in measured)
        rate = median(rate for _, rate in measured)
        cost = rtt_us * 1e-6 + near.bytes / rate
    if daemon.machine and daemon.machine == near.machine:
        return (0, cost)
    if measured:
        return (1, cost)
    if any(
        near.labels.get(label) and near.labels.get(label) == daemon.labels.get(label)
        for label in _NEIGHBOUR_LABELS
    ):
        return (2, 0.0)
    return (3 if near.subnet and near.subnet == daemon.subnet else 4, 0.0)


def choose(
    state: State, request: Request, count: int, without: set[str], taken: set[str]
) -> list[str] | None:
    """Returns `count` devices for the request, or None. `without`: devices that it must not get;
    `taken`: nodes that its lease has, which a lease over distinct nodes avoids."""
    pools, near = _pools(state, request), request.near
    # The fullest node first, so that whole nodes stay free for those who need them.
    nodes = [
        (distance(state, near, node) if near else (0, 0.0), sum(map(len, tables)), node)
        for node, tables in pools.items()
    ]
    heapq.heapify(nodes)
    chosen: list[str] = []
    while nodes and len(chosen) < count:
        node = heapq.heappop(nodes)[-1]
        wanted = _wanted(request.spread, node, count - len(chosen), taken)
        usable = (d for d in _usable(state, request, pools[node]) if d not in without)
        found = list(islice(usable, wanted))
        if request.spread is not Spread.ONE_NODE or len(found) == count:
            chosen += found
    return chosen if len(chosen) == count else None


def _wanted(spread: Spread, node: str, count: int, taken: set[str]) -> int:
    """Returns how many devices of a node a request takes at most."""
    if spread is Spread.DISTINCT_NODES:
        return 0 if node in taken else 1
    if spread is Spread.ONE_NODE:
        return count if taken <= {node} else 0
    return count
