"""Gives back leases of batch jobs that have ended without their epilog: the controller was down, or
the epilog could not reach the manager."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from outboard.errors import OutboardError

if TYPE_CHECKING:
    from outboard.pool.client import PoolClient

_PATIENCE_S = 60
# A job in one of these states has, or is about to get, its nodes. Others have no accelerators, also
# those that wait for another start.
_ALIVE = "CONFIGURING,RUNNING,COMPLETING,SUSPENDED,STOPPED,SIGNALING,STAGE_OUT,RESIZING"
_ID = re.compile(r"slurm\.(?P<cluster>[A-Za-z0-9_-]+)\.(?P<job>\d+)\.(?P<restarts>\d+)")


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


def _said(words: list[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE_S)
    except OSError as error:
        raise OutboardError(f"cannot start {words[0]} ({error.strerror}) is Slurm here?") from error
    except subprocess.TimeoutExpired as error:
        raise OutboardError(f"{words[0]} does not answer; nothing was released") from error
    if done.returncode != 0:
        why = " ".join(done.stderr.split())
        raise OutboardError(f"{' '.join(words[:3])} fails ({why}) nothing was released")
    return done.stdout
