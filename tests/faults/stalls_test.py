"""Stalls all threads of a daemon except the one for signs of life, as swapped memory and a slow
device do. A client must wait, and get its results from the daemon.
"""

from __future__ import annotations

import collections.abc
import contextlib
import ctypes
import functools
import pathlib
import re
import subprocess
import time

import harness
from faults_test import wait_for_remote_call
from harness import Daemon, MissingError, Suite, expect

LIFE_SIGNS = "life-signs"  # src/daemon/io/life_signs.cpp
# Longer than any silence that a client accepts.
STALL_S = 6.0
LONGEST = re.compile(r"longest ([0-9.]+) s")
SILENT = "has been silent for"  # src/client/daemon_watch.cpp
TRIES = 3
# linux/ptrace.h
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def other_threads(pid: int) -> list[int]:
    """Returns the threads of the daemon that compute, receive or accept."""
    tasks = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
    names = {int(task.name): (task / "comm").read_text().strip() for task in tasks}
    expect(LIFE_SIGNS in names.values(), f"no thread for signs of life: {names}")
    return [thread for thread, name in names.items() if name != LIFE_SIGNS]


@contextlib.contextmanager
def stalled(threads: list[int]) -> collections.abc.Iterator[None]:
    held = []
    try:
        for thread in threads:
            if _libc.ptrace(SEIZE, thread, None, None) != 0:
                raise MissingError("the permission to trace a child")
            held.append(thread)
            _libc.ptrace(INTERRUPT, thread, None, None)
        yield
    finally:
        for thread in held:
            # A thread can be released only once it has stopped.
            end = time.monotonic() + 10
            while _libc.ptrace(DETACH, thread, None, None) != 0 and time.monotonic() < end:
                time.sleep(0.01)


def stall(suite: Suite, transport: str) -> bool:
    """Returns False if the client gave the daemon up as silent."""
    if suite.bench.native:
        return True
    with Daemon(suite.bench) as daemon:

        def during(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
            wait_for_remote_call(process, reports, 2)
            with stalled(other_threads(daemon.process.pid)):
                time.sleep(STALL_S)  # the length of the fault, not a wait for an event

        outcome = suite.bench.run(
            [suite.bench.program("e2e_longest_call"), "200", "30"],
            "remote",
            daemon.address(transport),
            extra={"OPENBLAS_NUM_THREADS": "1"},
            during=during,
        )
        outcome.expect_ok()
        if SILENT in outcome.stderr:
            outcome.expect_stderr_lines(1)
            return False
        outcome.expect_stderr_lines(0).expect_out({"dgemm": 3})
        found = LONGEST.search(outcome.stdout)
        assert found is not None
        expect(float(found[1]) > 0.8 * STALL_S, f"nothing stalled: {outcome.stdout}")
        return True


def stall_between_messages(suite: Suite, transport: str) -> None:
    """Repeats a stall whose client gave up. A thread that stalls while it sends a message holds its
    connection: nobody can send a sign of life then. This happens in few runs.
    """
    for _ in range(TRIES):
        if stall(suite, transport):
            return
        print("again: the client gave up", flush=True)
    raise harness.CheckError(f"the client gave up in {TRIES} of {TRIES} stalls")


def stalls(suite: Suite) -> None:
    for transport in ("tcp", "shm"):
        suite.check(
            f"all other threads stall, {transport}",
            functools.partial(stall_between_messages, suite, transport),
        )


if __name__ == "__main__":
    harness.main(Suite(__doc__, lambda parser: None), stalls)
