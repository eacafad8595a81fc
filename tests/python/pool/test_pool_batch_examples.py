"""The scripts for batch systems that are not here: their form, and their commands against a real
manager, with variables and a module `pbs` in place of those of PBS and LSF."""

from __future__ import annotations

import ast
import runpy
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pool_commands import fresh_seed
from pool_daemon import until
from pool_server import EVERYBODY, Manager, running

from conftest import ROOT
from outboard.pool.client import PoolClient

DEPLOY = ROOT / "deploy"
SCRIPTS = sorted(
    file
    for folder in ("slurm", "gridengine", "pbs", "lsf")
    for file in (DEPLOY / folder).iterdir()
    if file.stat().st_mode & 0o100
)
EXAMPLES = sorted(
    file for folder in ("slurm", "gridengine") for file in (ROOT / "examples" / folder).glob("*.sh")
)
ROOT_OWNS = pytest.mark.needs(root=True)  # the scripts write to folders of root


class Site(NamedTuple):
    folder: Path  # the scripts, installed here
    client: PoolClient
    url: str
    away: Path  # while this file exists, scripts do not reach the manager
    stuck: Path  # a file of process ids: while it exists, `outboard` writes its own and hangs

    def holders(self) -> set[str]:
        rows = self.client.pages("/v1/leases", "leases")
        return {row["holder"] for row in rows if row["state"] == "held" and "." in row["id"]}

    def held(self) -> dict[str, int]:
        """Returns the leases of jobs, and how many devices each has."""
        rows = self.client.pages("/v1/leases", "leases")
        return {r["id"]: len(r["devices"]) for r in rows if r["state"] == "held" and "." in r["id"]}

    def acts(self) -> int:
        return len(self.client.pages("/v1/audit", "records"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("batch")
    manager = Manager(folder / "m", EVERYBODY + '[users]\nada = "grace"\n')
    launcher, away, stuck = folder / "outboard", folder / "away", folder / "stuck"
    launcher.write_text(
        f'#!/bin/sh\n[ ! -e {away} ] || {{ echo "the manager is away" >&2; exit 1; }}\n'
        f"if [ -e {stuck} ]; then echo $$ >> {stuck}; exec sleep 600; fi\n"
        f'PYTHONPATH={ROOT}/python exec {sys.executable} -m outboard "$@"\n'
    )
    launcher.chmod(0o755)
    settings = f"OUTBOARD_POOL={manager.url}\nOUTBOARD={launcher}\nOUTBOARD_CLUSTER=main\n"
    settings += f"LSF_BINDIR={folder}/bin\n"
    (folder / "lib").mkdir()
    for name in ("batch", "pbs", "lsf"):
        shutil.copytree(DEPLOY / name, folder / "lib" / name)
        (folder / "lib" / name / f"{name}.env").write_text(settings)
        for file in (folder / "lib" / name).iterdir():
            text = file.read_text().replace("/usr/lib/outboard", f"{folder}/lib")
            file.write_text(text.replace("/run/outboard/lsf", f"{folder}/run"))
    with running(manager.local(), "n0", "n1", "n2"):
        yield Site(folder, manager.local(), manager.url, away, stuck)
    assert manager.stop() == 0


@pytest.mark.needs("shellcheck")
@pytest.mark.parametrize(
    "script", SCRIPTS + EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_shellcheck_finds_nothing(script: Path) -> None:
    words = ["shellcheck", "-x", "-P", "SCRIPTDIR", str(script)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.needs("shellcheck")
def test_shellcheck_would_find_something(tmp_path: Path) -> None:
    assert {script.parent.name for script in SCRIPTS} == {"slurm", "gridengine", "pbs", "lsf"}
    script = tmp_path / "script"
    script.write_text(SCRIPTS[0].read_text() + "\nrm $1\n")
    assert subprocess.run(["shellcheck", str(script)], capture_output=True).returncode != 0


@pytest.mark.parametrize("name", ["pbs", "lsf"])
def test_what_is_untested_says_so(name: str) -> None:
    for file in (DEPLOY / name).iterdir():
        if file.stat().st_mode & 0o100 or file.suffix == ".py":
            assert "UNTESTED" in file.read_text(), file


class Event:
    """What a hook asks of `pbs.event()`. Its two answers end the hook, as in PBS."""

    def __init__(self, kind: int, job_id: str, count: object, variables: dict[str, str]) -> None:
        self.type = kind
        self.job = types.SimpleNamespace(
            id=job_id, Job_Owner="ada@node1", Variable_List=dict(variables),
            Resource_List={"accelerator": count},
        )  # fmt: skip
        self.answer = ""

    def accept(self) -> None:
        self.answer = "accepted"
        raise SystemExit

    def reject(self, why: str) -> None:
        self.answer = why
        raise SystemExit


RUNJOB, ENDJOB = 1, 2


def run_hook(
    site: Site, kind: int, job_id: str, count: object, logged: list[str], **variables: str
) -> Event:
    event = Event(kind, job_id, count, variables)
    fake: Any = types.ModuleType("pbs")
    fake.RUNJOB, fake.ENDJOB, fake.LOG_ERROR = RUNJOB, ENDJOB, 0
    fake.event = lambda: event
    fake.logmsg = lambda level, text: logged.append(text)
    sys.modules["pbs"] = fake
    try:
        runpy.run_path(str(site.folder / "lib" / "pbs" / "outboard_hook.py"))
    finally:
        del sys.modules["pbs"]
    assert event.answer, "the hook has not answered"
    return event


def test_the_hook_is_python_of_pbs() -> None:
    """PBS brings an interpreter of its own, which may be older than ours."""
    ast.parse((DEPLOY / "pbs" / "outboard_hook.py").read_text(), feature_version=(3, 6))


def test_the_pbs_hook_takes_and_releases(site: Site) -> None:
    number, logged = 1 + fresh_seed() % 10**6, list[str]()
    job = f"{number}[4].server1"
    event = run_hook(site, RUNJOB, job, 2, logged)
    assert event.answer == "accepted"
    (lease,) = site.held()
    assert lease.startswith(f"pbs.server1.{number}-4-.")
    assert site.held() == {lease: 2}
    assert site.holders() == {"certificate grace"}
    assert event.job.Variable_List == {"OUTBOARD_LEASE": lease, "OUTBOARD_POOL": site.url}
    # Two of three devices are taken, so another job goes back to the queue.
    event = run_hook(site, RUNJOB, f"{number}.server1", 2, logged)
    assert "no devices are free" in event.answer
    assert event.job.Variable_List == {}
    assert run_hook(site, ENDJOB, f"{number}.server1", 2, logged).answer == "accepted"
    assert list(site.held()) == [lease]
    # If a start fails after its hook, endjob may not run. The next start has a lease of its own.
    assert run_hook(site, RUNJOB, job, 2, logged).answer == "accepted"
    (again,) = site.held()
    assert again.startswith(f"pbs.server1.{number}-4-.") and again != lease
    assert run_hook(site, ENDJOB, job, 2, logged).answer == "accepted"
    assert site.held() == {}
    assert logged == []


def test_a_pbs_job_without_accelerators_does_not_ask(site: Site) -> None:
    before, logged = site.acts(), list[str]()
    site.away.touch()  # whoever asks fails
    for kind in (RUNJOB, ENDJOB):
        for count in (None, 0):
            event = run_hook(site, kind, "1.server1", count, logged)
            assert (event.answer, event.job.Variable_List) == ("accepted", {})
    site.away.unlink()
    assert (site.acts(), logged) == (before, [])


def test_a_pbs_job_has_no_lease_of_the_job_that_submitted_it(site: Site) -> None:
    old = {"OUTBOARD_LEASE": "pbs.server1.1.1", "HOME": "/home/ada"}
    event = run_hook(site, RUNJOB, "3.server1", 0, [], **old)
    assert event.answer == "accepted"
    assert event.job.Variable_List == {"OUTBOARD_LEASE": "", "HOME": "/home/ada"}
    event = run_hook(site, ENDJOB, "3.server1", 0, [], **old)  # then PBS takes no changes
    assert event.job.Variable_List == old


def test_a_pbs_hook_ends_commands_that_hang(site: Site) -> None:
    hook = site.folder / "lib" / "pbs" / "outboard_hook.py"
    text = hook.read_text()
    assert "PATIENCE_S = 25 " in text
    hook.write_text(text.replace("PATIENCE_S = 25 ", "PATIENCE_S = 2 "))
    site.stuck.touch()
    try:
        event = run_hook(site, RUNJOB, "4.server1", 1, [])
        pids = [int(pid) for pid in site.stuck.read_text().split()]
    finally:
        site.stuck.unlink()
        hook.write_text(text)
    assert "timed out after 2 seconds" in event.answer
    assert event.job.Variable_List == {}
    assert pids
    for pid in pids:
        until(lambda pid=pid: is_gone(pid), f"{pid} has ended")
    assert site.held() == {}


def is_gone(pid: int) -> bool:
    """Returns whether a process has ended. Whoever adopts it may let it be a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_pbs_hook_without_a_manager_keeps_the_queue_going(site: Site) -> None:
    logged = list[str]()
    site.away.touch()
    assert "the manager is away" in run_hook(site, RUNJOB, "2.server1", 1, logged).answer
    assert run_hook(site, ENDJOB, "2.server1", 1, logged).answer == "accepted"
    site.away.unlink()
    assert logged == ["outboard: 2.server1: the manager is away"]
    assert site.held() == {}


def lsf(site: Site, script: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """With a bjobs that knows who a job's user is."""
    binaries = site.folder / "bin"
    binaries.mkdir(exist_ok=True)
    (binaries / "bjobs").write_text(
        '#!/bin/sh\ncase $4 in "4711[5]" | 4712) echo ada ;; *) exit 1 ;; esac\n'
    )
    (binaries / "bjobs").chmod(0o755)
    job = {"LSB_JOBID": "4711", "LSB_JOBINDEX": "5"}
    return subprocess.run(
        ["sh", "-c", 'umask 000; exec "$@"', "sh", site.folder / "lib" / "lsf" / script, *words],
        env={"PATH": "/usr/bin:/bin"} | job | variables, capture_output=True, text=True,
    )  # fmt: skip


@ROOT_OWNS
def test_lsf_scripts_take_and_release(site: Site) -> None:
    traps = site.folder / "traps"
    traps.mkdir()
    for name in ("bjobs", "date", "mkdir", "rm", "setsid"):
        (traps / name).write_text(f"#!/bin/sh\ntouch {site.folder}/caught\n")
        (traps / name).chmod(0o755)
    hostile = {"OUTBOARD": "/bin/false", "OUTBOARD_POOL": "http://127.0.0.1:1"}
    hostile |= {
        "LSF_BINDIR": str(traps),
        "LSF_ENVDIR": str(traps),
        "PATH": f"{traps}:/usr/bin:/bin",
    }
    done = lsf(site, "pre_exec", LSB_EXEC_RUSAGE="mem 100.00 accelerator 2.00", **hostile)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (lease,) = site.held()
    assert lease.startswith("lsf.main.4711.5.")
    assert site.held() == {lease: 2}
    assert site.holders() == {"certificate grace"}
    assert not (site.folder / "caught").exists()
    (variables,) = (site.folder / "run").iterdir()
    modes = [path.stat().st_mode & 0o777 for path in (variables, variables.parent)]
    assert modes == [0o644, 0o755]
    shown = lsf(site, "starter", "sh", "-c", 'echo "$OUTBOARD_POOL $OUTBOARD_LEASE $1"', "x", "a b")
    assert shown.stdout == f"{site.url} {lease} a b\n"
    # Others find the rest too little.
    other = {"LSB_JOBID": "4712", "LSB_JOBINDEX": "0"}
    done = lsf(site, "pre_exec", LSB_EXEC_RUSAGE="accelerator 2.00", **other)
    assert done.returncode != 0 and "no devices are free" in done.stderr
    assert lsf(site, "post_exec", **other).returncode == 0
    assert list(site.held()) == [lease]
    assert lsf(site, "post_exec").returncode == 0
    assert site.held() == {}
    assert list((site.folder / "run").iterdir()) == []


@ROOT_OWNS
def test_an_lsf_job_without_accelerators_does_not_ask(site: Site) -> None:
    site.away.touch()  # whoever asks fails
    for rusage in ("", "mem 100.00", "accelerator 0.00"):
        assert lsf(site, "pre_exec", LSB_EXEC_RUSAGE=rusage).returncode == 0
    shown = lsf(site, "starter", "sh", "-c", "echo lease $OUTBOARD_LEASE", OUTBOARD_LEASE="old")
    assert shown.stdout == "lease\n"
    assert lsf(site, "post_exec").returncode == 0
    site.away.unlink()
    assert site.held() == {}


@ROOT_OWNS
def test_an_lsf_job_waits_while_the_manager_is_away(site: Site) -> None:
    site.away.touch()
    done = lsf(site, "pre_exec", LSB_EXEC_RUSAGE="accelerator 1.00")
    site.away.unlink()
    assert done.returncode != 0
    assert "the manager is away" in done.stderr
    assert lsf(site, "post_exec").returncode == 0
    assert site.held() == {}
