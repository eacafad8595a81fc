"""Slurm jobs with accelerators of a pool: a real cluster, a real manager, real daemons."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pool_daemon import PATIENCE_S, Daemon, until
from pool_server import EVERYBODY, Manager
from slurm_cluster import Cluster

from conftest import ROOT
from outboard import paths
from outboard.pool.client import PoolClient

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.needs("munged", "slurmctld", "slurmd", root=True),
    pytest.mark.needs("sbatch", "squeue", "scontrol", "scancel", package="slurm-client"),
]

EXAMPLES = ROOT / "examples" / "slurm"
DEVICES = {"a0/0", "a1/0", "a2/0"}
# An unmodified program. Sums of whole numbers are exact in any order, and int() calls no library.
# Its sessions stay open until the file GATE is there, or for two minutes if a test fails.
PROGRAM = """
import os, time, numpy as np
a = np.arange(200 * 200).reshape(200, 200) % 13
assert (a.astype(float) @ a.astype(float) == a @ a).all(), "a wrong product"
print("right", flush=True)
end = time.monotonic() + 120
while not os.path.exists(os.environ.get("GATE", "/")) and time.monotonic() < end:
    time.sleep(0.05)
"""


# Runs a program of the examples, whose sessions then stay open in the same way.
HELD = """
import os, runpy, sys, time
runpy.run_path(sys.argv[1], run_name="__main__")
sys.stdout.flush()
end = time.monotonic() + 120
while not os.path.exists(os.environ["GATE"]) and time.monotonic() < end:
    time.sleep(0.05)
"""


class Site(NamedTuple):
    cluster: Cluster
    manager: Manager
    client: PoolClient
    daemons: list[Daemon]
    run: str  # the start of `outboard run` in a job
    slow: Path  # while this file exists, prologs stay for a minute after they have a lease

    def held(self, prefix: str = "slurm.") -> list[Any]:
        rows = self.client.pages("/v1/leases", "leases")
        return [r for r in rows if r["state"] == "held" and r["id"].startswith(prefix)]

    def devices(self) -> dict[str, Any]:
        return {row["id"]: row for row in self.client.pages("/v1/devices", "devices")}

    def free(self) -> set[str]:
        rows = self.devices().items()
        return {name for name, r in rows if r["allocation"] == "free" and r["health"] == "ok"}

    def used(self) -> set[str]:
        """Returns the devices on which programs have sessions, as their daemons report."""
        return {name for name, row in self.devices().items() if row["sessions"]}

    def lease_of(self, job: int, count: int = 1) -> Any:
        """Waits for the job's lease, and checks that no other devices are taken."""
        (lease,) = until(lambda: self.held(f"slurm.test.{job}."), self.cluster.logs)
        taken = set(lease["devices"])
        assert len(taken) == count and taken <= DEVICES
        rows = self.devices()
        assert {name: rows[name]["leases"] for name in DEVICES} == {
            name: [lease["id"]] if name in taken else [] for name in DEVICES
        }
        until(lambda: self.free() == DEVICES - taken, "no other device is taken")
        return lease


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, native: paths.Native) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("slurm")
    # Without keys, all jobs are of "loopback", whoever submits them.
    manager = Manager(folder / "m", EVERYBODY + '[users]\nroot = "loopback"\n')
    daemons = [Daemon(native, f"a{i}", "--pool", manager.url) for i in range(3)]
    for daemon in daemons:
        daemon.wait_until_free(manager.local())
    launcher = folder / "outboard"
    launcher.write_text(
        f"#!/bin/sh\nPYTHONPATH={ROOT}/python OUTBOARD_NATIVE_DIR={native.root} "
        f'{sys.executable} -m outboard "$@"\n'
        # A test makes this file so that a prolog is still there when the job is cancelled.
        f'status=$?; [ "$2" != acquire ] || [ ! -e {folder}/slow ] || sleep 60; exit $status\n'
    )
    launcher.chmod(0o755)
    settings = f"OUTBOARD_POOL={manager.url}\nOUTBOARD={launcher}\n"
    cluster = Cluster(folder / "c", settings, licenses=3, nodes=17)
    yield Site(cluster, manager, manager.local(), daemons, f"{launcher} run", folder / "slow")
    for row in cluster.said("squeue", "-h", "-o", "%A").split():
        cluster.said("scancel", row)
    until(lambda: not cluster.said("squeue", "-h"), "no job is left")
    cluster.stop()
    for daemon in daemons:
        daemon.stop()
    assert manager.stop() == 0


