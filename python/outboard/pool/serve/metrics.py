"""The manager's metrics for Prometheus. No names of users and leases are labels."""

from __future__ import annotations

import asyncio
from collections import Counter as Tally
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from outboard.pool.core.commands import Heartbeat
from outboard.pool.core.records import Admin, Audit, Lease, LeaseState
from outboard.pool.core.state import Health, State, allocation, health
from outboard.pool.core.transaction import Change
from outboard.pool.serve.bodies import ReportBody
from outboard.pool.serve.busy import BusyTime

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)
_WAIT_SECONDS = (0.1, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600)


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
        ProcessCollector(registry=registry)  # memory, descriptors, time of the start
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
        self._wait_seconds = Histogram(
            "outboard_pool_wait_seconds",
            "Time from a request until it got its devices.",
            ("kind",),
            buckets=_WAIT_SECONDS,
            registry=registry,
        )
        self._grants = self._counter("outboard_pool_grants", "Requests that got their devices.")
        self._ends = self._counter("outboard_pool_lease_ends", "Ended leases.", "reason")
        self._requests = self._counter("outboard_pool_requests", "Answered requests.", "status")
        self._answered: dict[int, Counter] = {}  # by status; labels() looks it up under a lock
        self._beats = self._counter("outboard_pool_heartbeats", "Heartbeats of daemons.")
        self._devices = self._gauge("outboard_pool_devices", "Devices.", "kind", "state")
        self._leases = self._gauge("outboard_pool_leases", "Leases.", "mode", "state")
        self._queue = self._gauge("outboard_pool_queue_length", "Waiting requests.", "kind")
        self._oldest = self._gauge(
            "outboard_pool_queue_oldest_seconds", "Age of the oldest waiting request.", "kind"
        )
        self._up = self._gauge("outboard_device_up", "1: the device is healthy.", "device")
        self._open = self._gauge(
            "outboard_device_open", "0: an administrator has cordoned or drains it.", "device"
        )
        self._busy = self._gauge(
            "outboard_device_busy_ratio", "Part of the last minute at work.", "device"
        )
        self._memory = self._gauge(
            "outboard_device_memory_used_bytes", "Device memory in use.", "device"
        )
        self._leader = self._gauge("outboard_pool_leader", "1: this manager grants.")
        build = self._gauge("outboard_pool_build_info", "The manager's version.", "version")
        build.labels(version).set(1)
        self._reports: dict[str, dict[str, ReportBody]] = {}  # daemon -> device -> the last one
        self._scrape = asyncio.Lock()
        self._busy_times: dict[str, BusyTime] = {}

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self._registry)

    def leads(self) -> None:
        self._leader.set(1)

    def watch(self, commands: list[Any], changes: list[Change], seconds: float) -> None:
        """After each commit, in the writer's thread."""
        if seconds:
            self._commits.observe(seconds)
        beats = sum(type(command) is Heartbeat for command in commands)
        if beats:
            self._beats.inc(beats)
        leases: dict[str, Lease] = {}
        for change in changes:
            record = change.record
            if isinstance(record, Lease):
                leases[record.id] = record
            elif isinstance(record, Audit) and record.verb == "grant":
                self._granted(record, leases.get(record.object))
            elif isinstance(record, Audit) and record.verb == "end":
                self._ends.labels(record.detail).inc()

    def _granted(self, audit: Audit, lease: Lease | None) -> None:
        self._grants.inc()
        if lease is not None and lease.held_ms == audit.at_ms:  # not a part that it grew by
            wait_s = (lease.held_ms - lease.arrived_ms) / 1000
            self._wait_seconds.labels(lease.request.selector.kind or "any").observe(wait_s)

    def answered(self, status: int) -> None:
        counter = self._answered.get(status)
        if counter is None:
            counter = self._answered[status] = self._requests.labels(str(status))
        counter.inc()

    def reported(self, daemon: str, reports: Sequence[ReportBody], now_ms: int) -> None:
        """`reports`: of a heartbeat that the core has accepted."""
        counts = {r.id: {use.epoch: use.compute_ns for use in r.uses} for r in reports if r.uses}
        self._busy_times.setdefault(daemon, BusyTime()).beat(now_ms, counts)
        self._reports[daemon] = {report.id: report for report in reports}

    def use_of(self, state: State, device: str) -> DeviceUse | None:
        """Returns None if the device is lost, or its daemon has sent no heartbeat since it
        registered. In the writer's thread."""
        if health(state, device) is Health.LOST:
            return None
        daemon = state.devices[device].daemon
        report = self._reports.get(daemon, {}).get(device)
        busy = self._busy_times.get(daemon)
        if report is None or busy is None:
            return None
        return DeviceUse(
            max(report.busy, busy.ratio(device)),
            report.memory_used_bytes,
            len(report.sessions),
            sum(session.busy for session in report.sessions),
        )

    def forget(self, daemon: str) -> None:
        self._reports.pop(daemon, None)
        self._busy_times.pop(daemon, None)

    def fill(self, state: State) -> None:
        """Sets the gauges. In the writer's thread."""
        pool = (self._devices, self._leases, self._queue, self._oldest)
        for gauge in (*pool, self._up, self._open, self._busy, self._memory):
            gauge.clear()
        devices: Tally[tuple[str, str]] = Tally()
        for name, record in state.devices.items():
            if record.admin is Admin.RETIRED:
                continue
            well = health(state, name)
            devices[record.kind, allocation(state, name) if well is Health.OK else well] += 1
            self._up.labels(name).set(well is Health.OK)
            self._open.labels(name).set(record.admin is Admin.OPEN)
            if use := self.use_of(state, name):
                self._busy.labels(name).set(use.busy)
                self._memory.labels(name).set(use.memory_bytes)
        for (kind, where), count in devices.items():
            self._devices.labels(kind, where).set(count)
        leases = Tally(
            ("exclusive" if lease.request.exclusive else "shared", lease.state)
            for lease in state.leases.values()
            if lease.state is not LeaseState.OVER
        )
        for (mode, at), count in leases.items():
            self._leases.labels(mode, at).set(count)
        self._fill_queue(state)

    def _fill_queue(self, state: State) -> None:
        arrived: dict[str, list[int]] = {}
        for lease_id, part in state.waiting:
            lease = state.leases[lease_id]
            kind = lease.request.selector.kind or "any"
            arrived.setdefault(kind, []).extend(
                demand.arrived_ms for demand in lease.waiting if demand.part == part
            )
        for kind, times_ms in arrived.items():
            self._queue.labels(kind).set(len(times_ms))
            self._oldest.labels(kind).set(max(0, state.now_ms - min(times_ms)) / 1000)

    async def scrape(self, fill: Callable[[], Awaitable[None]] | None = None) -> bytes:
        """Returns what Prometheus gets. `fill`: makes the writer call fill(); None: this manager
        has no state. Another scrape must not clear the gauges before this one has read them."""
        async with self._scrape:
            if fill is not None:
                await fill()
            return await asyncio.to_thread(generate_latest, self._registry)
