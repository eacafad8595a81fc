"""The matrix of cuts and deaths with two managers and three members of etcd on hosts of their own:
whoever leads is cut off, killed or stopped, and so are members, under the load of the other matrix.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from etcd_cluster import Member, needs_etcd
from pool_hosts import MARKS, ReplicatedHosts
from pool_matrix import (
    MOMENTS,
    PAIRS,
    Site,
    cut,
    kill_daemon,
    kill_grower,
    kill_manager,
    kill_own,
    kill_run,
    restart_daemon,
    restart_manager,
    site_of,
    stand_still,
)

from outboard import paths

pytestmark = [*MARKS, needs_etcd]

# Cuts of the leader from etcd: alone, or also from nodes and clients. In the last one, no two
# members reach each other, so that nobody can lead.
CUTS_OF_LEADER = ["M-S M-E", "M-S M-E M-D", "M-S M-E M-C", "M-S M-E M-D M-C", "M-S M-E S-E"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, native: paths.Native) -> Iterator[Site]:
    with site_of(ReplicatedHosts, tmp_path_factory.mktemp("hosts"), native) as made:
        yield made


def hosts_of(site: Site) -> ReplicatedHosts:
    assert isinstance(site.hosts, ReplicatedHosts)
    return site.hosts


@pytest.mark.parametrize(
    ("way", "seconds"), [("both", 1), ("both", 15), ("both", 40), ("there", 15), ("back", 15)]
)
@pytest.mark.parametrize("pairs", CUTS_OF_LEADER)
def test_the_leader_is_cut_off(pairs: str, way: str, seconds: float, site: Site) -> None:
    cut(site, pairs, way, seconds)


@pytest.mark.parametrize(("way", "seconds"), [("both", 15), ("both", 40), ("there", 15)])
@pytest.mark.parametrize("pairs", PAIRS)
def test_a_cut(pairs: str, way: str, seconds: float, site: Site) -> None:
    """Only the leader's host M is cut off from nodes and clients; the standby reaches them."""
    cut(site, pairs, way, seconds)


def member_of_leader(site: Site) -> Member:
    hosts = hosts_of(site)
    address = hosts.star.address(hosts.names["M"])
    (member,) = [m for m in hosts.etcd.members if m.place.address == address]
    return member


def kill_standby(site: Site) -> None:
    leader = site.hosts.leader()
    (standby,) = [manager for manager in site.hosts.managers if manager is not leader]
    site.hosts.kill(standby)


def kill_member(site: Site) -> None:
    etcd = hosts_of(site).etcd
    member = site.random.choice(etcd.members)
    member.kill()
    etcd.start(member)


def kill_host_of_leader(site: Site) -> None:
    """The member is back before the manager, which needs it."""
    leader, member = site.hosts.leader(), member_of_leader(site)
    member.kill()
    hosts_of(site).etcd.start(member)
    site.hosts.kill(leader)


def kill_majority(site: Site) -> None:
    """Nobody can lead until it is back."""
    etcd = hosts_of(site).etcd
    two = site.random.sample(etcd.members, 2)
    for member in two:
        member.kill()
    time.sleep(8)
    for member in two:
        etcd.start(member)


DEATHS = [
    kill_manager,
    restart_manager,
    kill_standby,
    kill_member,
    kill_host_of_leader,
    kill_majority,
    kill_daemon,
    restart_daemon,
    kill_grower,
    kill_own,
]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("death", DEATHS, ids=lambda death: death.__name__)
def test_a_death(death: Callable[[Site], None], moment: str, site: Site) -> None:
    with site.disturbed(f"{death.__name__}, {moment}", moment):
        death(site)


def test_the_death_of_outboard_run(site: Site) -> None:
    """Only once: its device is free after the lease time of 120 s."""
    with site.disturbed("kill_run"):
        kill_run(site)


@pytest.mark.parametrize("seconds", [3, 15, 40])
@pytest.mark.parametrize("who", ["leader", "member", "host of leader", "daemon", "run", "own"])
def test_a_stop(who: str, seconds: float, site: Site) -> None:
    """A leader that stood still for longer than its lead must not write or sign when it goes on."""
    with site.disturbed(f"stop {who}, {seconds} s"):
        leader, member = site.hosts.leader().process, member_of_leader(site).process
        assert member is not None
        processes = {
            "leader": [leader],
            "member": [member],
            "host of leader": [leader, member],
            "daemon": [site.hosts.daemons[0].process],
            "run": [site.load.programs["static"].process],
            "own": [site.load.programs["own"].process],
        }
        stand_still(seconds, *processes[who])
