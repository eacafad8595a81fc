"""Grid Engine jobs with accelerators of a pool: a real cell, a real manager, real daemons."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from gridengine_cluster import NEEDS, Cluster
from pool_daemon import Daemon, until
from pool_server import EVERYBODY, Manager

from conftest import ROOT
from outboard import paths
from outboard.pool.client import PoolClient

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.needs(root=True),  # only root starts a Grid Engine
    *NEEDS,
]

NOBODY = 65534
# An unmodified program. Sums of whole numbers are exact in any order, and int() calls no library.
PROGRAM = """
import numpy as np
a = np.arange(200 * 200).reshape(200, 200) % 13
assert (a.astype(float) @ a.astype(float) == a @ a).all(), "a wrong product"
print("right")
"""


class Site(NamedTuple):
    cluster: Cluster
    manager: Manager
    client: PoolClient
    launcher: str
    away: Path  # while this file exists, prologs and epilogs do not reach the manager
    asked: Path  # a line for each time that a script has run `outboard`
    slow: Path  # while this file exists, prologs that have a lease stay

    def held(self, prefix: str = "ge.") -> list[Any]:
        time.sleep(0.1)  # Grid Engine acts once a second
        rows = self.client.pages("/v1/leases", "leases")
        return [r for r in rows if r["state"] == "held" and r["id"].startswith(prefix)]

    def free_devices(self) -> int:
        rows = self.client.pages("/v1/devices", "devices")
        return sum(r["allocation"] == "free" and r["health"] == "ok" for r in rows)

    def reconcile(self, *options: str) -> subprocess.CompletedProcess[str]:
        words = [self.launcher, "pool", "reconcile", "gridengine", "--pool", self.manager.url]
        return subprocess.run(
            [*words, *options], env=self.cluster.environment, capture_output=True, text=True
        )


@pytest.fixture(scope="module")
def site(native: paths.Native) -> Iterator[Site]:
    # Jobs of users reach their files here, and not below the private folders of pytest.
    with tempfile.TemporaryDirectory(prefix="outboard-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield from started(Path(name), native)


def started(folder: Path, native: paths.Native) -> Iterator[Site]:
    # Without keys, programs use leases of "loopback" only.
    users = 'root = "loopback"\nnobody = "ada"\n'
    manager = Manager(folder / "m", f"{EVERYBODY}[users]\n{users}")
    daemons = [Daemon(native, f"a{i}", "--pool", manager.url) for i in range(3)]
    for daemon in daemons:
        daemon.wait_until_free(manager.local())
    launcher, asked = folder / "outboard", folder / "asked"
    launcher.write_text(
        f'#!/bin/sh\necho "$*" >> {asked}\n'
        f'[ ! -e {folder}/away ] || {{ echo "the manager is away" >&2; exit 1; }}\n'
        f"PYTHONPATH={ROOT}/python OUTBOARD_NATIVE_DIR={native.root} "
        f'{sys.executable} -m outboard "$@"\n'
        f'status=$?; [ "$2" != acquire ] || while [ -e {folder}/slow ]; do sleep 0.1; done\n'
        "exit $status\n"
    )
    launcher.chmod(0o755)
    settings = f"OUTBOARD_POOL={manager.url}\nOUTBOARD={launcher}\nOUTBOARD_CLUSTER=test\n"
    cluster = Cluster(folder / "c", settings, accelerators=3)
    yield Site(
        cluster, manager, manager.local(), str(launcher), folder / "away", asked, folder / "slow"
    )
    if cluster.said("qstat", "-u", "*"):
        cluster.said("qdel", "-f", "-u", "*")
    cluster.stop()
    for daemon in daemons:
        daemon.stop()
    assert manager.stop() == 0


def until_released(site: Site) -> None:
    until(lambda: not site.held(), f"the leases of jobs are over; {site.cluster.logs()}")
    until(lambda: site.free_devices() == 3, "all devices are free")


def test_a_job_computes_on_its_accelerators(site: Site, tmp_path: Path) -> None:
    program, report = tmp_path / "program.py", tmp_path / "report"
    program.write_text(PROGRAM)
    # Without "always", the measured rates of this machine may choose one device.
    script = (
        f"echo lease $OUTBOARD_LEASE\n"
        f"{site.launcher} run --mode remote --devices always:2 --report json:{report} -- "
        f"{sys.executable} {program}\nsleep 2"
    )
    job = site.cluster.submit(script, "-l", "accelerator=2")
    (lease,) = until(site.held, f"the job has a lease; {site.cluster.logs()}")
    assert lease["id"].startswith(f"ge.test.{job}.0.")
    assert (len(lease["devices"]), lease["holder"]) == (2, "loopback")
    site.cluster.wait_until_over(job)
    # Nothing else is in the file: it is the user's, and prologs write to it, too.
    assert site.cluster.output(job) == f"lease {lease['id']}\nright\n"
    said = json.loads(report.read_text())
    (process,), (routine,) = said["processes"], said["routines"]
    assert (routine["remote"], routine["fell_back"], routine["devices"]) == (1, 0, 2)
    devices = {row["id"]: row for row in site.client.pages("/v1/devices", "devices")}
    addresses = [devices[name]["addresses"] for name in lease["devices"]]
    assert any(process["server"] in found for found in addresses)
    until_released(site)


def test_a_job_without_accelerators_does_not_ask(site: Site) -> None:
    before = site.asked.read_text() if site.asked.exists() else ""
    # As if a job with accelerators had submitted it with -V.
    script = 'echo "lease $OUTBOARD_LEASE pool $OUTBOARD_POOL"'
    job = site.cluster.submit(script, "-v", "OUTBOARD_LEASE=ge.test.1.0.1")
    site.cluster.wait_until_over(job)
    assert site.cluster.output(job) == "lease  pool \n"
    assert (site.asked.read_text() if site.asked.exists() else "") == before


def test_the_complex_has_a_short_name_and_no_soft_requests(site: Site) -> None:
    script = 'echo "lease ${OUTBOARD_LEASE%.*}"; sleep 2'
    words = ["qsub", "-soft", "-l", "accelerator=1", "-b", "y", "/bin/true"]
    done = subprocess.run(words, env=site.cluster.environment, capture_output=True, text=True)
    assert "soft requests on consumables" in done.stdout + done.stderr
    assert done.returncode != 0
    job = site.cluster.submit(script, "-l", "acc=2")
    (lease,) = until(site.held, f"it has a lease; {site.cluster.logs()}")
    assert len(lease["devices"]) == 2
    site.cluster.wait_until_over(job)
    assert site.cluster.output(job) == f"lease ge.test.{job}.0\n"
    until_released(site)


def test_a_job_deleted_during_its_prolog_keeps_nothing(site: Site) -> None:
    site.slow.touch()
    try:
        job = site.cluster.submit("echo ran", "-l", "accelerator=1")
        until(lambda: site.held(f"ge.test.{job}."), f"it has a lease; {site.cluster.logs()}")
        site.cluster.said("qdel", str(job))
        time.sleep(2)  # the host is told within a second
    finally:
        site.slow.unlink()
    site.cluster.wait_until_over(job)
    assert site.cluster.output(job) == ""
    site.reconcile("--cluster", "test")  # for the case that there was no epilog
    until_released(site)


def test_a_job_of_a_user(site: Site) -> None:
    """The scripts are root's, and what they keep, too."""
    script = "id -u; echo ${OUTBOARD_LEASE%.*}; echo x > $SGE_JOB_SPOOL_DIR/outboard_lease; sleep 2"
    job = site.cluster.submit(script, "-l", "accelerator=1", uid=NOBODY)
    (lease,) = until(site.held, f"it has a lease; {site.cluster.logs()}")
    assert lease["holder"] == "certificate ada"
    site.cluster.wait_until_over(job)
    first, second, third = site.cluster.output(job).splitlines()
    assert (first, second) == (str(NOBODY), f"ge.test.{job}.0")
    assert "Permission denied" in third
    until_released(site)