def until_released(site: Site, since: float | None = None) -> None:
    """`since`: time.monotonic() of what ended the job; the time after that is printed."""
    until(lambda: not site.held(), "the leases of jobs are over", 30)
    until(lambda: site.free() == DEVICES, "all devices are free", 30)
    if since is not None:
        print(f"all devices are free after {time.monotonic() - since:.2f} s")
    until(lambda: not site.used(), "no session is left", 30)


class Work:
    """A job whose program has computed and keeps its session. Then the job's script goes on."""

    def __init__(self, site: Site, folder: Path, then: str, *options: str, first: str = "") -> None:
        """`first`, `then`: parts of the script before and after that."""
        program = folder / "program.py"
        program.write_text(PROGRAM)
        self.site, self.end, self.gate = site, folder / "end", folder / "gate"
        script = (
            f"{first}\n{site.run} --mode remote -- {sys.executable} {program} &\n"
            f"until [ -e {self.end} ]; do sleep 0.1; done\n{then}"
        )
        words = ("--licenses=accelerator", *options)
        self.job = site.cluster.submit(script, *words, GATE=str(self.gate))
        self.lease = site.lease_of(self.job)
        until(lambda: site.used() == set(self.lease["devices"]), "it uses its device, and no other")
        until(
            lambda: "right\n" in site.cluster.output(self.job),
            lambda: f"its product is right; {site.cluster.output(self.job)}",
        )

    def until_released(self, since: float) -> None:
        until_released(self.site, since)
        self.gate.touch()  # ends what is left of the program


