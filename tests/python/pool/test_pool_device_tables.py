"""The tables of device states (docs/pool.md, "Devices"): allocation, health, administration."""

from __future__ import annotations

import pytest
from pool_commands import MEMORY, SECOND, Pool

from outboard.pool.core.commands import (
    ClearDevice,
    DeregisterDaemon,
    DeviceFacts,
    DeviceReport,
    Heartbeat,
    RegisterDaemon,
    SessionReport,
    SetAdmin,
)
from outboard.pool.core.records import Admin, Request, Selector

HALF = {"exclusive": False, "share": 500, "memory_bytes": 400}
DAY = 86_400 * SECOND


def pool_in(allocation: str) -> Pool:
    """Returns a pool of one device in the given state. Its lease is "x"."""
    pool = Pool()
    if allocation in ("exclusive", "fencing"):
        pool.held("x")
    if allocation == "shared":
        pool.held("x", **HALF)
    if allocation == "fencing":
        pool.release("x")
    if allocation == "unconfirmed":
        pool.restart_manager()
        pool.register("n0")
    assert pool.allocation() == allocation
    return pool


@pytest.mark.parametrize(
    ("before", "exclusive", "shared"),
    [
        ("free", "exclusive", "shared"),
        ("exclusive", None, None),
        ("shared", None, "shared"),
        ("fencing", None, None),
        ("unconfirmed", None, None),
    ],
)
def test_grants(before: str, exclusive: str | None, shared: str | None) -> None:
    for after, request in ((exclusive, {}), (shared, HALF)):
        pool = pool_in(before)
        state = pool.put("y", "bob", **request).state
        assert state == ("held" if after else "queued")
        assert pool.allocation() == (after or before)


@pytest.mark.parametrize(
    "request_", [{**HALF, "share": 501}, {**HALF, "memory_bytes": MEMORY - 399}]
)
def test_shared_without_room(request_: dict[str, int]) -> None:
    pool = pool_in("shared")
    assert pool.put("y", "bob", **request_).state == "queued"


