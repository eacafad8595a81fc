"""The store in etcd: commits are whole, are made once, and are the leader's only."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from etcd_cluster import EtcdCluster, etcd_cluster, leading_store, make_tls
from msgspec.structs import replace
from pool_commands import SECOND, Pool, fresh_seed

from outboard.commands.pool import command
from outboard.errors import OutboardError
from outboard.pool.core.commands import BanUser, UnbanUser
from outboard.pool.core.records import TABLES, Audit, Handle, Quota
from outboard.pool.core.state import Config, State
from outboard.pool.core.transaction import Change
from outboard.pool.serve.standby import share_keys, shared_name
from outboard.pool.store.base import StoreError
from outboard.pool.store.etcd import EtcdStore
from outboard.pool.store.etcd_gateway import EtcdAddress, EtcdSilentError
from outboard.pool.store.etcd_notes import EtcdNotes
from outboard.pool.store.leadership import DeposedError, Leadership
from outboard.pool.store.memory import MemoryStore
from outboard.pool.store.restore import restore, restore_into_etcd
from outboard.pool.store.sqlite import SqliteStore
from outboard.pool.tokens import Signer


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd")) as cluster:
        yield cluster


@pytest.fixture
def store(etcd: EtcdCluster) -> Iterator[EtcdStore]:
    made = leading_store(etcd)
    yield made
    made.close()


def reread(store: EtcdStore) -> tuple[EtcdStore, State]:
    """Returns another store of the same keys, which has read them."""
    other = EtcdStore(store.address, store._leadership)
    return other, other.load(Config())


def quotas(count: int, letters: int = 1) -> list[Change]:
    names = [f"user:{n}:" + "x" * letters for n in range(count)]
    return [Change("quotas", name, Quota(name, devices=len(name))) for name in names]


def stop_keeper(store: EtcdStore) -> None:
    """As if the process was stopped: nothing keeps its place any more."""
    keeper = store._leadership._keeper
    assert keeper is not None
    store._leadership._ended.set()
    keeper.join()  # it may have a question under way, whose answer would move the end


class Both:
    """Gives each commit to two stores."""

    def __init__(self, *stores: Any) -> None:
        self.stores = stores

    def commit(self, rev: int, now_ms: int, changes: list[Change]) -> None:
        for store in self.stores:
            store.commit(rev, now_ms, changes)


def test_a_random_history_is_that_of_the_store_in_memory(store: EtcdStore) -> None:
    chance = random.Random(fresh_seed())
    pool = Pool(daemons=2, devices=3)
    memory = pool.store
    rows = [Change(t, k, r) for t, table in memory.tables.items() for k, r in table.items()]
    store.commit(pool.state.rev, pool.now_ms, rows)
    memory.audit.clear()
    pool.store = Both(memory, store)  # type: ignore[assignment]
    for number in range(120):
        pool.now_ms += chance.randrange(3 * SECOND)
        lease, user = f"l{chance.randrange(12)}", chance.choice(["ada", "bob", "eve"])
        act = chance.choice(["put", "put", "release", "beat", "beat", "renew", "ban", "restart"])
        if act == "put":
            shared = chance.random() < 0.4
            more: dict[str, Any] = {"exclusive": False, "share": 300} if shared else {}
            pool.put(f"{lease}.{number}", user, count=chance.randrange(1, 4), ttl_ms=9000, **more)
        elif act == "release":
            alive = [name for name, row in pool.state.leases.items() if row.state == "held"]
            for name in alive[:1]:
                pool.release(name, pool.state.leases[name].holder)
        elif act == "ban":
            pool.ask(
                BanUser("root", user, "why") if chance.random() < 0.3 else UnbanUser("root", user)
            )
        elif act == "restart":
            pool.restart_daemon(chance.choice(["n0", "n1"]))
        else:
            pool.beat_all()
    other, state = reread(store)
    for table in TABLES:
        assert getattr(state, table.name) == getattr(memory.load(Config()), table.name), table
    assert (state.rev, state.now_ms) == (memory.rev, memory.now_ms)
    assert other.audits(0, 10_000, "") == memory.audits(0, 10_000, "")
    middle = memory.audit[len(memory.audit) // 2].rev
    assert other.audits(middle, 7, "") == memory.audits(middle, 7, "")
    assert other.audits(0, 5, "ada") == memory.audits(0, 5, "ada")
    for by in ("user", "lease"):
        for window in ((0, pool.now_ms), (pool.now_ms - 60 * SECOND, pool.now_ms - 5 * SECOND)):
            found, right = (s.usage(by, *window, "") for s in (other, memory))
            assert [row[:2] for row in found] == [row[:2] for row in right]
            assert [row.use for row in found] == [row.use for row in right]
            # The sums are made in another order.
            assert [row[2] for row in found] == pytest.approx([row[2] for row in right])


# More than the 128 operations of a transaction, and more than the 1.5 MiB of a request.
@pytest.mark.parametrize(("count", "letters"), [(119, 1), (300, 1), (60, 20_000)])
def test_a_large_commit(store: EtcdStore, count: int, letters: int) -> None:
    store.commit(1, 1, quotas(count, letters))
    assert reread(store)[1].quotas == {c.key: c.record for c in quotas(count, letters)}
    store.commit(2, 2, quotas(1))  # it works on
    assert len(reread(store)[1].quotas) == count + (letters > 1)


def test_a_commit_with_many_records(store: EtcdStore) -> None:
    """All leases may end in one commit, each with a record, and together they exceed a request."""
    records = [Audit(1, 5, "system", "end", f"lease{n}", "expired " * 12) for n in range(20_000)]
    store.commit(1, 5, [Change("audit", "", record) for record in records])
    other, _ = reread(store)
    assert other.audits(0, 30_000, "") == records
    store.commit(2, 6, quotas(1))  # it works on
    assert not store._copy.audit  # etcd has them


def test_public_keys_of_all_managers(store: EtcdStore) -> None:
    managers = [Signer(None) for _ in range(10)]
    for signer in managers:
        share_keys(store.address, store._leadership, signer)
    share_keys(
        store.address, store._leadership, managers[4]
    )  # the keys of others stay as old as they are
    own = [next(iter(signer.own_keys())) for signer in managers]
    newest = [own[4], *reversed(own[5:]), own[3], own[2]]
    assert list(managers[4].others) == newest
    assert managers[4].public_keys() == {
        kid: der for signer in managers for kid, der in signer.own_keys().items() if kid in newest
    }


def test_a_leadership_that_has_ended_does_not_campaign(etcd: EtcdCluster) -> None:
    ended = Leadership(EtcdAddress.parse(etcd.address("ended")), "http://a")
    ended.resign()
    with pytest.raises(DeposedError):
        ended.campaign()


def test_a_large_commit_that_is_cut_off_is_whole_or_not_there(store: EtcdStore) -> None:
    store.commit(1, 1, quotas(3))
    whole = {c.key: c.record for c in quotas(250, 1_200)}
    seen = set()
    for asks in range(20):
        at = reread(store)[0]
        before = at.load(Config())
        ask, left = at._gateway.ask, iter(range(asks))

        def cut_off(path: str, body: Any, until: float, ask: Any = ask, left: Any = left) -> Any:
            if next(left, None) is None:
                raise EtcdSilentError("cut off")
            return ask(path, body, until)

        at._gateway.ask = cut_off  # type: ignore[method-assign]
        try:
            at.commit(before.rev + 1, 2, quotas(250, 1_200))
        except EtcdSilentError:
            with pytest.raises(StoreError, match="start the manager again"):
                at.commit(before.rev + 2, 3, quotas(1))
        else:
            break
        _, state = reread(store)
        done = state.rev == before.rev + 1
        seen.add(done)
        assert state.quotas == (before.quotas | whole if done else before.quotas)
        # The next turn begins with what was there before.
        fresh = reread(store)[0]
        fresh.commit(fresh._now.rev + 1, 3, [Change("quotas", key, None) for key in whole])
    assert seen == {True, False}
    assert asks > 5


def test_a_deposed_leader_commits_nothing(etcd: EtcdCluster) -> None:
    old = leading_store(etcd, "deposed")
    old.commit(1, 1, quotas(2))
    # As if it was stopped: etcd lets its place go, and it does not know.
    stop_keeper(old)
    old._gateway.ask("/v3/lease/revoke", {"ID": old._leadership._lease}, time.monotonic() + 5)
    new = leading_store(etcd, "deposed")
    old.check(0)
    for rev, changes in ((2, quotas(3)), (3, quotas(300))):
        old._failed = ""
        with pytest.raises(DeposedError, match="another manager leads"):
            old.commit(rev, 2, changes)
    signer = Signer(None)
    with pytest.raises(DeposedError, match="another manager leads"):
        share_keys(old.address, old._leadership, signer)
    with pytest.raises(DeposedError, match="another manager leads"):
        shared_name(old.address, old._leadership, "old")
    assert not EtcdNotes(old.address, old._leadership).below("signers/")
    assert shared_name(new.address, new._leadership, "new") == "new"
    new.commit(2, 2, quotas(4))
    assert len(reread(new)[1].quotas) == 4
    new.close()


def test_a_leader_stops_by_its_own_clock(etcd: EtcdCluster) -> None:
    store = leading_store(etcd)
    stop_keeper(store)
    store.check(0)
    store._leadership._until_s -= 5
    with pytest.raises(DeposedError, match="start it again"):
        store.check(0)


def test_the_time_goes_on_from_that_of_the_leader_before(store: EtcdStore) -> None:
    """Also if nothing was committed for long, and the clock of the next machine is behind."""
    store.commit(1, 1_000, quotas(1))
    store.check(500_000)
    store.check(0)
    for _ in range(200):
        if (found := reread(store)[1].now_ms) != 1_000:
            break
        time.sleep(0.1)
    assert found == 500_000


def test_only_one_leads_and_the_next_one_follows_at_once(etcd: EtcdCluster) -> None:
    address = EtcdAddress.parse(etcd.address("election"))
    managers = [Leadership(address, f"http://m{n}") for n in range(3)]
    assert managers[0].campaign() is None
    assert [m.campaign() for m in managers[1:]] == ["http://m0", "http://m0"]
    managers[0].resign()
    assert managers[2].campaign() is None
    assert managers[1].campaign() == "http://m2"
    for manager in managers[1:]:
        manager.resign()


def test_a_lost_answer_is_no_second_commit(store: EtcdStore) -> None:
    """The first attempt is done, and its answer is lost."""
    member = store._gateway._ask_member
    sent: list[tuple[str, bytes]] = []

    def lossy(path: str, data: bytes, until: float) -> Any:
        answer = member(path, data, until)
        sent.append((path, data))
        return None if len(sent) == 1 else answer

    handles = Handle("d", 1, "l", True, 1000, 1, 0)
    store._gateway._ask_member = lossy  # type: ignore[method-assign]
    audit = Change("audit", "", Audit(1, 1, "ada", "grant", "l"))
    store.commit(1, 1, [Change("handles", ("d", 1), handles), audit])
    assert len(sent) == 2
    store.commit(2, 2, [Change("handles", ("d", 1), Handle("d", 1, "l", True, 1000, 1, 0, False))])
    # The first attempt arrives once more, from a member that was slow.
    answer = member(*sent[0], time.monotonic() + 5)
    assert answer is not None and not answer.get("succeeded")
    other, state = reread(store)
    assert (state.rev, state.handles, len(other.audits(0, 10, ""))) == (2, {}, 1)


def test_etcd_itself_refuses_two_exclusive_grants(store: EtcdStore) -> None:
    store.commit(1, 1, [Change("handles", ("d", 1), Handle("d", 1, "l", True, 1000, 1, 0))])
    store._copy = MemoryStore()  # a mistake of ours: it forgets the grant
    with pytest.raises(StoreError, match="refuses a commit"):
        store.commit(2, 2, [Change("handles", ("d", 2), Handle("d", 2, "m", True, 1000, 1, 0))])
    assert list(reread(store)[1].handles) == [("d", 1)]


def test_a_newer_state_is_refused(store: EtcdStore) -> None:
    store.commit(1, 1, quotas(1))
    EtcdNotes(store.address, store._leadership).write(
        "meta", b'{"version":9,"rev":1,"now_ms":1,"commit":1}'
    )
    with pytest.raises(StoreError, match="newer Outboard"):
        store.load(Config())


def _facts(state: State, jumps: int) -> dict[str, Any]:
    """Returns what is stored, with epochs and revision as before `jumps` restores."""
    found = {table.name: dict(getattr(state, table.name)) for table in TABLES}
    for name, device in state.devices.items():
        found["devices"][name] = replace(device, epoch=device.epoch - (jumps << 32))
    return found | {"rev": state.rev - (jumps << 32), "now_ms": state.now_ms}


def test_a_pool_moves_from_sqlite_to_etcd_and_back(etcd: EtcdCluster, tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "first.db")
    pool = Pool(daemons=2, devices=3)
    rows = [Change(t, k, r) for t, table in pool.store.tables.items() for k, r in table.items()]
    first.commit(pool.state.rev, pool.now_ms, rows)
    pool.store = first  # type: ignore[assignment]
    for number in range(150):
        pool.now_ms += SECOND
        pool.held(f"a{number}", count=2, group="chem")
        pool.release(f"a{number}")
        pool.beat_all()
    pool.held("alone", ttl_ms=0)
    pool.held("part", "bob", exclusive=False, share=300, memory_bytes=10, ttl_ms=0)
    pool.put("waits", "eve", count=6)
    pool.ask(BanUser("root", "mallory", "why"))
    pool.now_ms += 7 * SECOND
    pool.beat_all()
    right, window = _facts(first.load(Config()), 0), (0, pool.now_ms + SECOND)
    acts, uses = first.audits(0, 10_000, ""), first.usage("lease", *window, "")
    assert len(acts) > 300
    assert len(uses) == 152
    (tmp_path / "first").write_bytes(first.backup()())

    text = etcd.address("moved")
    words = ["restore", str(tmp_path / "first"), "--state", text]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    assert f"restored {text} with 2 held leases" in done.output
    store = leading_store(etcd, "moved")
    assert _facts(store.load(Config()), 1) == right
    assert store.audits(0, 10_000, "") == acts
    middle = acts[150].rev
    assert store.audits(middle, 20, "") == first.audits(middle, 20, "")
    assert store.usage("lease", *window, "") == uses
    with pytest.raises(StoreError, match="stop all managers"):
        restore_into_etcd(tmp_path / "first", store.address)
    (tmp_path / "second").write_bytes(store.backup()())
    store.close()
    with pytest.raises(StoreError, match="choose another prefix"):
        restore_into_etcd(tmp_path / "first", store.address)

    assert restore(tmp_path / "second", tmp_path / "second.db") == 2
    second = SqliteStore(tmp_path / "second.db")
    assert _facts(second.load(Config()), 2) == right
    assert second.audits(0, 10_000, "") == acts
    assert second.usage("lease", *window, "") == uses
    second.close()
    first.close()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("etcd://", "'' is no host and port"),
        ("etcd://127.0.0.1:0", "no host and port"),
        ("etcd://127.0.0.1:99999", "no host and port"),
        ("etcd://127.0.0.1,u:p@x", "'u:p@x' is no host"),
        ("etcd://127.0.0.1/a b", "'a b' is no prefix"),
        ("etcd://e1.example.org", "is on the network"),
        ("etcd://127.0.0.1,10.0.0.1:2379", "10.0.0.1:2379 is on the network"),
    ],
)
def test_wrong_addresses(text: str, why: str) -> None:
    with pytest.raises(OutboardError, match=why):
        EtcdAddress.parse(text)


def test_addresses(tmp_path: Path) -> None:
    address = EtcdAddress.parse("etcd://localhost,[::1]:99,127.0.0.1:5/a/b/")
    assert address.members == (("localhost", 2379), ("::1", 99), ("127.0.0.1", 5))
    assert address.prefix == "a/b"
    assert EtcdAddress.parse("etcd://e1,e2", tmp_path).members == (("e1", 2379), ("e2", 2379))


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "backup").touch()
    for words, why in (
        (("serve", "--signing-keys", str(tmp_path)), "add --state etcd://HOST:PORT"),
        (
            ("serve", "--state", str(tmp_path), "--url", "https://m1"),
            "add --state etcd://HOST:PORT",
        ),
        (("restore", str(tmp_path / "backup"), "--state", "memory:"), "give a folder or etcd://"),
    ):
        done = CliRunner().invoke(command, words)
        assert done.exit_code == 2
        assert why in " ".join(done.output.split())
    assert not Path("etcd:").exists()


def test_tls_with_certificates_of_both_sides(tmp_path: Path) -> None:
    tls = make_tls(tmp_path / "tls")
    with etcd_cluster(tmp_path / "etcd", 1, tls) as cluster:
        text = cluster.address("tls")
        leadership = Leadership(EtcdAddress.parse(text, tls), "https://m1")
        assert leadership.campaign() is None
        store = EtcdStore(EtcdAddress.parse(text, tls), leadership)
        store.load(Config())
        store.commit(1, 1, quotas(300))
        assert len(reread(store)[1].quotas) == 300
        # Without a certificate, with those of others, and without TLS.
        bare, others = tmp_path / "bare", make_tls(tmp_path / "others")
        bare.mkdir()
        (bare / "ca.pem").write_bytes((tls / "ca.pem").read_bytes())
        for folder in (bare, others, None):
            with pytest.raises(StoreError):
                Leadership(EtcdAddress.parse(text, folder), "").campaign()
        store.close()
    (tls / "client.key").chmod(0o644)
    with pytest.raises(OutboardError, match="others may read it"):
        Leadership(EtcdAddress.parse(text, tls), "")
    with pytest.raises(OutboardError, match="cannot be used for etcd"):
        Leadership(EtcdAddress.parse(text, tmp_path), "")


def test_nobody_answers() -> None:
    leadership = Leadership(EtcdAddress.parse("etcd://127.0.0.1:1"), "")
    with pytest.raises(StoreError, match=r"127.0.0.1:1: .*is it running there"):
        leadership.campaign()