def test_a_job_computes_on_its_accelerators(site: Site, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    report = tmp_path / "report"
    # Without "always", the measured rates of this machine may choose one device.
    script = (
        f"echo lease $OUTBOARD_LEASE\n"
        f"{site.run} --mode remote --devices always:2 --report json:{report} -- "
        f"{sys.executable} {program}"
    )
    gate = tmp_path / "gate"
    job = site.cluster.submit(script, "--licenses=accelerator:2", GATE=str(gate))
    lease = site.lease_of(job, 2)
    assert (lease["id"], lease["holder"]) == (f"slurm.test.{job}.0", "loopback")
    until(lambda: site.used() == set(lease["devices"]), "it uses both, and no other")
    gate.touch()
    site.cluster.wait_for(job, "COMPLETED")
    said = site.cluster.output(job)
    assert said == f"lease {lease['id']}\nright\n"
    (routine,) = json.loads(report.read_text())["routines"]
    assert (routine["remote"], routine["fell_back"], routine["devices"]) == (1, 0, 2)
    until_released(site)


def test_a_job_without_accelerators_has_no_lease(site: Site) -> None:
    job = site.cluster.submit("echo lease $OUTBOARD_LEASE pool $OUTBOARD_POOL")
    site.cluster.wait_for(job, "COMPLETED")
    assert site.cluster.output(job) == "lease pool\n"
    assert not site.held()


def test_the_numpy_job_of_the_examples(site: Site, tmp_path: Path) -> None:
    """The example as it is: PATH leads to `outboard`, and to a python3 with NumPy."""
    (tmp_path / "held.py").write_text(HELD)
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {tmp_path}/held.py "$@"\n')
    python.chmod(0o755)
    launcher = Path(site.run.removesuffix(" run"))
    path = f"{tmp_path}:{launcher.parent}:{site.cluster.environment['PATH']}"
    gate = tmp_path / "gate"
    words = ("sbatch", "--parsable", f"--output={site.cluster.folder}/%j.out")
    words += (f"--chdir={EXAMPLES}", str(EXAMPLES / "numpy_job.sh"))
    variables = {"PATH": path, "GATE": str(gate), "OUTBOARD_MODE": "remote"}
    job = int(site.cluster.said(*words, **variables))
    lease = site.lease_of(job, 2)
    # With the measured rates of this machine, it may use one of its two devices.
    used = until(site.used, lambda: f"the job computes; {site.cluster.output(job)}")
    assert used <= set(lease["devices"])
    gate.touch()
    site.cluster.wait_for(job, "COMPLETED")
    said = site.cluster.output(job)
    assert said.startswith("right: 3 products of order 1000\n")
    (row,) = re.findall(r"^ *dgemm +(\d+) +(\d+)", said, re.MULTILINE)
    assert row == ("3", "3"), said  # calls, and those that went out
    until_released(site)


@pytest.mark.parametrize(("nodes", "part"), [(8, "0.125"), (16, "0.0625")])
def test_a_job_brings_its_accelerator_along(
    nodes: int, part: str, site: Site, tmp_path: Path
) -> None:
    """The example, with this site's names, and with both ratios that its comment names."""
    program, gate = tmp_path / "program.py", tmp_path / "gate"
    program.write_text(PROGRAM)
    script = (EXAMPLES / "ratio_job.sh").read_text()
    assert "for 1:16, --nodes=16 and --shared 0.0625" in script
    for shown, here in (
        (" --nodes=8 ", f" --nodes={nodes} "),
        ("--shared 0.125 ", f"--shared {part} "),
        ("https://pool.example.org:7780", site.manager.url),
        ("--key /etc/outboard/keys/node --listen 0.0.0.0:7770", "--listen 127.0.0.1:0 --name het"),
        (" outboard ", f" {site.run.removesuffix(' run')} "),
        ("--wait 1m", "--wait 1m --kind cpu --mode remote"),
        ("./solver", f"{sys.executable} {program}"),
    ):
        assert shown in script
        script = script.replace(shown, here)
    file = tmp_path / "job.sh"
    file.write_text(script)
    # The other devices of the pool are free, and have no label.
    words = ("sbatch", "--parsable", f"--output={site.cluster.folder}/%j.out", str(file))
    job = int(site.cluster.said(*words, GATE=str(gate)).split(";")[0])
    # All tasks have a part of the device at once.
    until(
        lambda: site.devices().get("het/0", {}).get("sessions") == nodes,
        lambda: f"{nodes} tasks compute; {site.cluster.output(job)}",
        2 * PATIENCE_S,
    )
    assert site.used() == {"het/0"}
    tasks = [(row["devices"], row["exclusive"]) for row in site.held("")]
    assert tasks == nodes * [(["het/0"], False)]
    gate.touch()
    site.cluster.wait_for(job, "COMPLETED", "FAILED")
    assert site.cluster.output(job).count("right\n") == nodes, site.cluster.output(job)
    assert site.cluster.state(job) == "COMPLETED"
    until_released(site)


def test_licences_are_counted(site: Site) -> None:
    first = site.cluster.submit("sleep 300", "--licenses=accelerator:2")
    site.cluster.wait_for(first, "RUNNING")
    lease = site.lease_of(first, 2)
    second = site.cluster.submit("echo second", "--licenses=accelerator:2")
    until(
        lambda: "Licenses" in site.cluster.said("squeue", "-h", "-j", str(second), "-o", "%r"),
        "the second waits for licences",
    )
    assert site.held() == [lease]
    site.cluster.said("scancel", str(first))
    site.cluster.wait_for(second, "COMPLETED")
    until_released(site)


@pytest.mark.parametrize("how", ["scancel", "exit", "crash", "kill"])
def test_however_a_job_ends_its_devices_are_free(how: str, site: Site, tmp_path: Path) -> None:
    then = {"exit": "exit 3", "crash": "kill -SEGV $$"}.get(how, "exit 0")
    work = Work(site, tmp_path, then)
    ended = time.monotonic()
    if how == "scancel":
        site.cluster.said("scancel", str(work.job))
    elif how == "kill":
        site.cluster.said("scancel", "--full", "--signal=KILL", str(work.job))
    else:
        work.end.touch()
    work.until_released(ended)
    until(lambda: site.cluster.state(work.job) not in ("RUNNING", "COMPLETING"), "it ends")
    state = "FAILED" if how in ("exit", "crash") else "CANCELLED"
    assert site.cluster.state(work.job) == state


def test_a_job_cancelled_during_its_prolog_keeps_nothing(site: Site) -> None:
    site.slow.touch()
    job = site.cluster.submit("echo ran", "--licenses=accelerator")
    until(lambda: site.held(f"slurm.test.{job}."), lambda: f"it has a lease; {site.cluster.logs()}")
    assert site.cluster.state(job) == "CONFIGURING"
    site.cluster.said("scancel", str(job))
    site.slow.unlink()
    until_released(site)
    assert site.cluster.output(job) == ""


def test_a_requeued_job_gets_another_lease(site: Site, tmp_path: Path) -> None:
    first = "echo $OUTBOARD_LEASE; [ ${SLURM_RESTART_COUNT:-0} = 0 ] || exit 0"
    work = Work(site, tmp_path, "exit 0", "--requeue", first=first)
    assert work.lease["id"] == f"slurm.test.{work.job}.0"
    requeued = time.monotonic()
    site.cluster.said("scontrol", "requeue", str(work.job))
    work.until_released(requeued)
    site.cluster.start_requeued(work.job)
    site.cluster.wait_for(work.job, "COMPLETED")
    assert site.cluster.output(work.job).split("\n")[-2:] == [f"slurm.test.{work.job}.1", ""]
    until_released(site)


def test_a_node_that_fails_frees_the_devices_of_its_jobs(site: Site, tmp_path: Path) -> None:
    work = Work(site, tmp_path, "exit 0", "--no-requeue", "-w", "n2")
    site.cluster.kill("n2")
    failed = time.monotonic()
    site.cluster.said("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=test")
    work.until_released(failed)
    work.end.touch()  # ends the script, which has outlived its slurmd
    site.cluster.start_node("n2")
    until(lambda: site.cluster.resumed("n2"), "the node is in service again")


def test_without_free_devices_a_job_waits_in_the_queue(site: Site) -> None:
    """Licences may promise more than the pool has, because others hold devices."""
    body = {"count": 3, "ttl_s": 300, "wait_s": 20}
    others = site.client.ask("PUT", "/v1/leases/all", body, wait_s=20)
    assert others["state"] == "held"
    job = site.cluster.submit("echo ran", "--licenses=accelerator", "--requeue")
    until(lambda: "Restarts=1" in site.cluster.said("scontrol", "show", "job", str(job)), "again")
    assert site.cluster.output(job) == ""
    assert not site.held()
    site.client.ask("DELETE", "/v1/leases/all")
    until(lambda: site.free() == DEVICES, "they are free")
    site.cluster.start_requeued(job)
    site.cluster.wait_for(job, "COMPLETED")
    assert site.cluster.output(job) == "ran\n"
    until_released(site)


def test_reconcile_releases_what_no_job_has(site: Site) -> None:
    job = site.cluster.submit("sleep 300", "--licenses=accelerator")
    until(lambda: site.held(f"slurm.test.{job}."), "it has a lease")
    # Their epilogs did not run. The last one is another cluster's.
    for name in ("slurm.test.9999.0", "slurm.other.9999.0"):
        body = {"ttl_s": 300, "for_user": "root", "wait_s": 20}
        assert site.client.ask("PUT", f"/v1/leases/{name}", body)["state"] == "held"
    launcher = site.run.removesuffix(" run")
    pool = ("--pool", site.manager.url)
    said = site.cluster.said(launcher, "pool", "reconcile", "slurm", *pool, "--dry-run")
    assert said == "would release slurm.test.9999.0\n"
    said = site.cluster.said(launcher, "pool", "reconcile", "slurm", *pool)
    assert said == "released slurm.test.9999.0\n"
    alive = sorted(row["id"] for row in site.held())
    assert alive == sorted(["slurm.other.9999.0", f"slurm.test.{job}.0"])
    # While nobody knows which jobs live, nothing is released.
    site.cluster.kill("slurmctld")
    words = [launcher, "pool", "reconcile", "slurm", *pool]
    done = subprocess.run(words, env=site.cluster.environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "nothing was released" in done.stderr
    assert sorted(row["id"] for row in site.held()) == alive
    site.cluster.start("slurmctld", "slurmctld", "-D")
    site.client.ask("DELETE", "/v1/leases/slurm.other.9999.0")
    # A controller that was killed may have forgotten the job, and then runs no epilog.
    cancel = ["scancel", str(job)]
    until(
        lambda: subprocess.run(cancel, env=site.cluster.environment).returncode == 0,
        "the controller is there again",
    )
    until(lambda: site.cluster.state(job) not in ("RUNNING", "COMPLETING"), "the job is over")
    site.cluster.said(*words)
    until_released(site)
