"""Reservations: devices that are kept for users during a window of time."""

from __future__ import annotations

from collections.abc import Iterable

from outboard.pool.core import placement
from outboard.pool.core.records import Admin, Lease, Reservation
from outboard.pool.core.state import Health, State, health, hold_end


def _kept_from(state: State, reserved: Reservation, lease: Lease, now_ms: int) -> bool:
    if lease.holder in reserved.users or reserved.end_ms <= now_ms:
        return False
    return hold_end(lease, now_ms) > reserved.start_ms


def not_over(state: State, now_ms: int) -> list[Reservation]:
    return [one for one in state.reservations.values() if one.end_ms > now_ms]


def kept_from(
    state: State, reservations: Iterable[Reservation], lease: Lease, now_ms: int
) -> tuple[str, ...]:
    """Returns the names of those that keep their devices from the lease."""
    return tuple(one.id for one in reservations if _kept_from(state, one, lease, now_ms))


def permitted(state: State, lease: Lease, devices: set[str], now_ms: int) -> set[str]:
    """Returns the devices without those that reservations keep from the lease."""
    for reserved, number in allowance(state, lease, now_ms):
        devices = devices - set(sorted(devices & reserved)[max(0, number) :])
    return devices


def window(state: State, lease: Lease, now_ms: int) -> str:
    """Returns in words which time keeps devices from the lease. The name is for others."""
    every = state.reservations.values()
    kept = [reserved for reserved in every if _kept_from(state, reserved, lease, now_ms)]
    wanted = set(placement.matching(state, lease.request.selector, lease.request.wire))
    kept = [r for r in kept if wanted.intersection(placement.matching(state, r.selector))]
    first = min(kept, key=lambda reserved: reserved.start_ms)
    if first.start_ms <= now_ms:
        left_s = (first.end_ms - now_ms) / 1000
        return f"a reservation keeps devices for others, for another {left_s:.0f} s"
    start_s = (first.start_ms - now_ms) / 1000
    return f"a reservation begins in {start_s:.0f} s, and the lease may last longer"


def allowance(state: State, lease: Lease, now_ms: int) -> list[tuple[set[str], int]]:
    """Returns pairs (devices, number): so many of these devices at most may be granted now."""
    limits = []
    for reserved in state.reservations.values():
        if not _kept_from(state, reserved, lease, now_ms):
            continue
        matching = {d for d in placement.matching(state, reserved.selector) if _good(state, d)}
        strangers = 0
        for device in matching:
            handles = state.live_devices[device].handles.values()
            holders = [state.leases[h.lease] for h in handles]
            strangers += any(_kept_from(state, reserved, holder, now_ms) for holder in holders)
        limits.append((matching, len(matching) - reserved.count - strangers))
    return limits


def _good(state: State, device: str) -> bool:
    return health(state, device) is Health.OK and state.devices[device].admin is Admin.OPEN
