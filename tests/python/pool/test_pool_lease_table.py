"""The table of lease states (docs/pool.md, "Leases"), row by row."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace as replaced
from pool_commands import SECOND, Pool

from outboard.pool.core.commands import (
    BanUser,
    GetLease,
    Grow,
    PutLease,
    Release,
    Resume,
    Revoke,
    SessionReport,
    SetAdmin,
    Shrink,
)
from outboard.pool.core.leases import KEPT_PARTS, MOST_WAITING_PARTS
from outboard.pool.core.records import Admin, Lease, LeaseState, Request
from outboard.pool.core.replies import DesiredChanged, LeaseChanged
from outboard.pool.core.state import living_handles

STATES = ["queued", "held", "ending", "over"]
T = 30 * SECOND


def lease_in(state: str, **request: object) -> tuple[Pool, Lease]:
    """Returns a pool of one device, and lease "x" of ada in the given state."""
    pool = Pool()
    if state == "queued":
        pool.held("other", "bob", static=True, ttl_ms=1_000_000)
        assert pool.put("x", **request).status == 202
    else:
        pool.held("x", **request)
    if state in ("ending", "over"):
        pool.release("x")
    if state == "over":
        pool.beat()
    assert pool.lease("x").state == state
    return pool, pool.lease("x")


@pytest.mark.parametrize(
    ("state", "status"), [("queued", 202), ("held", 200), ("ending", 410), ("over", 410)]
)
def test_put_again(state: str, status: int) -> None:
    pool, _ = lease_in(state)
    epochs = sorted(pool.state.handles)
    place = list(pool.state.waiting)
    assert pool.put("x").status == status
    assert sorted(pool.state.handles) == epochs
    assert list(pool.state.waiting) == place


@pytest.mark.parametrize("state", STATES)
def test_put_with_another_body(state: str) -> None:
    pool, lease = lease_in(state)
    answer = pool.put("x", share=1, exclusive=False)
    assert (answer.status, answer.name) == (409, "other-body")
    assert pool.lease("x") == lease


@pytest.mark.parametrize("state", STATES)
def test_put_of_anothers_id(state: str) -> None:
    pool, lease = lease_in(state)
    assert pool.put("x", "eve").status == 404
    assert pool.renew("x", "eve").status == 404
    assert pool.release("x", "eve").status == 404
    assert pool.ask(GetLease("x", "eve")).status == 404
    assert pool.lease("x") == lease


def test_scheduler_fits_all_of_it() -> None:
    pool, _ = lease_in("queued")
    epoch = pool.state.devices["n0/0"].epoch
    pool.release("other", "bob")
    assert pool.lease("x").state == "queued"  # not confirmed yet
    outcome_before = pool.store.rev
    pool.beat()
    view = pool.ask(GetLease("x", "ada"))
    assert view.state == "held"
    assert view.handles[0].epoch > epoch
    assert view.end_ms == pool.now_ms + T
    # Committed, then answered: the store has it.
    assert pool.store.rev > outcome_before
    assert pool.store.tables["leases"]["x"].state == "held"


def test_poll_keeps_the_place_for_the_lease_time() -> None:
    pool, _ = lease_in("queued")
    for _ in range(5):
        pool.now_ms += T - 1
        pool.beat()
        assert pool.ask(GetLease("x", "ada")).status == 202
    pool.now_ms += T
    pool.beat()
    assert (pool.lease("x").state, pool.lease("x").reason) == ("over", "abandoned")


def test_renew_moves_the_end() -> None:
    pool, _ = lease_in("held")
    pool.now_ms += 20 * SECOND
    assert pool.renew("x").end_ms == pool.now_ms + T


def test_a_look_at_a_held_lease_moves_its_end() -> None:
    pool, _ = lease_in("held")
    for _ in range(5):
        pool.now_ms += T - 1
        pool.beat()
        assert pool.ask(GetLease("x", "ada")).end_ms == pool.now_ms + T
    assert pool.ask(GetLease("x", "eve")).status == 404
    pool.now_ms += T
    pool.beat()
    assert pool.lease("x").state == "ending"


@pytest.mark.parametrize("state", ["ending", "over"])
def test_renew_of_a_lease_that_has_ended(state: str) -> None:
    pool, _ = lease_in(state)
    for answer in (pool.renew("x"), pool.ask(GetLease("x", "ada"))):
        assert (answer.status, answer.name) == (410, "lease-over")


def test_commands_at_a_daemon_renew() -> None:
    pool, _ = lease_in("held")
    for _ in range(10):
        pool.now_ms += 20 * SECOND
        pool.beat(sessions=(SessionReport(1, busy=True),))
    assert pool.lease("x").state == "held"


def test_open_but_idle_sessions_do_not_renew() -> None:
    pool, _ = lease_in("held")
    for _ in range(2):
        pool.now_ms += 20 * SECOND
        pool.beat(sessions=(SessionReport(1, busy=False),))
    assert pool.lease("x").state == "ending"


def test_silence_ends_a_held_lease() -> None:
    pool, _ = lease_in("held")
    pool.now_ms += T - 1
    pool.beat(sessions=(SessionReport(1),))
    assert pool.lease("x").state == "held"
    pool.now_ms += 1
    answer = pool.beat(sessions=(SessionReport(1),))
    assert (pool.lease("x").state, pool.lease("x").reason) == ("ending", "expired")
    assert answer.devices[0].leases == ()
    assert answer.devices[0].floor == 2


@pytest.mark.parametrize("field", ["until_ms", "max_hold_ms"])
def test_its_end_ends_a_held_lease(field: str) -> None:
    until = 1_050_000 if field == "until_ms" else 50_000
    pool, _ = lease_in("held", ttl_ms=0, **{field: until})
    pool.wait(49 * SECOND)
    assert pool.lease("x").state == "held"
    pool.wait(SECOND)
    assert pool.lease("x").reason == "expired"


def test_batch_leases_need_no_renewal() -> None:
    pool, _ = lease_in("held", ttl_ms=0)
    pool.wait(3_600 * SECOND)
    assert pool.lease("x").state == "held"


@pytest.mark.parametrize(("state", "status"), [("queued", 409), ("ending", 410), ("over", 410)])
def test_grow_and_shrink_want_a_held_lease(state: str, status: int) -> None:
    pool, _ = lease_in(state)
    assert pool.ask(Grow("x", "ada", "more", 1)).status == status
    assert pool.ask(Shrink("x", "ada", "n0/0")).status == status


def test_grow_queues_as_a_part_of_the_lease() -> None:
    pool = Pool(devices=3)
    pool.held("x")
    pool.held("other", "bob", count=2)
    answer = pool.ask(Grow("x", "ada", "more", 1))
    assert (answer.status, answer.state, len(answer.handles)) == (200, "held", 1)
    assert pool.ask(Grow("x", "ada", "more", 1)).status == 200  # again: no other part
    assert [demand.part for demand in pool.lease("x").waiting] == ["more"]
    pool.release("other", "bob")
    pool.beat()
    assert len(pool.where("x")) == 2
    pool.ask(Grow("x", "ada", "more", 1))
    assert len(pool.where("x")) == 2
    assert pool.ask(Grow("x", "ada", "much more", 2)).name == "can-never-fit"


def row_bytes(pool: Pool) -> int:
    return len(msgspec.json.encode(pool.lease("x")))


def test_a_lease_that_grows_and_shrinks_again_and_again_stays_small() -> None:
    pool = Pool(devices=2)
    pool.held("x")
    names = [f"{number:064}" for number in range(3000)]
    for name in names:
        assert pool.ask(Grow("x", "ada", name, 1)).status == 200
        (other,) = set(pool.where("x")) - {"n0/0"}
        pool.ask(Shrink("x", "ada", other))
        pool.beat()
    assert row_bytes(pool) < 10_000
    for name in names[-KEPT_PARTS:]:  # repeated, they grow nothing
        assert pool.ask(Grow("x", "ada", name, 1)).status == 200
        assert pool.where("x") == ["n0/0"]
    pool.ask(Grow("x", "ada", names[0], 1))
    assert len(pool.where("x")) == 2  # it is forgotten


def test_only_so_many_parts_of_a_lease_wait() -> None:
    pool = Pool(devices=MOST_WAITING_PARTS + 2)
    pool.held("x", static=True)
    pool.held("other", "bob", count=MOST_WAITING_PARTS + 1, static=True)
    names = [f"{number:064}" for number in range(MOST_WAITING_PARTS)]
    for name in names * 2:  # the second time, they are known
        assert pool.ask(Grow("x", "ada", name, 1)).status == 200
    answer = pool.ask(Grow("x", "ada", "more", 1))
    assert (answer.status, answer.name) == (429, "too-many-waiting")
    assert [demand.part for demand in pool.lease("x").waiting] == names
    assert row_bytes(pool) < 25_000
    pool.release("other", "bob")
    pool.beat()
    for name in names:
        pool.ask(Grow("x", "ada", name, 1))
    assert len(pool.where("x")) == 1 + MOST_WAITING_PARTS
    pool.ask(Grow("x", "ada", "more", 1))
    assert len(pool.where("x")) == 2 + MOST_WAITING_PARTS


def test_a_part_that_waits_is_not_forgotten() -> None:
    pool = Pool(devices=3)
    pool.held("x", static=True)
    pool.held("other", "bob", count=2, static=True)
    pool.ask(Grow("x", "ada", "waits", 1))
    names = tuple(f"{number}" for number in range(1000))
    lease = pool.lease("x")
    pool.state.leases["x"] = replaced(lease, parts=(*lease.parts, *names))
    pool.ask(Grow("x", "ada", "more", 1))
    assert pool.lease("x").parts == ("waits", *names[-KEPT_PARTS:], "more")


def test_parts_that_were_served_first_are_forgotten_first() -> None:
    pool = Pool(devices=2)
    pool.held("x", static=True)
    pool.held("other", "bob", static=True)
    pool.ask(Grow("x", "ada", "waits", 1))
    lease = pool.lease("x")
    names = tuple(f"{number}" for number in range(KEPT_PARTS))
    pool.state.leases["x"] = replaced(lease, parts=(*lease.parts, *names))
    pool.release("other", "bob")
    pool.beat_all()
    assert pool.lease("x").parts == (*names, "waits")


def test_shrink_ends_that_handle() -> None:
    pool = Pool(devices=2)
    pool.held("x", count=2)
    for _ in range(2):  # the second says the same
        assert pool.ask(Shrink("x", "ada", "n0/0")).status == 204
    assert pool.where("x") == ["n0/1"]
    assert pool.lease("x").state == "held"
    assert pool.allocation("n0/0") == "fencing"


def test_shrink_of_the_last_handle_ends_the_lease() -> None:
    pool, _ = lease_in("held")
    pool.ask(Shrink("x", "ada", "n0/0"))
    assert (pool.lease("x").state, pool.lease("x").reason) == ("ending", "shrunk")


@pytest.mark.parametrize(
    ("state", "after"),
    [("queued", "over"), ("held", "ending"), ("ending", "ending"), ("over", "over")],
)
@pytest.mark.parametrize("cause", ["released", "revoked", "banned"])
def test_release_revocation_and_ban(state: str, after: str, cause: str) -> None:
    pool, lease = lease_in(state)
    command = {
        "released": lambda: pool.release("x"),
        "revoked": lambda: pool.ask(Revoke("root", "x")),
        "banned": lambda: pool.ask(BanUser("root", "ada")),
    }
    assert command[cause]().status in (200, 204)
    assert pool.lease("x").state == after
    if state in ("queued", "held"):
        assert pool.lease("x").reason == cause
    else:
        assert pool.lease("x") == lease
    assert not [key for key in pool.state.waiting if key[0] == "x"]


def test_a_banned_user_gets_no_lease() -> None:
    pool = Pool()
    pool.ask(BanUser("root", "ada", "key stolen"))
    answer = pool.put("y")
    assert (answer.status, answer.name) == (403, "banned")
    assert "key stolen" in answer.detail


@pytest.mark.parametrize("replace", [False, True])
def test_a_broken_device(replace: bool) -> None:
    pool = Pool(daemons=2)
    view = pool.held("x", replace=replace)
    bad = view.handles[0].daemon
    other = "n1" if bad == "n0" else "n0"
    pool.held("y", "bob")
    pool.put("z", "eve")
    pool.beat(bad, fatal=True)
    assert pool.health(view.handles[0].device) == "broken"
    if not replace:
        assert (pool.lease("x").state, pool.lease("x").reason) in (
            ("ending", "broken"),
            ("over", "broken"),
        )
        return
    assert pool.lease("x").state == "held"
    pool.release("y", "bob")
    pool.beat(other)
    assert pool.where("x") == [f"{other}/0"]  # before eve, who came first
    assert pool.lease("z").state == "queued"


def test_a_lost_device_ends_its_handle_if_the_holder_cannot_reach_it_either() -> None:
    pool = Pool(daemons=2)
    device = pool.held("x").handles[0].device
    daemon = device[:2]
    other = "n1" if daemon == "n0" else "n0"
    assert pool.renew("x", unreachable=(device,)).handles  # not lost: the holder may be cut off
    for _ in range(11):
        pool.now_ms += SECOND
        pool.beat(other)
    assert pool.health(device) == "lost"
    assert pool.renew("x").handles  # it reaches the device, so it computes on
    assert pool.renew("x", unreachable=(device,)).status == 410
    assert (pool.lease("x").state, pool.lease("x").reason) == ("ending", "lost")
    assert pool.allocation(device) == "fencing"


@pytest.mark.parametrize("replace", [False, True])
def test_a_job_keeps_a_lost_device_unless_it_wants_another(replace: bool) -> None:
    pool = Pool(daemons=2)
    device = pool.held("x", static=True, replace=replace).handles[0].device
    other = "n1" if device[:2] == "n0" else "n0"
    for _ in range(11):
        pool.now_ms += SECOND
        pool.beat(other)
    pool.renew("x", unreachable=(device,))
    assert pool.where("x") == [f"{other}/0" if replace else device]


def seats(pool: Pool, lease: str = "x") -> dict[str, int]:
    return {handle.device: handle.seat for handle in living_handles(pool.state, lease)}


def test_devices_have_numbers_in_their_lease() -> None:
    """A device in place of a lost one has its number, whatever its name is."""
    pool = Pool(daemons=5)
    pool.held("x", count=3, replace=True)
    assert seats(pool) == {"n0/0": 0, "n1/0": 1, "n2/0": 2}
    pool.ask(SetAdmin("root", "n1/0", Admin.RETIRED))
    assert seats(pool) == {"n0/0": 0, "n3/0": 1, "n2/0": 2}
    pool.ask(Shrink("x", "ada", "n0/0"))
    pool.ask(Grow("x", "ada", "more", 2))
    pool.beat_all()
    assert seats(pool) == {"n0/0": 0, "n3/0": 1, "n2/0": 2, "n4/0": 3}


def test_a_replacement_has_the_number_of_its_own_device() -> None:
    """Not that of one that was given back, nor does a device that comes meanwhile take it."""
    pool = Pool(daemons=6)
    pool.held("x", count=3, replace=True)
    for other in ("a", "b", "c"):
        pool.held(other, "bob", ttl_ms=10**9)
    pool.ask(Shrink("x", "ada", "n0/0"))
    pool.ask(SetAdmin("root", "n0/0", Admin.CORDONED))
    pool.ask(SetAdmin("root", "n2/0", Admin.RETIRED))
    pool.ask(Grow("x", "ada", "more", 2))
    assert seats(pool) == {"n1/0": 1}
    found = []
    for other in ("a", "b", "c"):
        pool.release(other, "bob")
        pool.beat_all()
        found.append(sorted(seats(pool).values()))
    assert found == [[1, 2], [1, 2], [0, 1, 2, 3]]
    assert seats(pool)["n1/0"] == 1


def test_a_manager_of_two_versions_in_turns_leaves_no_gap() -> None:
    """The older one has rewritten a handle without its number."""
    pool = Pool(daemons=3)
    pool.held("x", count=3)
    handles = pool.store.tables["handles"]
    key = next(key for key, handle in handles.items() if handle.seat == 1)
    handles[key] = replaced(handles[key], seat=-1)
    pool.restart_manager()
    assert seats(pool) == {"n0/0": 0, "n1/0": 1, "n2/0": 2}


def test_devices_of_an_older_manager_get_numbers_by_name() -> None:
    pool = Pool(daemons=4)
    pool.held("x", count=3)
    pool.held("y")
    handles = pool.store.tables["handles"]
    for key, handle in handles.items():
        if handle.lease == "x":
            handles[key] = replaced(handle, seat=-1)
    pool.restart_manager()
    assert seats(pool) == {"n0/0": 0, "n1/0": 1, "n2/0": 2}
    assert seats(pool, "y") == {"n3/0": 0}
    stored = {handle.device: handle.seat for handle in handles.values()}
    assert stored == {"n0/0": 0, "n1/0": 1, "n2/0": 2, "n3/0": 0}


def test_every_handle_confirmed() -> None:
    pool = Pool(daemons=2)
    pool.held("x", count=2)
    pool.release("x")
    pool.beat("n0")
    assert pool.lease("x").state == "ending"
    pool.beat("n1")
    assert pool.lease("x").state == "over"


def test_retirement_counts_as_confirmation() -> None:
    pool = Pool(daemons=2)
    pool.held("x", count=2)
    pool.release("x")
    pool.beat("n0")
    pool.ask(SetAdmin("root", "n1/0", Admin.RETIRED))
    assert pool.lease("x").state == "over"


def test_manager_starts_again_queued() -> None:
    pool, _ = lease_in("queued")
    pool.put("y", "eve")
    before = list(pool.state.waiting)
    pool.now_ms += 100 * SECOND
    pool.restart_manager()
    assert list(pool.state.waiting) == before
    pool.now_ms += T - 1
    assert pool.ask(GetLease("x", "ada")).status == 202


def test_manager_starts_again_held() -> None:
    pool, _ = lease_in("held")
    stored = pool.lease("x").end_ms
    pool.now_ms += 100 * SECOND  # it was down for longer than the lease time
    pool.restart_manager()
    assert pool.renew("x").end_ms == max(stored, pool.now_ms + T)
    assert pool.where("x") == ["n0/0"]


def test_manager_starts_again_ending() -> None:
    pool, _ = lease_in("ending")
    pool.restart_manager()
    assert pool.lease("x").state == "ending"
    answer = pool.register("n0")
    assert answer.devices[0].floor == 2  # sent again
    assert answer.devices[0].leases == ()
    pool.beat()
    assert pool.lease("x").state == "over"


def test_over_is_kept_for_seven_days() -> None:
    pool, lease = lease_in("over")
    pool.restart_manager()
    assert pool.lease("x") == lease
    pool.now_ms += 7 * 86_400 * SECOND
    pool.beat()
    assert "x" not in pool.state.leases
    assert "x" not in pool.store.tables["leases"]


def test_holders_and_daemons_are_told() -> None:
    pool = Pool()
    granted = pool.do(PutLease("x", "ada", Request())).notices
    ended = pool.do(Release("x", "ada")).notices
    for notices in (granted, ended):
        assert set(notices) == {LeaseChanged("x"), DesiredChanged("n0")}


def test_lease_time_stretches_with_the_number_of_holders() -> None:
    pool = Pool()
    assert pool.held("x").ttl_ms == T
    pool.state.renewing = 10_000  # 500 renewals a second, each T/3
    assert pool.renew("x").ttl_ms == 60 * SECOND
    pool.state.renewing = 10**6
    assert pool.renew("x").ttl_ms == 120 * SECOND


def test_lease_time_shrinks_while_somebody_waits() -> None:
    pool = Pool()
    pool.held("x")
    pool.put("y", "bob")
    view = pool.renew("x")
    assert (view.ttl_ms, view.wanted) == (10 * SECOND, True)
    assert view.end_ms == pool.now_ms + T  # what was promised stays


SENSELESS = {"count": 0, "share": 0, "ttl_ms": -1, "max_hold_ms": -1, "until_ms": 1_000_000}


@pytest.mark.parametrize("bad", SENSELESS)
def test_senseless_requests(bad: str) -> None:
    assert Pool().put("x", **{bad: SENSELESS[bad]}).status == 422
    assert Pool().put("x", share=1001, exclusive=False).status == 422


def test_requests_that_can_never_fit() -> None:
    pool = Pool(daemons=2, devices=2)
    assert pool.put("a", count=5).name == "can-never-fit"
    assert LeaseState.QUEUED not in {lease.state for lease in pool.state.leases.values()}


@pytest.mark.parametrize("state", ["queued", "held"])
def test_a_pause_of_the_manager_counts_for_nobody(state: str) -> None:
    """Renewals and heartbeats came meanwhile, and nobody took them."""
    pool, _ = lease_in(state)
    pool.now_ms += 100 * SECOND
    pool.do(Resume())
    assert pool.lease("x").state == state
    assert pool.health() == "ok"
    pool.wait(T - SECOND)
    assert pool.lease("x").state == state
    pool.wait(2 * SECOND)
    assert pool.lease("x").state != state  # its holder says nothing


def test_those_who_were_lost_before_a_pause_stay_lost() -> None:
    pool = Pool()
    pool.wait(11 * SECOND, beating=False)
    pool.do(Resume())
    assert pool.health() == "lost"
    pool.wait(5 * SECOND, beating=False)
    pool.now_ms += 100 * SECOND
    pool.do(Resume())
    assert pool.health() == "lost"
