"""Who is served first, and with which devices."""

from __future__ import annotations

import pytest
from pool_commands import MEMORY, SECOND, Pool

from outboard.pool.core import fair_share, schedule
from outboard.pool.core.commands import (
    DeleteReservation,
    DeviceFacts,
    GetLease,
    Link,
    RegisterDaemon,
    ReportLinks,
    SetAdmin,
    SetQuota,
    SetReservation,
    SetShares,
)
from outboard.pool.core.fair_share import WEEK_MS, accrued, factor
from outboard.pool.core.records import (
    Account,
    Admin,
    Near,
    Priority,
    Quota,
    Reservation,
    Selector,
    Spread,
)

HOUR = 3_600 * SECOND
BATCH = {"ttl_ms": 0, "static": True}


def free(pool: Pool, lease: str, holder: str = "ada") -> None:
    pool.release(lease, holder)
    pool.beat_all()


def served(pool: Pool, *names: str) -> list[str]:
    return [name for name in names if pool.lease(name).state == "held"]


# Order.


def test_classes_come_before_use_and_age() -> None:
    pool = Pool()
    pool.held("x", **BATCH)
    for name, priority in (("i", "idle"), ("n", "normal"), ("h", "high")):
        pool.put(name, name, priority=Priority(priority), **BATCH)
        pool.wait(HOUR // 4)
    order = [lease for lease, _ in fair_share.order(pool.state, pool.now_ms)]
    assert order == ["h", "n", "i"]


def test_who_used_less_comes_first() -> None:
    pool = Pool(devices=2)
    pool.held("x", "heavy", count=2, **BATCH)
    pool.wait(HOUR // 2)
    pool.put("second", "heavy", **BATCH)
    pool.put("first", "light", **BATCH)
    free(pool, "x", "heavy")
    assert served(pool, "first", "second") == ["first", "second"]
    assert pool.state.handles[("n0/0", 2)].lease == "first"


def test_age_overtakes_use() -> None:
    pool = Pool(devices=1)
    pool.held("x", "heavy", **BATCH)
    pool.put("old", "heavy", **BATCH)
    pool.wait(2 * HOUR)
    pool.put("new", "light", **BATCH)
    free(pool, "x", "heavy")
    assert served(pool, "old", "new") == ["old"]


def test_more_shares_come_first() -> None:
    pool = Pool(devices=2)
    for user in ("poor", "rich"):
        pool.held(f"x-{user}", user, **BATCH)
    pool.ask(SetShares("root", "rich", 10))
    pool.wait(HOUR)
    pool.put("a", "poor", **BATCH)
    pool.put("b", "rich", **BATCH)
    free(pool, "x-poor", "poor")
    assert served(pool, "a", "b") == ["b"]


def test_the_factor_is_a_half_for_a_fair_part() -> None:
    assert factor(0, 100, 1, 2) == 1
    assert factor(50, 100, 1, 2) == 0.5
    assert factor(100, 100, 1, 2) == 0.25


def test_use_fades_with_its_half_life() -> None:
    account = accrued(Account("ada", used=8.0, at_ms=0), 2 * WEEK_MS, WEEK_MS)
    assert account.used == 2.0


def test_running_devices_add_to_the_use() -> None:
    account = Account("ada", at_ms=WEEK_MS - 10, week=0, week_used=5.0, running=2500)
    account = accrued(account, WEEK_MS + 10, WEEK_MS)
    assert account.used == 50.0
    assert (account.week, account.week_used) == (1, 25.0)


# Gangs and backfill.


def test_a_gang_gets_all_or_nothing() -> None:
    pool = Pool(devices=3)
    pool.held("x", count=2, **BATCH)
    assert pool.put("gang", "bob", count=3, **BATCH).state == "queued"
    assert pool.where("gang") == []
    free(pool, "x")
    assert len(pool.where("gang")) == 3


def test_backfill_does_not_delay_the_head() -> None:
    pool = Pool(devices=2)
    pool.held("x", max_hold_ms=100 * SECOND, **BATCH)
    pool.put("head", "bob", count=2, **BATCH)
    pool.put("long", "eve", max_hold_ms=101 * SECOND, **BATCH)
    pool.put("endless", "eve", **BATCH)
    pool.put("short", "eve", max_hold_ms=99 * SECOND, **BATCH)
    assert served(pool, "head", "long", "endless", "short") == ["short"]
    pool.wait(102 * SECOND)  # the end, its confirmation, and the next look
    assert served(pool, "head") == ["head"]


def test_backfill_takes_what_the_head_does_not_need() -> None:
    pool = Pool(devices=3)
    pool.held("x", max_hold_ms=100 * SECOND, count=2, **BATCH)
    pool.put("head", "bob", count=2, **BATCH)  # will get one of x's, and the free one or the other
    pool.put("first", "eve", **BATCH)
    pool.put("second", "eve", **BATCH)
    assert served(pool, "head", "first", "second") == ["first"]


def test_freed_devices_are_held_for_a_head_that_waited_a_minute() -> None:
    pool = Pool(devices=2)
    pool.held("x", **BATCH)
    pool.held("y", **BATCH)
    pool.put("head", "bob", count=2, **BATCH)
    free(pool, "x")
    pool.put("early", "eve", max_hold_ms=SECOND, **BATCH)
    assert served(pool, "early") == ["early"]
    pool.wait(60 * SECOND)
    pool.put("late", "eve", max_hold_ms=SECOND, **BATCH)
    assert served(pool, "late") == []
    free(pool, "y")
    assert served(pool, "head", "late") == ["head"]


def test_idle_holders_get_notice_when_others_wait() -> None:
    pool = Pool(devices=2)
    pool.held("i", priority=Priority.IDLE, count=2)
    pool.put("j", "bob", priority=Priority.IDLE)
    assert [h.reclaim_ms for h in pool.renew("i").handles] == [0, 0]
    pool.put("n", "eve")
    notice = pool.now_ms + 10 * SECOND
    assert sorted(h.reclaim_ms for h in pool.renew("i").handles) == [0, notice]
    pool.wait(11 * SECOND)
    assert served(pool, "n", "j") == ["n"]
    assert len(pool.where("i")) == 1


def test_an_idle_holder_that_gave_way_does_not_come_back_before_others() -> None:
    pool = Pool()
    pool.held("i", priority=Priority.IDLE, replace=True)
    pool.put("n", "eve", **BATCH)
    pool.put("m", "eve", **BATCH)
    for _ in range(11):
        pool.wait(SECOND)
        pool.renew("i")
    assert [d.priority for d in pool.lease("i").waiting] == [Priority.IDLE]
    free(pool, "n", "eve")
    assert served(pool, "i", "m") == ["i", "m"]  # i is held, but waits for its device
    assert pool.where("m") == ["n0/0"]


def test_nobody_but_the_idle_class_is_preempted() -> None:
    pool = Pool()
    pool.held("x", **BATCH)
    pool.put("h", "bob", priority=Priority.HIGH, **BATCH)
    pool.wait(HOUR)
    assert served(pool, "x", "h") == ["x"]


# Quotas.


@pytest.mark.parametrize("name", ["user:ada", "group:chem"])
def test_devices_at_once(name: str) -> None:
    pool = Pool(devices=3)
    pool.ask(SetQuota("root", Quota(name, devices=2)))
    assert pool.put("three", group="chem", count=3).name == "can-never-fit"
    pool.held("two", group="chem", count=2)
    assert pool.put("one", group="chem").state == "queued"
    pool.held("other", "bob")  # whoever is at the quota is not the head
    free(pool, "two")
    assert served(pool, "one") == ["one"]


def test_waiting_requests() -> None:
    pool = Pool()
    pool.ask(SetQuota("root", Quota("user:ada", waiting=1)))
    pool.held("x", "bob")
    assert pool.put("a").status == 202
    assert pool.put("b").name == "too-many-waiting"
    assert pool.put("a").status == 202


def test_device_time_per_week() -> None:
    pool = Pool()
    pool.now_ms = 10 * WEEK_MS
    pool.beat()
    pool.ask(SetQuota("root", Quota("user:ada", week_device_ms=50 * SECOND)))
    pool.held("x", **BATCH)
    pool.wait(49 * SECOND)
    free(pool, "x")
    pool.held("y", **BATCH)
    pool.wait(2 * SECOND)
    free(pool, "y")
    assert pool.put("z", **BATCH).state == "queued"
    pool.now_ms = 11 * WEEK_MS
    pool.beat()
    pool.wait(SECOND)
    assert served(pool, "z") == ["z"]


# Reservations.


def reserve(pool: Pool, count: int, start: int, end: int) -> None:
    window = (pool.now_ms + start, pool.now_ms + end)
    answer = pool.ask(
        SetReservation("root", Reservation("r", Selector("gpu"), count, ("ada",), *window))
    )
    assert answer.status == 200


def test_reserved_devices_are_kept_for_their_users() -> None:
    pool = Pool(devices=2)
    reserve(pool, 1, 100 * SECOND, 200 * SECOND)
    pool.held("short", "bob", count=2, max_hold_ms=100 * SECOND, **BATCH)
    free(pool, "short", "bob")
    assert pool.put("both", "bob", count=2, max_hold_ms=101 * SECOND, **BATCH).state == "queued"
    pool.held("one", "bob", **BATCH)  # the other one stays for ada
    pool.held("mine", "ada", **BATCH)
    assert served(pool, "both") == []


def test_a_reservation_ends() -> None:
    pool = Pool()
    reserve(pool, 1, 0, 100 * SECOND)
    assert pool.put("x", "bob", **BATCH).state == "queued"
    pool.wait(100 * SECOND)
    assert served(pool, "x") == ["x"]


def test_a_reservation_is_deleted() -> None:
    pool = Pool()
    reserve(pool, 1, 0, 100 * SECOND)
    pool.put("x", "bob", **BATCH)
    pool.ask(DeleteReservation("root", "r"))
    assert served(pool, "x") == ["x"]


def test_a_head_keeps_no_device_from_those_it_is_reserved_for() -> None:
    pool = Pool(devices=2)
    reserve(pool, 1, 0, HOUR)
    pool.held("x", "eve", **BATCH)
    pool.put("head", "bob", count=2, **BATCH)
    pool.wait(61 * SECOND)  # from then on, free devices are held for a head
    assert pool.put("mine", "ada", **BATCH).state == "held"


def test_idle_holders_keep_devices_that_are_reserved_from_the_head() -> None:
    pool = Pool()
    reserve(pool, 1, HOUR, 2 * HOUR)
    pool.held("i", "eve", priority=Priority.IDLE, max_hold_ms=HOUR // 2, **BATCH)
    pool.put("n", "bob", **BATCH)
    pool.wait(60 * SECOND)
    assert [h.reclaim_ms for h in pool.renew("i", "eve").handles] == [0]
    pool.put("short", "bob", max_hold_ms=HOUR // 2, **BATCH)
    pool.wait(60 * SECOND)
    assert served(pool, "n", "short") == []


def test_a_request_for_devices_that_are_gone_protects_no_device() -> None:
    """The first one that can come true is the one that nobody may delay."""
    pool = Pool(devices=3)
    add(pool, "t", 1, "tpu")
    pool.held("t1", selector=Selector("gpu", "tpu"), **BATCH)
    pool.put("t2", selector=Selector("gpu", "tpu"), **BATCH)
    pool.release("t1")
    pool.ask(SetAdmin("root", "t/0", Admin.RETIRED))
    pool.held("x", max_hold_ms=100 * SECOND, **BATCH)
    pool.put("gang", "bob", count=3, **BATCH)
    pool.put("long", "eve", max_hold_ms=200 * SECOND, **BATCH)
    pool.put("short", "eve", max_hold_ms=90 * SECOND, **BATCH)
    assert served(pool, "t2", "gang", "long", "short") == ["short"]


# A long queue. Requests that wait for reasons of their own keep nobody behind them from devices.

MANY = 150  # more than Config.backfill_depth


def test_many_requests_at_a_quota_keep_nobody_waiting() -> None:
    pool = Pool(devices=3)
    pool.ask(SetQuota("root", Quota("user:ada", devices=1)))
    pool.held("x", **BATCH)
    pool.held("y", "eve", count=2, **BATCH)
    for number in range(MANY):
        pool.put(f"a{number:03}", **BATCH)
    pool.put("b", "bob", **BATCH)
    pool.put("c", "bob", **BATCH)
    free(pool, "y", "eve")
    assert served(pool, "a000", "b", "c") == ["b", "c"]
    free(pool, "x")
    assert served(pool, "a000", "a001") == ["a000"]


@pytest.mark.parametrize("kinds", [1, 3 * MANY], ids=["alike", "all different"])
def test_many_requests_of_a_full_kind_keep_nobody_waiting(kinds: int) -> None:
    """Behind requests of too many kinds, others wait: the cost of a look is bounded."""
    pool = Pool()
    add(pool, "h", 1, "h100")
    pool.held("x", selector=Selector(model="m"), **BATCH)
    pool.held("y", "eve", selector=Selector(model="h100"), **BATCH)
    for number in range(3 * MANY):
        selector = Selector(model="m", min_memory_bytes=number % kinds)
        pool.put(f"a{number:03}", selector=selector, **BATCH)
    pool.put("b", "bob", selector=Selector(model="h100"), **BATCH)
    free(pool, "y", "eve")
    assert served(pool, "a000", "b") == (["b"] if kinds == 1 else [])
    free(pool, "x")
    assert served(pool, "a000", "a001") == ["a000"]


def test_many_requests_that_lack_memory_keep_nobody_waiting() -> None:
    pool = Pool()
    add(pool, "h", 1, "h100")
    half = {"exclusive": False, "share": 500, "selector": Selector(model="m")}
    pool.held("x", "eve", memory_bytes=MEMORY // 2 + 1, **half, **BATCH)
    pool.held("y", "eve", selector=Selector(model="h100"), **BATCH)
    for number in range(MANY):
        pool.put(f"a{number:03}", memory_bytes=MEMORY // 2, **half, **BATCH)
    pool.put("b", "bob", selector=Selector(model="h100"), **BATCH)
    free(pool, "y", "eve")
    assert served(pool, "a000", "b") == ["b"]


def test_many_requests_kept_by_a_reservation_keep_nobody_waiting() -> None:
    pool = Pool(devices=1)
    reserve(pool, 1, 0, 100 * SECOND)
    for number in range(MANY):
        pool.put(f"b{number:03}", "bob", **BATCH)
    pool.put("mine", "ada", **BATCH)
    assert served(pool, "b000", "mine") == ["mine"]


def test_many_gangs_keep_nobody_of_another_kind_waiting() -> None:
    pool = Pool(devices=2)
    add(pool, "h", 1, "h100")
    pool.held("x", selector=Selector(model="m"), **BATCH)
    for number in range(MANY):
        pool.put(f"a{number:03}", count=2, selector=Selector(model="m"), **BATCH)
    pool.held("b", "bob", selector=Selector(model="h100"), **BATCH)


def test_the_head_is_protected_behind_many_requests_at_a_quota() -> None:
    pool = Pool(devices=3)
    pool.ask(SetQuota("root", Quota("user:ada", devices=1)))
    pool.held("x", max_hold_ms=100 * SECOND, **BATCH)
    for number in range(MANY):
        pool.put(f"a{number:03}", **BATCH)
    pool.put("head", "bob", count=3, **BATCH)
    pool.put("long", "eve", max_hold_ms=101 * SECOND, **BATCH)
    pool.put("short", "eve", max_hold_ms=90 * SECOND, **BATCH)
    assert served(pool, "head", "long", "short") == ["short"]


# Reasons: what the queue tells of each request that waits.


def reason(pool: Pool, lease: str) -> str:
    return next(why for name, _, why in schedule.reasons(pool.state) if name == lease)


def test_the_reason_is_a_quota() -> None:
    pool = Pool(devices=5)
    pool.ask(SetQuota("root", Quota("user:ada", devices=3)))
    pool.ask(SetQuota("root", Quota("user:eve", week_device_ms=SECOND)))
    pool.held("x", count=3, **BATCH)
    pool.held("e", "eve", **BATCH)
    pool.put("y", **BATCH)
    pool.wait(5 * SECOND)
    pool.put("f", "eve", **BATCH)
    assert reason(pool, "y") == "user ada may hold 3 devices, and holds 3"
    assert reason(pool, "f") == "user eve may use 1 device-seconds a week, and used 5"


def test_the_reason_is_an_open_reservation() -> None:
    pool = Pool()
    reserve(pool, 1, 0, 100 * SECOND)
    pool.put("x", "bob", **BATCH)
    assert reason(pool, "x") == "a reservation keeps devices for others, for another 100 s"


def test_the_reason_is_a_coming_reservation() -> None:
    pool = Pool()
    reserve(pool, 1, 50 * SECOND, 100 * SECOND)
    pool.put("x", "bob", **BATCH)
    assert reason(pool, "x") == "a reservation begins in 50 s, and the lease may last longer"


def test_the_reason_is_a_larger_request() -> None:
    pool = Pool(devices=3)
    pool.held("x", max_hold_ms=100 * SECOND, **BATCH)
    pool.put("head", "bob", count=3, **BATCH)
    pool.put("long", "eve", **BATCH)
    assert reason(pool, "head") == "2 can be granted now"
    kept = "what is free is kept for the request of 3 devices that waits before it"
    assert reason(pool, "long") == kept
    endless = Pool(devices=2)
    endless.held("x", **BATCH)
    endless.put("head", "bob", count=2, **BATCH)
    endless.wait(61 * SECOND)
    endless.put("late", "eve", **BATCH)
    assert reason(endless, "late") == kept.replace("3", "2")


def test_the_reason_is_that_no_such_device_is_there() -> None:
    pool = Pool()
    add(pool, "h", 1, "h100")
    for name, holder in (("x", "bob"), ("y", "eve")):
        pool.put(name, holder, selector=Selector(model="h100"), **BATCH)
    assert reason(pool, "y") == "0 can be granted now"
    pool.ask(SetAdmin("root", "h/0", Admin.RETIRED))
    assert reason(pool, "y") == "the pool has no such device"


def test_the_reason_is_too_little_memory_or_share() -> None:
    pool = Pool()
    part = {"exclusive": False, "share": 100, **BATCH}
    pool.held("x", memory_bytes=MEMORY - 100, **part)
    pool.put("y", "bob", memory_bytes=101, **part)
    pool.put("z", "eve", exclusive=False, share=901, **BATCH)
    assert reason(pool, "y") == "too little memory is left (0 of 1 devices have enough)"
    assert reason(pool, "z") == "too small a share is left (0 of 1 devices have enough)"


@pytest.mark.parametrize(
    ("spread", "places", "where"),
    [
        (Spread.ONE_NODE, ("n0/0", "n1/0"), "one node"),
        (Spread.DISTINCT_NODES, ("n0/0", "n0/1"), "as many nodes"),
    ],
)
def test_the_reason_is_the_spread(spread: Spread, places: tuple[str, str], where: str) -> None:
    pool = Pool(daemons=2, devices=2)
    holders = {pool.held(f"x{n}", **BATCH).handles[0].device: f"x{n}" for n in range(4)}
    pool.put("z", "bob", count=2, spread=spread, **BATCH)
    assert reason(pool, "z") == "0 can be granted now"
    for device in places:
        pool.release(holders[device])
    pool.beat_all()
    assert reason(pool, "z") == f"2 can be granted now, but not 2 of them on {where}"


def test_the_reason_is_the_length_of_the_queue() -> None:
    pool = Pool(devices=4)
    pool.held("x", count=3, **BATCH)
    for number in range(MANY):
        pool.put(f"a{number:03}", count=2 + number % 2, share=1 + number, exclusive=False, **BATCH)
    assert "does not look at it yet" in reason(pool, f"a{MANY - 1}")


# Placement.


def add(pool: Pool, name: str, devices: int, model: str = "m", **facts: object) -> None:
    pool.devices[name] = [f"{name}/{index}" for index in range(devices)]
    pool.instances[name] = 1
    pool.seqs[name] = 0
    found = tuple(DeviceFacts(d, "gpu", model, MEMORY, 100.0) for d in pool.devices[name])
    pool.ask(RegisterDaemon(name, f"{name}.1", found, **facts))  # type: ignore[arg-type]
    pool.beat(name)


def test_the_fullest_node_comes_first() -> None:
    pool = Pool(daemons=1, devices=2)
    add(pool, "big", 4)
    assert pool.held("a").handles[0].daemon == "n0"
    assert pool.held("b").handles[0].daemon == "n0"
    assert pool.held("gang", count=4, spread=Spread.ONE_NODE).handles[0].daemon == "big"


def test_one_node_and_distinct_nodes() -> None:
    pool = Pool(daemons=3, devices=2)
    apart = pool.held("d", count=3, spread=Spread.DISTINCT_NODES)
    assert len({handle.daemon for handle in apart.handles}) == 3
    assert len({h.daemon for h in pool.held("o", count=1, spread=Spread.ONE_NODE).handles}) == 1
    assert pool.put("never", count=4, spread=Spread.DISTINCT_NODES).name == "can-never-fit"
    assert pool.put("nor", count=3, spread=Spread.ONE_NODE).name == "can-never-fit"
    assert pool.put("wait", count=2, spread=Spread.ONE_NODE).state == "queued"


def test_selectors() -> None:
    pool = Pool()
    add(pool, "fast", 1, "h100", labels={"rack": "7"}, wire=(6, 7))
    for number, selector in enumerate(
        (
            Selector("gpu", "h100"),
            Selector(min_gflops=50.0),
            Selector(labels={"rack": "7"}),
        )
    ):
        view = pool.held(f"x{number}", selector=selector)
        assert view.handles[0].daemon == "fast"
        free(pool, f"x{number}")
    assert pool.held("wire", wire=(7, 8)).handles[0].daemon == "fast"
    assert pool.held("old", wire=(5,)).handles[0].daemon == "n0"
    assert pool.put("none", selector=Selector(kind="fpga")).name == "can-never-fit"
    assert pool.put("much", selector=Selector(min_memory_bytes=MEMORY + 1)).name == "can-never-fit"


def test_nearness() -> None:
    pool = Pool(daemons=0)
    add(pool, "far", 1, subnet="10.9.9")
    add(pool, "subnet", 1, subnet="10.0.0")
    add(pool, "rack", 1, labels={"rack": "7"})
    add(pool, "slow", 1, labels={"rack": "7"})
    add(pool, "quick", 1)
    add(pool, "medium", 1)
    add(pool, "mine", 1, machine="host")
    for daemon, rtt_us, rate in (
        ("slow", 900.0, 1e7), ("medium", 300.0, 5e8),
        ("quick", 90.0, 1e10), ("quick", 5000.0, 1e10), ("quick", 80.0, 1e10),
    ):  # fmt: skip
        pool.ask(ReportLinks((Link("host", daemon, rtt_us, rate),)))
    near = Near("host", subnet="10.0.0", labels={"rack": "7"})
    found = [pool.held(f"x{n}", near=near).handles[0].daemon for n in range(7)]
    assert found == ["mine", "quick", "rack", "subnet", "medium", "far", "slow"]


def test_the_links_of_few_machines_are_kept() -> None:
    pool = Pool(daemons=1)
    for number in range(5000):
        pool.ask(ReportLinks((Link(f"machine{number}", "n0", 100.0, 1e9),)))
    kept = pool.state.links
    assert len(kept) == 4096
    assert "machine4999" in kept
    assert "machine0" not in kept


def test_shared_leases_fill_shared_devices_first() -> None:
    pool = Pool(daemons=2)
    half = {"exclusive": False, "share": 500}
    devices = {pool.held(f"x{n}", f"u{n}", **half).handles[0].device for n in range(2)}
    assert len(devices) == 1
    assert pool.held("whole", "bob").handles[0].device not in devices
    assert pool.ask(GetLease("x0", "u0")).handles[0].share == 500


def test_a_lease_has_one_handle_of_a_device() -> None:
    pool = Pool(daemons=2)
    view = pool.held("x", count=2, exclusive=False, share=100)
    assert len({h.device for h in view.handles}) == 2