def test_a_parallel_job_has_the_number_that_it_asks_for(site: Site) -> None:
    """Whatever its slots: four times two are more than there are."""
    script = "echo $NSLOTS; sleep 2"
    job = site.cluster.submit(script, "-l", "accelerator=2", "-pe", "smp", "4")
    (lease,) = until(site.held, f"it has a lease; {site.cluster.logs()}")
    assert len(lease["devices"]) == 2
    site.cluster.wait_until_over(job)
    assert site.cluster.output(job) == "4\n"
    until_released(site)


def test_accelerators_are_counted(site: Site) -> None:
    """Each task of an array counts as a job."""
    first = site.cluster.submit("sleep 300", "-l", "accelerator=1", "-t", "5-6")
    until(lambda: len(site.held()) == 2, f"both have leases; {site.cluster.logs()}")
    names = sorted(row["id"].rpartition(".")[0] for row in site.held())
    assert names == [f"ge.test.{first}.5", f"ge.test.{first}.6"]
    second = site.cluster.submit("echo second", "-l", "accelerator=2")
    until(
        lambda: "gc:accelerator=1" in site.cluster.said("qstat", "-j", str(second)),
        "the second waits for accelerators",
    )
    site.cluster.said("qdel", f"{first}.5")
    site.cluster.wait_until_over(second)
    assert [row["id"].rpartition(".")[0] for row in site.held()] == [f"ge.test.{first}.6"]
    site.cluster.said("qdel", str(first))
    until_released(site)


