"""A Slurm cluster of this machine: a real slurmctld, slurmds and munged, on free ports."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from free_ports import free_ports
from pool_daemon import PATIENCE_S, until

from needs import PATH

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"

_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
TmpFS={folder}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
PrologFlags=Alloc
PrologSlurmctld={scripts}/prolog_slurmctld
EpilogSlurmctld={scripts}/epilog_slurmctld
TaskProlog={scripts}/task_prolog
Licenses=accelerator:{licenses}
KillWait=1
SlurmdTimeout=5
ReturnToService=2
RequeueExit=99
{lines}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=compute Nodes=n[1-{compute}] MaxTime=INFINITE State=UP
PartitionName=accel Nodes=n{nodes} MaxTime=INFINITE State=UP
"""


class Cluster:
    """Nodes n1, n2, ... of this machine."""

    def __init__(self, folder: Path, settings: str, licenses: int, nodes: int = 9) -> None:
        """`settings`: the text of slurm.env. The last node is the partition "accel", the others
        are "compute"."""
        self.folder = folder
        folder.mkdir()
        (folder / "state").mkdir()
        for name in ("batch", "slurm"):
            shutil.copytree(DEPLOY / name, folder / name)
        scripts = folder / "slurm"
        (scripts / "slurm.env").write_text(settings)
        ports = free_ports(nodes + 1)
        host = socket.gethostname()
        lines = [
            f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 State=UNKNOWN"
            for i, port in enumerate(ports[1:], 1)
        ]
        conf = folder / "slurm.conf"
        conf.write_text(
            _CONF.format(
                folder=folder, host=host, port=ports[0], licenses=licenses,
                scripts=scripts, lines="\n".join(lines), nodes=nodes, compute=nodes - 1,
            )
        )  # fmt: skip
        self.environment = {**os.environ, "SLURM_CONF": str(conf), "PATH": PATH}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._start_munge()
        self.start("slurmctld", "slurmctld", "-D")
        for i in range(1, nodes + 1):
            self.start_node(f"n{i}")
        until(lambda: self.said("sinfo", "-h", "-o", "%t").split() == ["idle"], "nodes are idle")

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.start(
            "munged", "munged", "--foreground", "--force", f"--key-file={key}",
            f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munge.pid",
            f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed",
        )  # fmt: skip
        until((self.folder / "munge.socket").exists, "munged listens")

    def start(self, name: str, *words: str) -> None:
        log = open(self.folder / f"{name}.out", "ab")  # noqa: SIM115
        self.processes[name] = subprocess.Popen(
            words, env=self.environment, stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        atexit.register(self.processes[name].kill)  # also after a test that fails

    def start_node(self, name: str) -> None:
        self.start(name, "slurmd", "-D", "-N", name)

    def kill(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait(PATIENCE_S)

    def said(self, *words: str, **variables: str) -> str:
        done = subprocess.run(
            words, env=self.environment | variables, capture_output=True, text=True, timeout=30
        )
        assert done.returncode == 0, f"{words}: {done.stderr}\n{self.logs()}"
        return done.stdout

    def resumed(self, node: str) -> bool:
        """Puts a node into service. Returns true if it is; it may be by itself, as soon as its
        slurmd registers, and then Slurm refuses the command."""
        words = ("scontrol", "update", f"NodeName={node}", "State=RESUME")
        subprocess.run(words, env=self.environment, capture_output=True, timeout=30, check=False)
        return set(self.said("sinfo", "-h", "-n", node, "-o", "%T").split()) == {"idle"}

    def submit(self, script: str, *options: str, **variables: str) -> int:
        """Returns the job's number."""
        file = self.folder / f"job{time.monotonic_ns()}.sh"
        file.write_text(f"#!/bin/sh\n{script}\n")
        words = ("sbatch", "--parsable", f"--output={self.folder}/%j.out", "--open-mode=append")
        return int(self.said(*words, *options, str(file), **variables))

    def state(self, job: int) -> str:
        """Returns "RUNNING", "PENDING", ...; "" once Slurm has forgotten the job."""
        done = subprocess.run(
            ["scontrol", "--oneliner", "show", "job", str(job)],
            env=self.environment, capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        words = dict(word.partition("=")[::2] for word in done.stdout.split())
        return words.get("JobState", "")

    def facts(self, job: int) -> str:
        """Returns what is known of the job now, for a failure."""
        shown = self.said("scontrol", "show", "job", str(job))
        return f"{shown}\n{self.output(job)}\n{self.logs()}"

    def wait_for(self, job: int, *states: str) -> None:
        until(
            lambda: self.state(job) in states,
            lambda: f"job {job} is {states}; {self.facts(job)}",
        )

    def start_requeued(self, job: int) -> None:
        """Lets a job start that went back to the queue: Slurm would wait for two minutes, which
        begin once it is there. It may do so where it has missed the command."""
        words = ["scontrol", "update", f"JobId={job}", "StartTime=now"]

        def is_started() -> bool:
            if self.state(job) in ("CONFIGURING", "RUNNING", "COMPLETED"):
                return True
            subprocess.run(words, env=self.environment, capture_output=True, timeout=30)
            time.sleep(1)
            return False

        until(is_started, lambda: f"job {job} starts again; {self.facts(job)}", 180)

    def output(self, job: int) -> str:
        file = self.folder / f"{job}.out"
        return file.read_text() if file.exists() else ""

    def logs(self) -> str:
        """Returns the ends of all logs, that of the controller last."""
        files = [*self.folder.glob("slurmd.*.log"), self.folder / "slurmctld.log"]
        return "\n".join(file.read_text(errors="replace")[-1500:] for file in files)

    def stop(self) -> None:
        for name in reversed(self.processes):
            process = self.processes[name]
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                print(f"{name} had to be killed", file=sys.stderr)
                process.kill()
                process.wait()
        self._end_jobs()

    def _end_jobs(self) -> None:
        """Ends what outlives its slurmd: without a step daemon above it, Slurm finds no process."""
        mine = f"SLURM_CONF={self.environment['SLURM_CONF']}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it may end by itself
                variables = (folder / "environ").read_bytes().split(b"\0")
                if mine in variables:
                    os.kill(int(folder.name), signal.SIGKILL)
