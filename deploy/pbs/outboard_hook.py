"""A hook of the PBS server: a lease for each job that asks for accelerators. Events runjob, endjob.

UNTESTED with a real PBS. It was run with a module `pbs` of the tests only. docs/batch-examples.md
tells how to import it.
"""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time

import pbs

FOLDER = "/usr/lib/outboard/pbs"
RESOURCE = "accelerator"
PATIENCE_S = 25  # less than the hook's alarm, which is 30 s


def lease_prefix(job_id):
    """Returns "pbs.SERVER.123-4-." for "123[4].SERVER". Names with a dot are those of `batch`."""
    number, _, server = job_id.partition(".")
    words = [re.sub("[^A-Za-z0-9_-]", "-", word) for word in (server or "pbs", number)]
    return f"pbs.{words[0]}.{words[1]}."


def run(script, *words):
    """Returns the status and the last line of what the script said. One that takes too long ends
    with all that it has started."""
    # Into a file: children of the script could keep a pipe open after its end.
    try:
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                [FOLDER + "/" + script, *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
                start_new_session=True,
            )
            try:
                status = process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return 1, str(error)
            output.seek(0)
            said = output.read().decode("utf-8", "replace").strip()
    except OSError as error:
        return 1, str(error)
    return status, (said.splitlines() or [""])[-1]


def start(event, job, count):
    prefix = lease_prefix(job.id)
    # The number of starts is not known here. Each start has a time of its own.
    lease = prefix + str(int(time.time() * 1000))
    owner = str(job.Job_Owner).partition("@")[0]
    status, said = run("acquire", prefix, lease, owner, str(count))
    if status != 0:
        event.reject("outboard: " + said)  # the job stays in its queue
    job.Variable_List["OUTBOARD_LEASE"] = lease
    job.Variable_List["OUTBOARD_POOL"] = said


def main():
    event = pbs.event()
    job = event.job
    count = int(job.Resource_List[RESOURCE] or 0)
    if event.type == pbs.RUNJOB and job.Variable_List.get("OUTBOARD_LEASE"):
        # `qsub -V` has copied the lease of the job that submitted this one.
        job.Variable_List["OUTBOARD_LEASE"] = ""
    if count > 0:
        if event.type == pbs.RUNJOB:
            start(event, job, count)
        else:
            status, said = run("release", lease_prefix(job.id))
            if status != 0:
                pbs.logmsg(pbs.LOG_ERROR, f"outboard: {job.id}: {said}")
    event.accept()


with contextlib.suppress(SystemExit):  # accept() and reject() end the hook so
    main()