@pytest.mark.parametrize("how", ["qdel", "exit", "crash"])
def test_however_a_job_ends_its_devices_are_free(how: str, site: Site) -> None:
    ends = {"exit": "exit 3", "crash": "kill -SEGV $$"}.get(how, "echo begun; sleep 300")
    job = site.cluster.submit(f"sleep 1; {ends}", "-l", "accelerator=1")
    until(lambda: site.held(f"ge.test.{job}."), f"it has a lease; {site.cluster.logs()}")
    if how == "qdel":
        until(lambda: site.cluster.output(job), "it runs")
        site.cluster.said("qdel", str(job))
    site.cluster.wait_until_over(job)
    until_released(site)


def test_the_environment_of_a_job_does_not_reach_its_prolog(site: Site, tmp_path: Path) -> None:
    """The prolog is root's, and qsub -v sets what a user wants."""
    trap = tmp_path / "awk"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/caught\n")
    trap.chmod(0o755)
    for name in ("sh", "outboard", "env", "setsid", "grep", "qstat", "dirname"):
        (tmp_path / name).symlink_to(trap)
    hostile = f"PATH={tmp_path},OUTBOARD={trap},PYTHONPATH={tmp_path},OUTBOARD_CLUSTER=other"
    hostile += ",JOB_ID=1,SGE_ROOT=/nowhere,SGE_JOB_SPOOL_DIR=/nowhere,BASH_ENV=" + str(trap)
    hostile += f",SGE_ARCH=../../../../../..{tmp_path},SGE_CELL=x,SGE_QMASTER_PORT=1,ENV={trap}"
    hostile += ",X=\n<JB_hard_resource_list>\n<CE_name>accelerator</CE_name>\n"
    hostile += "<CE_doubleval>3</CE_doubleval>\n</JB_hard_resource_list>"
    script = "echo ${OUTBOARD_LEASE%.*}; /bin/sleep 2"
    job = site.cluster.submit(script, "-l", "accelerator=1", "-v", hostile)
    (lease,) = until(site.held, f"the job has a lease; {site.cluster.logs()}")
    assert len(lease["devices"]) == 1
    site.cluster.wait_until_over(job)
    assert site.cluster.output(job) == f"ge.test.{job}.0\n"
    assert not (tmp_path / "caught").exists()
    until_released(site)


