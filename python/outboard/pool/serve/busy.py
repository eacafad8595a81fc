"""How busy devices are, from what their daemons count for leases. The event loop's thread tells,
and the writer's thread may ask meanwhile."""

from __future__ import annotations

from collections import deque

_WINDOW_MS = 60_000  # calls that last for seconds count when they end, so less would jump


class _Device:
    """`counted`: ns by epoch, at the last heartbeat; None: nobody knows what they count from.
    `points`: pool time and total_ns, for the last minute."""

    def __init__(self, counted: dict[int, int] | None, since_ms: int) -> None:
        self.counted = counted
        self.total_ns = 0
        self.points = deque([(since_ms, 0)])

    def beat(self, now_ms: int, counts: dict[int, int]) -> None:
        before = self.counted
        if before is not None:
            self.total_ns += sum(max(0, ns - before.get(epoch, 0)) for epoch, ns in counts.items())
        self.counted = counts
        self.points.append((now_ms, self.total_ns))
        while len(self.points) > 2 and self.points[1][0] <= now_ms - _WINDOW_MS:
            self.points.popleft()

    @property
    def idle(self) -> bool:
        """Whether it counts as a device does that was never used."""
        return not self.counted and self.points[0][1] == self.total_ns

    def ratio(self) -> float:
        (begin_ms, begin_ns), (end_ms, end_ns) = self.points[0], self.points[-1]
        if end_ms <= begin_ms:
            return 0.0
        return min(1.0, (end_ns - begin_ns) / ((end_ms - begin_ms) * 1e6))


class BusyTime:
    """The devices of one daemon, from its registration on. Most have no lease, and cost nothing
    here."""

    def __init__(self) -> None:
        self._devices: dict[str, _Device] = {}  # those that are not idle
        self._since_ms: int | None = None

    def beat(self, now_ms: int, compute_ns: dict[str, dict[int, int]]) -> None:
        """Takes what a heartbeat tells. `compute_ns`: by device and epoch, since the daemon's
        start, of those devices that have counts."""
        first = self._since_ms is None
        if self._since_ms is None:
            self._since_ms = now_ms
        for name in compute_ns.keys() - self._devices.keys():
            # The counts of the first heartbeat are from before the manager's start, too.
            since_ms = max(self._since_ms, now_ms - _WINDOW_MS)
            self._devices[name] = _Device(None if first else {}, since_ms)
        for name, device in list(self._devices.items()):
            device.beat(now_ms, compute_ns.get(name, {}))
            if device.idle:
                del self._devices[name]

    def ratio(self, device: str) -> float:
        """Returns the part of the last minute in which leases computed on a device."""
        known = self._devices.get(device)
        return known.ratio() if known is not None else 0.0
