"""Swaps the memory of a daemon out again and again while clients wait for it. They must wait, and
get their results from the daemon.

The test needs root (for process_madvise) and active swap. It changes nothing of the machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import pathlib
import subprocess
import time

import harness
from faults_test import wait_for_remote_call
from harness import Daemon, MissingError, Suite, expect

SECONDS = 15.0
NEEDED_SWAP_KB = 256 << 10
# Far more than the daemon has if nobody swaps it out.
FAULTS = 1000
# linux/mman.h, asm/unistd.h (the number is that of all architectures)
PAGEOUT, PROCESS_MADVISE = 21, 440

_libc = ctypes.CDLL(None, use_errno=True)


class Range(ctypes.Structure):
    """struct iovec"""

    _fields_ = (("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


def free_swap_kb() -> int:
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("SwapFree:"))


def swap_out(pid: int) -> bool:
    """Asks the kernel to reclaim all memory of a process. It leaves out locked memory. True if it
    took the request."""
    taken = False
    with contextlib.closing(os.fdopen(os.pidfd_open(pid), "rb", buffering=0)) as process:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            begin, end = (int(address, 16) for address in line.split()[0].split("-"))
            part = Range(begin, end - begin)
            done = _libc.syscall(
                PROCESS_MADVISE, process.fileno(), ctypes.byref(part), 1, PAGEOUT, 0
            )
            taken = taken or done > 0
    return taken


def major_faults(pid: int) -> int:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[9])  # majflt of proc(5), counted from the state


def swapping(suite: Suite, transport: str) -> None:
    if os.geteuid() != 0:
        raise MissingError("process_madvise needs root")
    if free_swap_kb() < NEEDED_SWAP_KB:
        raise MissingError("256 MiB of active swap (swapon)")
    rounds = 0
    with Daemon(suite.bench) as daemon:
        pid = daemon.process.pid

        def during(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
            nonlocal rounds
            wait_for_remote_call(process, reports, 2)
            while process.poll() is None:
                if not swap_out(pid):
                    raise MissingError("process_madvise(MADV_PAGEOUT) of Linux 5.10")
                rounds += 1
                time.sleep(0.05)  # the pace of the fault, not a wait for an event

        calls = 0
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:  # a program ends soon after a long call
            outcome = suite.bench.run(
                [suite.bench.program("e2e_longest_call"), "400", str(SECONDS)],
                "remote",
                daemon.address(transport),
                extra={"OPENBLAS_NUM_THREADS": "1"},
                during=during,
            )
            outcome.expect_ok().expect_stderr_lines(0).expect_out({"dgemm": 1})
            calls += outcome.total("dgemm")
        faults = major_faults(pid)
        print(f"{calls} calls, swapped out {rounds} times, {faults} major faults of the daemon")
        expect(faults > FAULTS, "the daemon was not swapped out")


def main(suite: Suite) -> None:
    if suite.bench.native:
        return
    for transport in ("tcp", "shm"):
        suite.check(f"swapped out, {transport}", functools.partial(swapping, suite, transport))


if __name__ == "__main__":
    harness.main(Suite(__doc__, lambda parser: None), main)
