"""A Grid Engine of this machine: a real qmaster and execd, with a cell and a spool of their own."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from free_ports import free_ports
from pool_daemon import PATIENCE_S, until

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
_LIBRARIES = Path("/usr/lib/gridengine")  # of Debian's packages, programs are there, too
_SHARE = Path("/usr/share/gridengine")
NEEDS = [
    pytest.mark.needs(*(f"{_LIBRARIES}/{name}" for name in programs), package=f"gridengine-{part}")
    for part, programs in (
        ("master", ("sge_qmaster", "spoolinit")),
        ("exec", ("sge_execd", "sge_shepherd")),
        ("client", ("qsub", "qstat", "qconf")),
    )
]

_BOOTSTRAP = """
admin_user none
default_domain none
ignore_fqdn true
spooling_method classic
spooling_lib libspoolc
spooling_params {spool}
binary_path {libraries}
qmaster_spool_dir {folder}/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""
# A queue needs these lines beside those that are the same for all limits.
_QUEUE = """
qname all.q
hostlist {host}
seq_no 0
load_thresholds NONE
suspend_thresholds NONE
nsuspend 1
suspend_interval 00:05:00
priority 0
min_cpu_interval 00:05:00
processors UNDEFINED
qtype BATCH
ckpt_list NONE
pe_list smp
rerun FALSE
slots 8
tmpdir /tmp
shell /bin/sh
prolog root@{scripts}/prolog $job_id $ja_task_id $job_owner
epilog root@{scripts}/epilog $job_id $ja_task_id $job_owner
shell_start_mode unix_behavior
starter_method NONE
suspend_method NONE
resume_method NONE
terminate_method NONE
notify 00:00:60
owner_list NONE
user_lists NONE
xuser_lists NONE
subordinate_list NONE
complex_values NONE
projects NONE
xprojects NONE
calendar NONE
initial_state default
"""
_PARALLEL = """
pe_name smp
slots 8
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $pe_slots
control_slaves FALSE
job_is_first_task TRUE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""
_LIMITS = "rt cpu fsize data stack core rss vmem".split()


class Cluster:
    """One host, this one."""

    def __init__(self, folder: Path, settings: str, accelerators: int) -> None:
        """`settings`: the text of gridengine.env."""
        self.folder = folder
        self.host = socket.gethostname().split(".")[0]
        for name in ("root/test/common", "qmaster/job_scripts", "execd", "out"):
            (folder / name).mkdir(parents=True)
        for name in ("batch", "gridengine"):
            shutil.copytree(DEPLOY / name, folder / "scripts" / name)
        (folder / "out").chmod(0o777)  # jobs of users write there
        ports = free_ports(2)
        settings += f"SGE_QMASTER_PORT={ports[0]}\n"
        (folder / "scripts" / "gridengine" / "gridengine.env").write_text(settings)
        self.environment = {
            **os.environ,
            "SGE_ROOT": str(folder / "root"), "SGE_CELL": "test", "SGE_ND": "1",
            "SGE_QMASTER_PORT": str(ports[0]), "SGE_EXECD_PORT": str(ports[1]),
            "LD_LIBRARY_PATH": str(_LIBRARIES), "PATH": f"{_LIBRARIES}:{os.environ['PATH']}",
        }  # fmt: skip
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._lay_out()
        self.start("sge_qmaster")
        until(lambda: self._answers("qconf", "-sh"), f"the master answers; {self.logs()}")
        self._configure(accelerators)
        self.start("sge_execd")
        until(lambda: "lx-" in self.said("qstat", "-f"), f"the host is there; {self.logs()}")

    def _lay_out(self) -> None:
        """Makes the cell, as Debian's scripts do."""
        root, common = self.folder / "root", self.folder / "root" / "test" / "common"
        for name in ("util", "bin", "lib", "utilbin"):
            (root / name).symlink_to(Path("/var/lib/gridengine") / name)
        spool = f"{common};{self.folder}/qmaster"
        (common / "bootstrap").write_text(
            _BOOTSTRAP.format(spool=spool, libraries=_LIBRARIES, folder=self.folder).lstrip()
        )
        (common / "act_qmaster").write_text(f"{self.host}\n")
        # The address of a machine's name may be that of the loopback device.
        (common / "host_aliases").write_text(f"{self.host} localhost\n")
        text = (_SHARE / "default-configuration").read_text()
        for key, value in (
            ("execd_spool_dir", f"{self.folder}/execd"), ("min_uid", "0"), ("min_gid", "0"),
            ("load_report_time", "00:00:01"),
        ):  # fmt: skip
            text = re.sub(rf"(?m)^{key} .*$", f"{key} {value}", text)
        configuration = self.folder / "configuration"
        configuration.write_text(text)
        self.said("spoolinit", "classic", "libspoolc", spool, "init")
        for words in (
            ("configuration", str(configuration)),
            ("complexes", f"{_SHARE}/util/resources/centry"),
            ("usersets", f"{_SHARE}/util/resources/usersets"),
            ("managers", "root"),
        ):
            self.said("spooldefaults", *words)

    def _configure(self, accelerators: int) -> None:
        self.said("qconf", "-as", self.host)
        complexes = self.folder / "complexes"
        line = (DEPLOY / "gridengine" / "complex.example").read_text().splitlines()[-1]
        complexes.write_text(f"{self.said('qconf', '-sc')}{line}\n")
        self.said("qconf", "-Mc", str(complexes))
        count = f"accelerator={accelerators}"
        self.said("qconf", "-rattr", "exechost", "complex_values", count, "global")
        scripts = self.folder / "scripts" / "gridengine"
        text = _QUEUE.format(host=self.host, scripts=scripts).lstrip()
        text += "".join(f"s_{name} INFINITY\nh_{name} INFINITY\n" for name in _LIMITS)
        for option, name, lines in (
            ("-Ap", "parallel", _PARALLEL.lstrip()),
            ("-Aq", "queue", text),
        ):
            file = self.folder / name
            file.write_text(lines)
            self.said("qconf", option, str(file))
        scheduler = self.folder / "scheduler"
        text = self.said("qconf", "-ssconf")
        for key in ("schedule_interval", "flush_submit_sec", "flush_finish_sec"):
            value = "0:0:1" if key == "schedule_interval" else "1"
            text = re.sub(rf"(?m)^{key} .*$", f"{key} {value}", text)
        scheduler.write_text(text)
        self.said("qconf", "-Msconf", str(scheduler))

    def start(self, name: str) -> None:
        log = open(self.folder / f"{name}.out", "ab")  # noqa: SIM115
        self.processes[name] = subprocess.Popen(
            [str(_LIBRARIES / name)], env=self.environment, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        log.close()
        atexit.register(self.processes[name].kill)  # also after a test that fails

    def _answers(self, *words: str) -> bool:
        """Returns whether the command succeeds within some seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run(words, env=self.environment, capture_output=True, timeout=10)
            return done.returncode == 0
        return False

    def start_master(self) -> None:
        self.start("sge_qmaster")
        until(lambda: self._answers("qstat"), f"the master answers; {self.logs()}")

    def kill_master(self) -> None:
        self.processes["sge_qmaster"].kill()
        self.processes["sge_qmaster"].wait(PATIENCE_S)

    def said(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=30
        )
        assert not check or done.returncode == 0, (
            f"{words}: {done.stdout}{done.stderr}\n{self.logs()}"
        )
        return done.stdout

    def submit(self, script: str, *options: str, uid: int = 0) -> int:
        """Returns the job's number."""
        file = self.folder / f"job{time.monotonic_ns()}.sh"
        file.write_text(f"#!/bin/sh\n{script}\n")
        user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []
        words = [*user, "qsub", "-terse", "-j", "y", "-wd", "/tmp"]
        words += ["-o", f"{self.folder}/out/$JOB_ID.$TASK_ID"]
        return int(self.said(*words, *options, str(file)).split(".")[0])

    def state(self, job: int) -> str:
        """Returns "r", "qw", ...; "" once Grid Engine has forgotten the job."""
        time.sleep(0.25)  # each question is a process, and Grid Engine acts once a second
        for line in self.said("qstat", "-u", "*").splitlines():
            words = line.split()
            if words[:1] == [str(job)]:
                return words[4]
        return ""

    def wait_until_over(self, job: int) -> None:
        until(lambda: not self.state(job), f"job {job} is over\n{self.output(job)}\n{self.logs()}")

    def output(self, job: int, task: int = 0) -> str:
        file = self.folder / "out" / f"{job}.{task}"
        return file.read_text() if file.exists() else ""

    def kill_host(self) -> None:
        """What a power cut does to the execution host: nothing of it runs any more."""
        self.processes["sge_execd"].kill()
        self.processes["sge_execd"].wait(PATIENCE_S)
        self._kill_jobs()

    def give_up(self, job: int) -> None:
        """What an administrator does about a job whose host has failed. The master of 8.1.9 may
        abort when it finds only then that it cannot reach the host; then it is started again."""

        def is_gone() -> bool:
            if self.processes["sge_qmaster"].poll() is not None:
                self.start("sge_qmaster")
            self._answers("qdel", "-f", str(job))
            time.sleep(0.5)
            return self._answers("qstat") and not self._answers("qstat", "-j", str(job))

        until(is_gone, f"the job is given up; {self.logs()}", 120)

    def _kill_jobs(self) -> None:
        """Shepherds are no children of the execd, and live longer. All processes of this cell are
        told by its root."""
        mine = f"SGE_ROOT={self.folder}/root".encode()
        daemons = {process.pid for process in self.processes.values()}
        for file in Path("/proc").glob("[0-9]*/environ"):
            pid = int(file.parent.name)
            with contextlib.suppress(OSError):  # it has just ended
                if pid not in daemons and mine in file.read_bytes().split(b"\0"):
                    os.kill(pid, signal.SIGKILL)

    def logs(self) -> str:
        files = [*self.folder.glob("*/messages"), *self.folder.glob("execd/*/messages")]
        return "\n".join(file.read_text(errors="replace")[-1500:] for file in files)

    def stop(self) -> None:
        for name in reversed(self.processes):
            process = self.processes[name]
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._kill_jobs()
