"""Hard limits of users and groups: devices at once, device time per week, waiting requests."""

from __future__ import annotations

from outboard.pool.core import fair_share
from outboard.pool.core.records import Lease, Quota, Request
from outboard.pool.core.replies import Problem
from outboard.pool.core.state import State, quota_names


def _quotas(state: State, holder: str, group: str) -> list[Quota]:
    if not state.quotas:
        return []
    names = quota_names(holder, group)
    return [state.quotas[name] for name in names if name in state.quotas]


def refusal(state: State, holder: str, request: Request, count: int, held: int) -> Problem | None:
    """Returns why a request for `count` devices beside `held` ones must not even wait."""
    for quota in _quotas(state, holder, request.group):
        if quota.devices and count + held > quota.devices:
            why = f"{quota.name} may hold {quota.devices} devices at once"
            text = f"{count + held} devices will never be granted ({why}) ask for fewer"
            return Problem(409, "can-never-fit", text)
        if quota.waiting and state.waiting_of.get(quota.name, 0) >= quota.waiting:
            why = f"{quota.name} may have {quota.waiting} requests wait"
            text = f"the request is not queued ({why}) try again when one of them was served"
            return Problem(429, "too-many-waiting", text)
    return None


def allows(state: State, lease: Lease, count: int, now_ms: int) -> bool:
    """Returns whether `count` more devices may be granted to the lease now."""
    return not limit(state, lease, count, now_ms)


def limit(state: State, lease: Lease, count: int, now_ms: int) -> str:
    """Returns which quota keeps `count` more devices from the lease now; empty if none does."""
    for quota in _quotas(state, lease.holder, lease.request.group):
        name, held = quota.name.replace(":", " ", 1), state.held_of.get(quota.name, 0)
        if quota.devices and held + count > quota.devices:
            return f"{name} may hold {quota.devices} devices, and holds {held}"
        if quota.week_device_ms:
            user = quota.name.startswith("user:")
            account = fair_share.account_of(state, lease.holder if user else quota.name, now_ms)
            this_week = account.week == now_ms // fair_share.WEEK_MS
            if this_week and account.week_used >= quota.week_device_ms:
                most_s, used_s = quota.week_device_ms / 1000, account.week_used / 1000
                return f"{name} may use {most_s:.0f} device-seconds a week, and used {used_s:.0f}"
    return ""
