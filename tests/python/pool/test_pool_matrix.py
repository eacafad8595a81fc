"""The matrix of cuts and deaths: on four hosts, each part of a pool is cut off, killed, stopped or
started again while jobs come and go, a program computes under `outboard run`, another one takes
devices by itself, and a lease grows and shrinks. Results stay right, nothing is left over, and the
history checker finds nothing in the logs.

The times that each case took are printed; no case fails by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pool_hosts import MARKS, Hosts
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

pytestmark = MARKS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, native: paths.Native) -> Iterator[Site]:
    with site_of(Hosts, tmp_path_factory.mktemp("hosts"), native) as made:
        yield made


# 40 s are more than the grace of daemons whose manager is silent.
CUTS = [("both", 1), ("both", 15), ("both", 40), ("there", 15), ("back", 15)]


@pytest.mark.parametrize(("way", "seconds"), CUTS)
@pytest.mark.parametrize("pairs", PAIRS)
def test_a_cut(pairs: str, way: str, seconds: float, site: Site) -> None:
    cut(site, pairs, way, seconds)


DEATHS = [kill_manager, restart_manager, kill_daemon, restart_daemon, kill_grower, kill_own]


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
@pytest.mark.parametrize("who", ["manager", "daemon", "run", "own", "grower"])
def test_a_stop(who: str, seconds: float, site: Site) -> None:
    """SIGSTOP: it stands still, and goes on later as if no time had passed."""
    with site.disturbed(f"stop {who}, {seconds} s"):
        processes = {
            "manager": site.hosts.leader().process,
            "daemon": site.hosts.daemons[0].process,
            "run": site.load.programs["static"].process,
            "own": site.load.programs["own"].process,
            "grower": site.load.grower,
        }
        stand_still(seconds, processes[who])
