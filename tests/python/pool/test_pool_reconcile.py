"""Tests `outboard pool reconcile` with odd answers: commands of these tests stand for those of
Slurm and Grid Engine. The tests of these systems run the real ones."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pool_server import EVERYBODY, Manager, running

from conftest import Outboard, clean_environment

JOB = """<job_list state="running"><JB_job_number>7</JB_job_number><JB_name>%s</JB_name>
<JAT_start_time>2001-09-09T01:46:40</JAT_start_time>%s</job_list>"""


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    made = Manager(tmp_path_factory.mktemp("m"), EVERYBODY)
    with running(made.local(), "n1", devices=2):
        for name, state, count in (
            ("slurm.main.7.1", "held", 1),
            ("ge.main.7.0.1000000000", "held", 1),
            ("ge.main.7.5.1000000000", "queued", 2),
        ):
            body = {"ttl_s": 300, "for_user": "ada", "count": count}
            assert made.local().ask("PUT", f"/v1/leases/{name}", body)["state"] == state
        yield made
    assert made.stop() == 0


def reconciled(
    outboard: Outboard, manager: Manager, folder: Path, system: str, answers: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    folder.joinpath("bin").mkdir()
    for name, answer in answers.items():
        (folder / name).write_bytes(answer.encode("latin-1"))
        command = folder / "bin" / name
        command.write_text(f"#!/bin/sh\ncat {folder}/{name}\n")
        command.chmod(0o755)
    environment = clean_environment(PATH=f"{folder}/bin:/usr/bin:/bin", OUTBOARD_CLUSTER="main")
    words = ("pool", "reconcile", system, "--dry-run", "--pool", manager.url)
    return outboard(*words, environment=environment)


def job_info(*jobs: str) -> str:
    return f"<?xml version='1.0'?>\n<job_info><queue_info>{''.join(jobs)}</queue_info></job_info>"


@pytest.mark.parametrize(
    ("answer", "released"),
    [
        (job_info(JOB % ("x", "")), ["ge.main.7.5.1000000000"]),
        (job_info(JOB % ("x", "<tasks>5</tasks>")), ["ge.main.7.0.1000000000"]),
        # Names of jobs are those of users: what XML does not have, and other encodings.
        (job_info(JOB % ("a\x01\x1bb\xe9", ""), JOB % ("x", "<tasks>5</tasks>")), []),
        (job_info(), ["ge.main.7.0.1000000000", "ge.main.7.5.1000000000"]),
    ],
    ids=["job", "task", "odd name", "none"],
)
def test_jobs_of_grid_engine(
    answer: str, released: list[str], manager: Manager, outboard: Outboard, tmp_path: Path
) -> None:
    done = reconciled(outboard, manager, tmp_path, "gridengine", {"qstat": answer})
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"would release {name}" for name in released]


@pytest.mark.parametrize(
    ("system", "answers", "said"),
    [
        ("gridengine", {"qstat": "job-ID prior name"}, "the answer of qstat is not understood"),
        ("gridengine", {"qstat": job_info("<job_list/>")}, "a job has no JB_job_number"),
        ("gridengine", {"qstat": job_info(JOB % ("x", "<tasks>1-5</tasks>"))}, "'1-5'"),
        ("slurm", {"scontrol": "ClusterName = main", "squeue": "7"}, "the answer of squeue is not"),
        ("slurm", {"scontrol": "NoName = main"}, "set it in slurm.conf"),
    ],
)
def test_nothing_is_released_by_an_answer_that_is_not_understood(
    system: str,
    answers: dict[str, str],
    said: str,
    manager: Manager,
    outboard: Outboard,
    tmp_path: Path,
) -> None:
    done = reconciled(outboard, manager, tmp_path, system, answers)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


def test_a_command_that_is_missing_or_fails(
    manager: Manager, outboard: Outboard, tmp_path: Path
) -> None:
    environment = clean_environment(PATH=str(tmp_path), OUTBOARD_CLUSTER="main")
    words = ("pool", "reconcile", "gridengine", "--pool", manager.url)
    done = outboard(*words, environment=environment)
    assert done.returncode == 1
    assert "cannot start qstat (No such file or directory)" in done.stderr
    (tmp_path / "qstat").write_text("#!/bin/sh\nexit 3\n")
    os.chmod(tmp_path / "qstat", 0o755)
    done = outboard(*words, environment=environment)
    assert done.returncode == 1
    assert "qstat fails (its status is 3) nothing was released" in done.stderr
