"""How busy devices are, from what their daemons count for leases."""

from __future__ import annotations

from collections import deque

_WINDOW_MS = 60_000  # calls that last for seconds count when they end, so less would jump


class _Device:
    def __init__(self) -> None:
        self.counted: dict[int, int] | None = None  # ns by epoch, at the last heartbeat
        self.total_ns = 0
        self.points: deque[tuple[int, int]] = deque()  # pool time, total_ns


class BusyTime:
    """The devices of one daemon, from its registration on."""

    def __init__(self) -> None:
        self._devices: dict[str, _Device] = {}

    def ratios(self, now_ms: int, compute_ns: dict[str, dict[int, int]]) -> dict[str, float]:
        """Returns the part of the last minute in which leases computed, of each device of a
        heartbeat. `compute_ns`: by device and epoch, since the daemon's start."""
        self._devices = {name: self._devices.get(name) or _Device() for name in compute_ns}
        return {n: _ratio(self._devices[n], now_ms, counts) for n, counts in compute_ns.items()}


def _ratio(device: _Device, now_ms: int, counts: dict[int, int]) -> float:
    before = device.counted
    if before is not None:  # else they count from before the manager's start, too
        device.total_ns += sum(max(0, ns - before.get(epoch, 0)) for epoch, ns in counts.items())
    device.counted = counts
    points = device.points
    points.append((now_ms, device.total_ns))
    while len(points) > 2 and points[1][0] <= now_ms - _WINDOW_MS:
        points.popleft()
    time_ms, busy_ns = now_ms - points[0][0], device.total_ns - points[0][1]
    return min(1.0, busy_ns / (time_ms * 1e6)) if time_ms else 0.0