def test_a_shared_lease_without_memory_gets_its_share_of_it() -> None:
    pool = Pool()
    quarter = {"exclusive": False, "share": 250}
    for name in "abcd":
        (handle,) = pool.held(name, **quarter).handles
        assert handle.memory_bytes == MEMORY // 4
    assert pool.state.live_devices["n0/0"].memory_left == 0
    (device,) = pool.beat().devices
    assert [lease.memory_bytes for lease in device.leases] == [MEMORY // 4] * 4
    assert pool.put("e", **quarter).state == "queued"
    pool.release("a")
    pool.beat()
    assert pool.lease("e").state == "held"


@pytest.mark.parametrize(("memory", "state"), [(MEMORY * 7 // 10, "held"), (MEMORY, "queued")])
def test_the_share_of_memory_must_be_free(memory: int, state: str) -> None:
    pool = Pool()
    pool.held("a", exclusive=False, share=100, memory_bytes=memory)
    assert pool.put("b", "bob", exclusive=False, share=300).state == state
    assert pool.state.live_devices["n0/0"].memory_left == 0


@pytest.mark.parametrize("share", [1, 3, 7, 250, 333, 1000])
def test_shares_of_memory_are_never_more_than_all(share: int) -> None:
    request = Request(exclusive=False, share=share)
    for memory in (0, 999, 1000, 10_007, (64 << 30) + 1):
        assert 1000 // share * request.memory_on(memory) <= memory


def test_lease_over_and_confirmed_exclusive() -> None:
    pool = pool_in("exclusive")
    pool.release("x")
    assert pool.allocation() == "fencing"
    pool.beat()
    assert pool.allocation() == "free"


def test_lease_over_and_confirmed_shared() -> None:
    pool = pool_in("shared")
    pool.held("y", "bob", **HALF)
    pool.release("x")
    assert pool.allocation() == "shared"
    assert pool.put("z", "eve", **HALF).state == "queued"  # room returns when confirmed
    pool.beat()
    assert pool.lease("z").state == "held"
    pool.release("y", "bob")
    pool.release("z", "eve")
    assert pool.allocation() == "fencing"
    pool.beat()
    assert pool.allocation() == "free"


@pytest.mark.parametrize("what", ["older state", "open session", "repeated heartbeat"])
def test_not_a_confirmation(what: str) -> None:
    pool = pool_in("exclusive")
    before = pool.state.rev
    pool.beat()
    pool.release("x")
    if what == "older state":
        pool.beat(rev=before)
    elif what == "open session":
        pool.beat(sessions=(SessionReport(1),))
    else:
        pool.seqs["n0"] -= 1
        pool.beat()
    assert pool.allocation() == "fencing"
    pool.beat()
    assert pool.allocation() == "free"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("free", "unconfirmed"),
        ("exclusive", "exclusive"),
        ("shared", "shared"),
        ("fencing", "fencing"),
        ("unconfirmed", "unconfirmed"),
    ],
)
@pytest.mark.parametrize("who", ["manager", "daemon"])
def test_manager_or_daemon_starts_anew(before: str, after: str, who: str) -> None:
    pool = pool_in(before)
    floor = pool.state.devices["n0/0"].floor
    if who == "manager":
        pool.restart_manager()
        assert pool.beat().name == "not-registered"
        answer = pool.register("n0")
    else:
        pool.now_ms += 10 * SECOND  # a second instance waits until the first is lost
        if before in ("exclusive", "shared"):
            pool.renew("x")
        answer = pool.restart_daemon("n0")
    assert pool.allocation() == after
    assert answer.devices[0].floor == floor  # sent again
    assert pool.put("y", "bob").state == "queued"  # waits for its daemon
    pool.beat()
    assert pool.allocation() in {"exclusive", after}
    assert (pool.lease("y").state == "held") == (before in ("free", "fencing", "unconfirmed"))


def test_unconfirmed_needs_the_floor() -> None:
    pool = pool_in("exclusive")
    pool.release("x")
    pool.beat()
    pool.restart_manager()
    pool.register("n0")
    pool.beat(floor=1)
    assert pool.allocation() == "unconfirmed"
    pool.beat(sessions=(SessionReport(77),))  # of a lease that nobody here knows
    assert pool.allocation() == "unconfirmed"
    pool.beat()
    assert pool.allocation() == "free"


def test_epochs_rise_over_restarts_and_reports() -> None:
    pool = Pool()
    seen = [pool.held("a").handles[0].epoch]
    pool.release("a")
    pool.restart_manager()
    facts = DeviceFacts("n0/0", "gpu", "m", MEMORY, epoch_seen=41)
    pool.ask(RegisterDaemon("n0", "n0.1", (facts,)))
    pool.beat()
    seen.append(pool.held("b").handles[0].epoch)
    assert seen == [1, 42]


# Health.


def test_silence() -> None:
    pool = Pool()
    for seconds, health in ((5, "ok"), (6, "suspect"), (9, "suspect"), (10, "lost"), (99, "lost")):
        pool = Pool()
        pool.wait(seconds * SECOND, beating=False)
        assert pool.health() == health, seconds
        assert pool.put("x").state == ("held" if health == "ok" else "queued")


def test_heartbeat_makes_suspect_ok() -> None:
    pool = Pool()
    pool.wait(6 * SECOND, beating=False)
    pool.beat()
    assert pool.health() == "ok"


def test_lost_is_ok_once_the_floors_are_confirmed() -> None:
    pool = Pool()
    pool.held("x")
    pool.wait(10 * SECOND, beating=False)
    pool.release("x")
    pool.beat(rev=0, floor=1)
    assert pool.health() == "lost"
    pool.beat()
    assert (pool.health(), pool.allocation()) == ("ok", "free")
    pool.wait(10 * SECOND, beating=False)  # silence is noticed again
    assert pool.health() == "lost"


@pytest.mark.parametrize("silence", [0, 6])
@pytest.mark.parametrize("report", [{"failed_sessions": 3}, {"fatal": True}])
def test_broken(silence: int, report: dict[str, int]) -> None:
    pool = Pool()
    pool.wait(silence * SECOND, beating=False)
    pool.beat(failed_sessions=2)
    assert pool.health() == "ok"
    pool.beat(**report)
    assert pool.health() == "broken"
    assert pool.put("x").state == "queued"
    pool.beat()
    assert pool.health() == "broken"


def test_broken_and_silent_is_lost_and_comes_back_broken() -> None:
    pool = Pool()
    pool.beat(fatal=True)
    pool.wait(10 * SECOND, beating=False)
    assert pool.health() == "lost"
    pool.beat()
    assert pool.health() == "broken"


def test_self_tests_mend_once_a_day() -> None:
    pool = Pool()
    pool.beat(fatal=True)
    pool.beat(self_tests_ok=2)
    assert pool.health() == "broken"
    pool.beat(self_tests_ok=3)
    assert pool.health() == "ok"
    pool.beat(fatal=True)  # the second time within a day
    pool.beat(self_tests_ok=3)
    assert pool.health() == "broken"
    pool.ask(ClearDevice("root", "n0/0"))
    assert pool.health() == "ok"


def test_self_tests_mend_again_after_a_day() -> None:
    pool = Pool()
    pool.beat(fatal=True)
    pool.beat(self_tests_ok=3)
    pool.now_ms += DAY
    pool.beat(fatal=True)
    pool.beat(self_tests_ok=3)
    assert pool.health() == "ok"


def test_an_old_heartbeat_breaks_no_device_that_was_cleared() -> None:
    """Its daemon has not heard that the errors which it tells are over."""
    pool = Pool()
    pool.beat(fatal=True)
    before = pool.state.rev
    pool.ask(ClearDevice("root", "n0/0"))
    pool.beat(rev=before, fatal=True)
    assert pool.health() == "ok"
    pool.beat(fatal=True)
    assert pool.health() == "broken"


def test_a_broken_device_takes_no_other_out() -> None:
    pool = Pool(devices=2)
    reports = (DeviceReport("n0/0", 1, fatal=True), DeviceReport("n0/1", 1))
    pool.ask(Heartbeat("n0", "n0.1", 2, pool.state.rev, reports))
    assert (pool.health("n0/0"), pool.health("n0/1")) == ("broken", "ok")
    assert pool.put("x", count=2).state == "queued"
    pool.release("x")
    assert pool.held("y").handles[0].device == "n0/1"


def test_health_survives_a_start() -> None:
    pool = Pool()
    pool.beat(fatal=True)
    pool.restart_manager()
    pool.register("n0")
    pool.beat()
    assert pool.health() == "broken"


# Administration.

ADMIN = [Admin.OPEN, Admin.CORDONED, Admin.DRAINING, Admin.RESTARTING, Admin.RETIRED]


@pytest.mark.parametrize("before", ADMIN)
@pytest.mark.parametrize("after", ADMIN)
def test_any_to_any_but_out_of_retired(before: Admin, after: Admin) -> None:
    pool = Pool()
    pool.ask(SetAdmin("root", "n0/0", before))
    answer = pool.ask(SetAdmin("root", "n0/0", after))
    stays = before is Admin.RETIRED and after is not Admin.RETIRED
    assert answer.status == (409 if stays else 200)
    assert pool.state.devices["n0/0"].admin is (before if stays else after)
    pool.put("x")
    assert pool.where("x") == (["n0/0"] if pool.state.devices["n0/0"].admin == "open" else [])


def test_cordoned_lets_holders_stay() -> None:
    pool = pool_in("exclusive")
    pool.ask(SetAdmin("root", "n0/0", Admin.CORDONED))
    for _ in range(10):
        pool.wait(10 * SECOND)
        assert pool.renew("x").handles


@pytest.mark.parametrize("replace", [False, True])
def test_draining_asks_dynamic_holders_to_leave(replace: bool) -> None:
    pool = Pool(daemons=2)
    device = pool.held("x", replace=replace).handles[0].device
    pool.ask(SetAdmin("root", device, Admin.DRAINING))
    assert pool.renew("x").handles[0].reclaim_ms == pool.now_ms + 10 * SECOND
    pool.wait(9 * SECOND)
    assert device in pool.where("x")
    pool.wait(SECOND)
    pool.beat_all()
    assert pool.where("x") == ([] if not replace else [d for d in ("n0/0", "n1/0") if d != device])


def test_draining_lets_static_holders_stay_until_the_deadline() -> None:
    pool = Pool()
    pool.held("x", static=True, ttl_ms=0)
    pool.ask(SetAdmin("root", "n0/0", Admin.DRAINING, deadline_ms=pool.now_ms + 60 * SECOND))
    pool.wait(59 * SECOND)
    assert pool.lease("x").state == "held"
    pool.wait(SECOND)
    assert pool.lease("x").reason == "reclaimed"


def test_retired_ends_its_handles() -> None:
    pool = pool_in("exclusive")
    pool.ask(SetAdmin("root", "n0/0", Admin.RETIRED))
    assert pool.lease("x").state == "over"
    assert pool.beat().devices[0].leases == ()


# Registration.


def test_a_second_instance_waits_until_the_first_is_lost() -> None:
    pool = Pool()
    pool.wait(9 * SECOND, beating=False)
    assert pool.restart_daemon("n0").name == "other-instance"
    pool.wait(SECOND, beating=False)
    assert pool.register("n0").status == 200


def test_a_second_instance_need_not_wait_if_the_first_said_goodbye() -> None:
    pool = Pool()
    assert pool.ask(DeregisterDaemon("n0", "other")).status == 204
    assert pool.health() == "ok"
    pool.ask(DeregisterDaemon("n0", "n0.1"))
    assert pool.health() == "lost"
    assert pool.restart_daemon("n0").status == 200


def test_heartbeats_of_a_replaced_instance_are_refused() -> None:
    pool = Pool()
    pool.wait(10 * SECOND, beating=False)
    pool.restart_daemon("n0")
    pool.instances["n0"] = 1
    pool.seqs["n0"] = 100
    assert pool.beat().name == "other-instance"
    assert pool.allocation() == "unconfirmed"


def test_a_device_belongs_to_one_daemon() -> None:
    pool = Pool(daemons=2)
    facts = (DeviceFacts("n0/0", "gpu", "m", MEMORY),)
    pool.instances["n1"] = 1
    assert pool.ask(RegisterDaemon("n1", "n1.1", facts)).name == "other-daemon"


def test_a_daemon_that_starts_anew_tells_the_facts_anew() -> None:
    """Another accelerator is in the machine, or the rate was measured while it was busy."""
    pool = Pool()
    fast = Selector(kind="cuda", min_memory_bytes=2 * MEMORY, min_gflops=500.0)
    assert pool.put("a", selector=fast).name == "can-never-fit"
    held = pool.held("b")
    pool.wait(10 * SECOND, beating=False)
    pool.instances["n0"] += 1
    pool.seqs["n0"] = 0
    facts = DeviceFacts("n0/0", "cuda", "new", 2 * MEMORY, 1000.0)
    pool.ask(RegisterDaemon("n0", f"n0.{pool.instances['n0']}", (facts,)))
    pool.beat()
    assert pool.put("a", selector=fast).state == "queued"  # the old lease lives
    assert held.handles[0].device == "n0/0"
    pool.release("b")
    pool.beat()
    assert pool.put("a", selector=fast).state == "held"
    assert [key.model for key in pool.state.classes] == ["new"]  # nothing is left of the old one
    device = pool.state.devices["n0/0"]
    pool.restart_manager()
    assert pool.state.devices["n0/0"] == device


def test_memory_of_shared_leases_counts_on_the_new_facts() -> None:
    pool = Pool()
    pool.held("a", exclusive=False, share=100, memory_bytes=MEMORY)
    assert pool.put("b", exclusive=False, share=100, memory_bytes=MEMORY).state == "queued"
    pool.wait(10 * SECOND, beating=False)
    pool.instances["n0"] += 1
    pool.seqs["n0"] = 0
    facts = DeviceFacts("n0/0", "gpu", "m", 2 * MEMORY)
    pool.ask(RegisterDaemon("n0", f"n0.{pool.instances['n0']}", (facts,)))
    pool.beat()
    assert pool.put("b", exclusive=False, share=100, memory_bytes=MEMORY).state == "held"
    assert pool.state.live_devices["n0/0"].memory_left == 0


def test_a_daemon_restarts_when_its_devices_are_free() -> None:
    pool = Pool(daemons=2, devices=2)
    mine = pool.held("x", exclusive=True).handles[0].device
    daemon = mine.partition("/")[0]
    ours = [f"{daemon}/{n}" for n in range(2)]
    for device in ours:
        pool.ask(SetAdmin("root", device, Admin.RESTARTING))
    assert not pool.beat(daemon).restart
    other = pool.held("y", count=2).handles
    assert {handle.device.partition("/")[0] for handle in other} == {"n0", "n1"} - {daemon}
    pool.wait(10 * SECOND)  # the notice
    assert pool.where("x") == []
    assert pool.beat(daemon).restart
    pool.restart_manager()  # which remembers it
    pool.register(daemon)
    assert {pool.state.devices[device].admin for device in ours} == {Admin.RESTARTING}
    pool.ask(DeregisterDaemon(daemon, f"{daemon}.1"))
    pool.restart_daemon(daemon)
    assert {pool.state.devices[device].admin for device in ours} == {Admin.OPEN}
    assert not pool.beat(daemon).restart


def test_a_device_that_is_gone_lets_its_daemon_restart_once() -> None:
    pool = Pool(daemons=1, devices=2)
    for device in ("n0/0", "n0/1"):
        pool.ask(SetAdmin("root", device, Admin.RESTARTING))
    assert pool.beat("n0").restart
    pool.ask(DeregisterDaemon("n0", "n0.1"))
    pool.devices["n0"] = ["n0/0"]  # the other one was taken out
    pool.restart_daemon("n0")
    assert not pool.beat("n0").restart
    assert pool.state.devices["n0/1"].admin is Admin.OPEN


def test_a_cordoned_device_stays_so_over_a_restart() -> None:
    pool = Pool(devices=2)
    pool.ask(SetAdmin("root", "n0/0", Admin.CORDONED))
    pool.ask(SetAdmin("root", "n0/1", Admin.RESTARTING))
    assert pool.beat("n0").restart
    pool.ask(DeregisterDaemon("n0", "n0.1"))
    pool.restart_daemon("n0")
    assert pool.state.devices["n0/0"].admin is Admin.CORDONED
    assert pool.state.devices["n0/1"].admin is Admin.OPEN
