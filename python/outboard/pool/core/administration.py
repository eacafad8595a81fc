"""The commands of administrators that are not about one device."""

from __future__ import annotations

from msgspec.structs import replace

from outboard.pool.core import fair_share
from outboard.pool.core.commands import (
    BanUser,
    DeleteReservation,
    Revoke,
    SetQuota,
    SetReservation,
    SetShares,
    UnbanUser,
)
from outboard.pool.core.handles import end_lease
from outboard.pool.core.records import Ban, LeaseState
from outboard.pool.core.replies import Answer, Done, Problem
from outboard.pool.core.transaction import Transaction

_ALIVE = (LeaseState.QUEUED, LeaseState.HELD)


def revoke(tx: Transaction, command: Revoke) -> Answer:
    lease = tx.state.leases.get(command.id)
    if lease is None:
        return Problem(404, "unknown", f"there is no lease {command.id} (wrong id?)")
    if lease.state in _ALIVE:
        end_lease(tx, lease, "revoked")
        tx.audit(command.actor, "revoke", lease.id)
    return Done(204)


def ban(tx: Transaction, command: BanUser) -> Answer:
    """Ends all leases of a user, who gets no others."""
    tx.put(Ban(command.user, command.reason))
    tx.audit(command.actor, "ban", command.user, command.reason)
    for lease in list(tx.state.leases.values()):
        if lease.holder == command.user and lease.state in _ALIVE:
            end_lease(tx, lease, "banned")
    return Done()


def unban(tx: Transaction, command: UnbanUser) -> Answer:
    if command.user in tx.state.bans:
        tx.delete_ban(command.user)
        tx.audit(command.actor, "unban", command.user)
    return Done()


def set_quota(tx: Transaction, command: SetQuota) -> Answer:
    tx.put(command.quota)
    tx.audit(command.actor, "quota", command.quota.name)
    tx.state.rank_dirty = True
    return Done()


def set_shares(tx: Transaction, command: SetShares) -> Answer:
    if command.shares < 1:
        return Problem(422, "invalid", "shares are out of range (at least 1) give more")
    account = fair_share.account_of(tx.state, command.user, tx.now_ms)
    tx.put(replace(account, shares=command.shares))
    tx.audit(command.actor, "shares", command.user, str(command.shares))
    return Done()


def set_reservation(tx: Transaction, command: SetReservation) -> Answer:
    reserved = command.reservation
    if reserved.count < 1 or reserved.end_ms <= reserved.start_ms:
        text = "the reservation is empty (count >= 1, end after start) change it"
        return Problem(422, "invalid", text)
    tx.put(reserved)
    tx.audit(command.actor, "reserve", reserved.id)
    return Done()


def delete_reservation(tx: Transaction, command: DeleteReservation) -> Answer:
    if command.id in tx.state.reservations:
        tx.delete_reservation(command.id)
        tx.audit(command.actor, "unreserve", command.id)
        tx.state.rank_dirty = True
    return Done(204)