def test_without_free_devices_a_job_waits_in_the_queue(site: Site) -> None:
    """The complex may promise more than the pool has, because others hold devices."""
    body = {"count": 3, "ttl_s": 300, "wait_s": 20}
    others = site.client.ask("PUT", "/v1/leases/all", body, wait_s=20)
    assert others["state"] == "held"
    job = site.cluster.submit("echo ran", "-l", "accelerator=1")
    until(lambda: "R" in site.cluster.state(job), f"it waits again; {site.cluster.logs()}")
    assert not site.held()
    site.client.ask("DELETE", "/v1/leases/all")
    until(lambda: site.free_devices() == 3, "they are free")
    until(lambda: not site.cluster.state(job), f"it ends; {site.cluster.logs()}", 150)
    assert site.cluster.output(job).endswith("\nran\n")
    until_released(site)


def test_reconcile_releases_what_no_job_has(site: Site) -> None:
    alive = site.cluster.submit("sleep 300", "-l", "accelerator=1", "-N", "r<&>-27-9-30")
    until(lambda: site.held(f"ge.test.{alive}."), "it has a lease")
    site.cluster.said("qmod", "-sj", str(alive))  # a suspended job keeps its devices
    until(lambda: "s" in site.cluster.state(alive), "it is suspended")
    (lease,) = site.held()
    # Their epilogs did not run: of another job, of an earlier start, of another cluster.
    earlier = f"ge.test.{alive}.0.1000000000"
    for name in (earlier, "ge.other.9999.0.1"):
        body = {"ttl_s": 300, "for_user": "root", "wait_s": 20}
        assert site.client.ask("PUT", f"/v1/leases/{name}", body)["state"] == "held"
    assert "the cluster has no name here" in site.reconcile().stderr
    assert site.reconcile("--cluster", "test", "--dry-run").stdout == f"would release {earlier}\n"
    assert site.reconcile("--cluster", "test").stdout == f"released {earlier}\n"
    left = sorted(row["id"] for row in site.held())
    assert left == sorted(["ge.other.9999.0.1", lease["id"]])
    site.client.ask("DELETE", "/v1/leases/ge.other.9999.0.1")
    # While nobody knows which jobs live, nothing is released.
    site.cluster.kill_master()
    done = site.reconcile("--cluster", "test")
    assert done.returncode == 1
    assert "nothing was released" in done.stderr
    assert [row["id"] for row in site.held()] == [lease["id"]]
    site.cluster.start_master()
    assert site.reconcile("--cluster", "test").stdout == ""
    site.cluster.said("qdel", str(alive))
    until_released(site)


def test_an_epilog_without_a_manager_does_not_stop_the_queue(site: Site) -> None:
    job = site.cluster.submit("sleep 1; echo ran", "-l", "accelerator=1")
    until(lambda: site.held(f"ge.test.{job}."), "it has a lease")
    site.away.touch()
    site.cluster.wait_until_over(job)
    site.away.unlink()
    assert site.cluster.output(job) == "ran\nthe manager is away\n"
    assert len(site.held()) == 1
    assert site.cluster.said("qselect", "-qs", "E", check=False) == ""
    assert site.reconcile("--cluster", "test").stdout.startswith(f"released ge.test.{job}.0.")
    until_released(site)


def test_a_host_that_fails_frees_the_devices_of_its_jobs(site: Site) -> None:
    job = site.cluster.submit("echo begun; sleep 300", "-l", "accelerator=2")
    until(lambda: site.cluster.output(job), "it runs")
    assert len(site.held()) == 1
    site.cluster.kill_host()
    # The host may come back, until the master or an administrator gives the job up.
    assert site.reconcile("--cluster", "test").stdout == ""
    assert len(site.held()) == 1
    site.cluster.give_up(job)
    assert site.reconcile("--cluster", "test").stdout.startswith(f"released ge.test.{job}.0.")
    until_released(site)
