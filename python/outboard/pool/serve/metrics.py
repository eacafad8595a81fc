"""The manager's metrics for Prometheus. No names of users and leases are labels."""

from __future__ import annotations

from collections import Counter as Tally
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from outboard.pool.core.commands import Heartbeat
from outboard.pool.core.records import Audit, LeaseState
from outboard.pool.core.state import Health, State, allocation, health

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)


class DeviceUse(NamedTuple):
    """How a device was used at the last heartbeat of its daemon. `busy_sessions`: those that ran a
    command since the heartbeat before."""

    busy: float
    memory_bytes: int
    sessions: int
    busy_sessions: int


class Metrics:
    """Counters are moved by any thread; gauges are filled when somebody asks."""

    def __init__(self, version: str) -> None:
        registry = self._registry = CollectorRegistry()
        self.acquire_seconds = Histogram(
            "outboard_pool_acquire_seconds",
            "Time of a request for devices, without its wait in the queue.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._commits = Histogram(
            "outboard_pool_commit_seconds",
            "Time of a commit of the store.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._grants = self._counter("outboard_pool_grants", "Requests that got their devices.")
        self._ends = self._counter("outboard_pool_lease_ends", "Ended leases.", "reason")
        self._requests = self._counter("outboard_pool_requests", "Answered requests.", "status")
        self._beats = self._counter("outboard_pool_heartbeats", "Heartbeats of daemons.")
        self._devices = self._gauge("outboard_pool_devices", "Devices.", "kind", "state")
        self._leases = self._gauge("outboard_pool_leases", "Leases.", "mode", "state")
        self._queue = self._gauge("outboard_pool_queue_length", "Waiting requests.", "kind")
        self._up = self._gauge("outboard_device_up", "1: the device is healthy.", "device")
        self._busy = self._gauge("outboard_device_busy_ratio", "Part of time at work.", "device")
        self._memory = self._gauge(
            "outboard_device_memory_used_bytes", "Device memory in use.", "device"
        )
        build = self._gauge("outboard_pool_build_info", "The manager's version.", "version")
        build.labels(version).set(1)
        self._reports: dict[str, dict[str, DeviceUse]] = {}

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self._registry)

    def watch(self, commands: list[Any], audits: list[Audit], seconds: float) -> None:
        """After each commit, in the writer's thread."""
        if seconds:
            self._commits.observe(seconds)
        beats = sum(type(command) is Heartbeat for command in commands)
        if beats:
            self._beats.inc(beats)
        for audit in audits:
            if audit.verb == "grant":
                self._grants.inc()
            elif audit.verb == "end":
                self._ends.labels(audit.detail).inc()

    def answered(self, status: int) -> None:
        self._requests.labels(str(status)).inc()

    def reported(self, daemon: str, device: str, use: DeviceUse) -> None:
        self._reports.setdefault(daemon, {})[device] = use

    def use_of(self, daemon: str, device: str) -> DeviceUse | None:
        """Returns None if the daemon has sent no heartbeat since it registered. Any thread."""
        return self._reports.get(daemon, {}).get(device)

    def forget(self, daemon: str) -> None:
        self._reports.pop(daemon, None)

    def fill(self, state: State) -> None:
        """Sets the gauges. In the writer's thread."""
        for gauge in (self._devices, self._leases, self._queue, self._up):
            gauge.clear()
        devices: Tally[tuple[str, str]] = Tally()
        for name, record in state.devices.items():
            well = health(state, name)
            devices[record.kind, allocation(state, name) if well is Health.OK else well] += 1
            self._up.labels(name).set(well is Health.OK)
        for (kind, where), count in devices.items():
            self._devices.labels(kind, where).set(count)
        leases = Tally(
            ("exclusive" if lease.request.exclusive else "shared", lease.state)
            for lease in state.leases.values()
            if lease.state is not LeaseState.OVER
        )
        for (mode, at), count in leases.items():
            self._leases.labels(mode, at).set(count)
        kinds = Tally(state.leases[lease].request.selector.kind for lease, _ in state.waiting)
        for kind, count in kinds.items():
            self._queue.labels(kind or "any").set(count)

    def text(self) -> bytes:
        """Returns what a scrape gets. In the event loop, after fill()."""
        self._busy.clear()
        self._memory.clear()
        for devices in self._reports.values():
            for device, use in devices.items():
                self._busy.labels(device).set(use.busy)
                self._memory.labels(device).set(use.memory_bytes)
        return generate_latest(self._registry)
