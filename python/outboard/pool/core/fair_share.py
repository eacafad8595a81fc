"""The order of waiting requests: class, then past use that fades, then age (Slurm's classic
fair-share factor; docs/pool.md, "The order")."""

from __future__ import annotations

from msgspec.structs import replace

from outboard.pool.core.records import WHOLE, Account, Demand
from outboard.pool.core.state import State

EVERYBODY = ""
WEEK_MS = 7 * 86_400_000
_HOUR_MS = 3_600_000


def accrued(account: Account, now_ms: int, half_life_ms: int) -> Account:
    """Returns the account as of now: past use has faded, and running devices have added to it."""
    elapsed = now_ms - account.at_ms
    if elapsed <= 0:
        return account
    devices = account.running / WHOLE
    week = now_ms // WEEK_MS
    in_week = elapsed if week == account.week else now_ms - week * WEEK_MS
    before = account.week_used if week == account.week else 0.0
    return replace(
        account,
        used=account.used * 2.0 ** (-elapsed / half_life_ms) + devices * elapsed,
        week=week,
        week_used=before + devices * min(in_week, elapsed),
        at_ms=now_ms,
    )


def is_user(name: str) -> bool:
    return name != EVERYBODY and not name.startswith("group:")


def account_of(state: State, name: str, now_ms: int) -> Account:
    known = state.accounts.get(name) or Account(name, at_ms=now_ms)
    return accrued(known, now_ms, state.config.half_life_ms)


def factor(used: float, all_used: float, shares: int, all_shares: int) -> float:
    """Returns 2^(-(used/all_used)/(shares/all_shares)): 1 for no use, 1/2 for a fair part."""
    if all_used <= 0 or used <= 0:
        return 1.0
    return float(2.0 ** (-(used / all_used) / (shares / all_shares)))


def order(state: State, now_ms: int) -> list[tuple[str, Demand]]:
    """Returns lease and demand of all waiting requests, the first to be served first."""
    if not state.waiting:
        return []
    demands = []
    for lease_id, part in state.waiting:
        lease = state.leases[lease_id]
        demands.append((lease, next(d for d in lease.waiting if d.part == part)))
    if len(demands) == 1:
        return [(demands[0][0].id, demands[0][1])]
    everybody = account_of(state, EVERYBODY, now_ms).used
    shares = sum(a.shares for a in state.accounts.values() if is_user(a.name))
    factors: dict[str, float] = {}

    def rank(item: tuple[str, str, Demand]) -> tuple[int, float, int, str]:
        holder, _, demand = item
        if holder not in factors:
            account = account_of(state, holder, now_ms)
            factors[holder] = factor(account.used, everybody, account.shares, shares or 1)
        points = 100 * factors[holder] + 100 * (now_ms - demand.arrived_ms) / _HOUR_MS
        return (demand.priority.rank, -points, demand.arrived_rev, demand.part)

    items = sorted(((lease.holder, lease.id, demand) for lease, demand in demands), key=rank)
    return [(lease_id, demand) for _, lease_id, demand in items]
