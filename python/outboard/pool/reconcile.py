"""Gives back leases of batch jobs that have ended without their epilog: the controller was down, or
the epilog could not reach the manager."""

from __future__ import annotations

import os
import re
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from outboard.errors import OutboardError

if TYPE_CHECKING:
    from outboard.pool.client import PoolClient

_PATIENCE_S = 60
# A job in one of these states has, or is about to get, its nodes. Others have no accelerators, also
# those that wait for another start.
_ALIVE = "CONFIGURING,RUNNING,COMPLETING,SUSPENDED,STOPPED,SIGNALING,STAGE_OUT,RESIZING"
_ID = re.compile(r"slurm\.(?P<cluster>[A-Za-z0-9_-]+)\.(?P<job>\d+)\.(?P<restarts>\d+)")
_GRIDENGINE_ID = re.compile(r"ge\.(?P<cluster>[\w-]+)\.(?P<job>\d+)\.(?P<task>\d+)\.(?P<start>\d+)")
# Job, priority, name, user, state, start, queue, slots, and the task of a job array. Names may have
# spaces, but they are too short here for a date and a time.
_GRIDENGINE_ROW = re.compile(
    r"\s*(?P<job>\d+) .* (?P<start>\d\d/\d\d/\d{4} \d\d:\d\d:\d\d) +\S+ +\d+(?: +(?P<task>\d+))? *"
)


def dead_slurm_leases(client: PoolClient) -> list[str]:
    """Returns the leases of the cluster's jobs that have ended. Raises OutboardError if Slurm does
    not tell; then nobody knows."""
    cluster = _cluster_name()
    # Leases first: the job of one that begins meanwhile is then among those that live.
    rows = client.pages("/v1/leases", "leases")
    jobs = _living_jobs()
    found = []
    for row in rows:
        name = _ID.fullmatch(row["id"])
        if name is None or name["cluster"] != cluster or row["state"] not in ("queued", "held"):
            continue
        if jobs.get(int(name["job"])) != int(name["restarts"]):
            found.append(row["id"])
    return found


def dead_gridengine_leases(client: PoolClient, cluster: str) -> list[str]:
    """Returns the leases of the jobs of `cluster`, whose Grid Engine this is, that have ended.
    Raises OutboardError if Grid Engine does not tell; then nobody knows."""
    rows = client.pages("/v1/leases", "leases")  # first, as above
    starts = _gridengine_starts()
    found = []
    for row in rows:
        name = _GRIDENGINE_ID.fullmatch(row["id"])
        if name is None or name["cluster"] != cluster or row["state"] not in ("queued", "held"):
            continue
        if starts.get((int(name["job"]), int(name["task"]))) != int(name["start"]):
            found.append(row["id"])
    return found


def _gridengine_starts() -> dict[tuple[int, int], int]:
    """Returns when each task has started, of all jobs that have a host, in seconds since 1970. The
    task is 0 if the job is no job array."""
    starts = {}
    # Grid Engine knows jobs that run, and by another name suspended ones. Dates are of this zone.
    said = _said(["qstat", "-s", "rs", "-u", "*"], TZ="UTC")
    for line in said.splitlines()[2:]:  # below the head of the table, which is there if a job is
        row = _GRIDENGINE_ROW.fullmatch(line)
        if row is None:
            raise OutboardError(f"qstat says '{line}', which is no job that runs")
        start = datetime.strptime(row["start"], "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC)
        starts[int(row["job"]), int(row["task"] or 0)] = int(start.timestamp())
    return starts


def _living_jobs() -> dict[int, int]:
    """Returns the restarts of each job that has nodes."""
    words = ["squeue", "--noheader", "--all", f"--states={_ALIVE}"]
    jobs = {}
    for line in _said([*words, "--Format=JobID:.24,RestartCnt:.24"]).splitlines():
        try:
            job, restarts = map(int, line.split())
        except ValueError as error:
            raise OutboardError(
                f"squeue says '{line}', which is no job and its restarts"
            ) from error
        jobs[job] = restarts
    return jobs


def _cluster_name() -> str:
    for line in _said(["scontrol", "show", "config"]).splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "ClusterName":
            return value.strip()
    raise OutboardError("Slurm has no ClusterName (scontrol show config); set it in slurm.conf")


def _said(words: list[str], **variables: str) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S,
            env=os.environ | variables,
        )  # fmt: skip
    except OSError as error:
        raise OutboardError(
            f"cannot start {words[0]} ({error.strerror}) is the batch system here?"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise OutboardError(f"{words[0]} does not answer; nothing was released") from error
    if done.returncode != 0:
        why = " ".join(done.stderr.split())
        raise OutboardError(f"{' '.join(words[:3])} fails ({why}) nothing was released")
    return done.stdout
