"""Gives back leases of batch jobs that have ended without their epilog: the controller was down, or
the epilog could not reach the manager."""

from __future__ import annotations

import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from outboard.errors import OutboardError

if TYPE_CHECKING:
    from outboard.pool.client import PoolClient

_PATIENCE_S = 60
# A job in one of these states has, or is about to get, its nodes. Others have no accelerators, also
# those that wait for another start.
_ALIVE = "CONFIGURING,RUNNING,COMPLETING,SUSPENDED,STOPPED,SIGNALING,STAGE_OUT,RESIZING"
# The ids of leases. A start: the number of restarts, or the time in seconds since 1970.
_SLURM = re.compile(r"slurm\.(?P<cluster>[\w-]+)\.(?P<job>\d+)\.(?P<start>\d+)", re.ASCII)
_GRIDENGINE = re.compile(r"ge\.(?P<cluster>[\w-]+)\.(?P<job>\d+\.\d+)\.(?P<start>\d+)", re.ASCII)
# Characters that XML 1.0 does not have, and that qstat writes if a user's name of a job has them.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def dead_slurm_leases(client: PoolClient) -> list[str]:
    """Returns the leases of the cluster's jobs that have ended. Raises OutboardError if Slurm does
    not tell; then nobody knows."""
    return _ended(client, _SLURM, _cluster_name(), _slurm_starts)


def dead_gridengine_leases(client: PoolClient, cluster: str) -> list[str]:
    """Returns the leases of the jobs of `cluster`, whose Grid Engine this is, that have ended.
    Raises OutboardError if Grid Engine does not tell; then nobody knows."""
    return _ended(client, _GRIDENGINE, cluster, _gridengine_starts)


def _ended(
    client: PoolClient, form: re.Pattern[str], cluster: str, ask: Callable[[], Mapping[str, str]]
) -> list[str]:
    """Returns the leases whose ids have the `form`, and whose job `ask` does not know, or only with
    another start."""
    # Leases first: the job of one that begins meanwhile is then among those that live.
    leases = client.living_leases()
    starts = ask()
    names = filter(None, (form.fullmatch(row["id"]) for row in leases))
    return [
        name[0]
        for name in names
        if name["cluster"] == cluster and starts.get(name["job"]) != name["start"]
    ]


def _gridengine_starts() -> dict[str, str]:
    """Returns when each task has started, by "JOB.TASK", of all jobs that have a host. The task is
    0 if the job is no job array."""
    # Grid Engine knows jobs that run, and by another name suspended ones. Times are of this zone.
    words = ["qstat", "-xml", "-s", "rs", "-u", "*"]
    said = _NO_XML.sub("?", _said(words, TZ="UTC"))
    starts = {}
    try:
        for job in ElementTree.fromstring(said).iter("job_list"):
            number, start = int(_text(job, "JB_job_number")), _text(job, "JAT_start_time")
            task = job.findtext("tasks") or "0"
            seconds = datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp()
            starts[f"{number}.{int(task)}"] = str(int(seconds))
    except (ElementTree.ParseError, ValueError) as error:
        raise _not_understood(words, error) from error
    return starts


def _text(job: ElementTree.Element, name: str) -> str:
    found = job.findtext(name)
    if found is None:
        raise ValueError(f"a job has no {name}")
    return found


def _slurm_starts() -> dict[str, str]:
    """Returns the restarts of each job that has nodes."""
    words = ["squeue", "--noheader", "--all", f"--states={_ALIVE}"]
    words.append("--Format=JobID:.24,RestartCnt:.24")
    starts = {}
    for line in _said(words).splitlines():
        try:
            job, restarts = map(int, line.split())
        except ValueError as error:
            raise _not_understood(words, error) from error
        starts[str(job)] = str(restarts)
    return starts


def _cluster_name() -> str:
    for line in _said(["scontrol", "show", "config"]).splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "ClusterName":
            return value.strip()
    raise OutboardError(
        "`scontrol show config` names no ClusterName (leases have it in their ids) set it in "
        "slurm.conf"
    )


def _not_understood(words: list[str], error: Exception) -> OutboardError:
    return OutboardError(
        f"the answer of {words[0]} is not understood ({error}) nothing was released; look at what "
        f"`{' '.join(words)}` prints"
    )


def _said(words: list[str], **variables: str) -> str:
    """Returns what a command of the batch system prints."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S,
            env=os.environ | variables,
        )  # fmt: skip
    except OSError as error:
        raise OutboardError(
            f"cannot start {words[0]} ({error.strerror}) run this on a host with the commands of "
            "the batch system on its PATH"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise OutboardError(
            f"{words[0]} gives no answer ({_PATIENCE_S} s have passed) nothing was released; look "
            "whether the master of the batch system is up"
        ) from error
    if done.returncode != 0:
        why = " ".join(done.stderr.split()) or f"its status is {done.returncode}"
        raise OutboardError(
            f"{words[0]} fails ({why}) nothing was released; try again when it works"
        )
    return done.stdout
