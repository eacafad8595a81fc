"""Lets the memory of a daemon be swapped out while clients wait for it. They must wait, and get
their results from the daemon.

The daemon gets a memory cgroup with a low limit. The test needs root, a memory cgroup (version 1 or
2) and active swap: it changes nothing else of the machine.
"""

from __future__ import annotations

import collections.abc
import concurrent.futures
import contextlib
import functools
import os
import pathlib
import time

import harness
from harness import Daemon, MissingError, Outcome, Suite, expect

GROUPS = pathlib.Path("/sys/fs/cgroup")
NAME = "outboard-swapping-test"
# The buffers of all clients, 3 matrices of 5 MB each, exceed the limit. Those of the call that
# computes are far below it: otherwise the kernel kills the daemon.
LIMIT_BYTES = 96 << 20
CLIENTS, SIZE = 12, "800"
SECONDS = 20.0
NEEDED_SWAP_KB = 512 << 10
# Far more than a daemon that fits into its memory has.
FAULTS = 2000


def free_swap_kb() -> int:
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("SwapFree:"))


def remove(group: pathlib.Path) -> None:
    """Removes a cgroup. Executors end a moment after their daemon."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)
    raise harness.CheckError(f"{group} still has processes")


@contextlib.contextmanager
def limited_memory() -> collections.abc.Iterator[pathlib.Path]:
    """Makes a memory cgroup; yields its folder."""
    if os.geteuid() != 0:
        raise MissingError("memory cgroups need root")
    if free_swap_kb() < NEEDED_SWAP_KB:
        raise MissingError("512 MiB of active swap (swapon)")
    first = (GROUPS / "memory").is_dir()
    group = (GROUPS / "memory" if first else GROUPS) / f"{NAME}-{os.getpid()}"
    limit = group / ("memory.limit_in_bytes" if first else "memory.max")
    try:
        group.mkdir()
    except OSError as error:
        raise MissingError(f"a memory cgroup ({error})") from None
    try:
        if not limit.exists():
            raise MissingError("the memory controller of cgroups")
        limit.write_text(str(LIMIT_BYTES))
        yield group
    finally:
        remove(group)


def major_faults(pid: int) -> int:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[9])  # majflt of proc(5), counted from the state


def calls_of_one_client(suite: Suite, address: str) -> list[Outcome]:
    """Runs programs one after another for some time. Each ends soon after a long call."""
    end = time.monotonic() + SECONDS
    outcomes = []
    while time.monotonic() < end:
        program = [suite.bench.program("e2e_longest_call"), SIZE, str(SECONDS)]
        extra = {"OPENBLAS_NUM_THREADS": "1"}
        outcomes.append(suite.bench.run(program, "remote", address, extra=extra, timeout_s=300))
    return outcomes


def swapping(suite: Suite, transport: str, isolation: str) -> None:
    with contextlib.ExitStack() as stack:
        group = stack.enter_context(limited_memory())
        daemon = stack.enter_context(Daemon(suite.bench, ["--isolation", isolation]))
        (group / "cgroup.procs").write_text(str(daemon.process.pid))
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            address = daemon.address(transport)
            runs = [pool.submit(calls_of_one_client, suite, address) for _ in range(CLIENTS)]
            outcomes = [outcome for run in runs for outcome in run.result()]
        if daemon.process.poll() is not None:
            raise MissingError("a kernel that swaps; this one killed the daemon")
        faults = major_faults(daemon.process.pid)
        for outcome in outcomes:
            outcome.expect_ok().expect_stderr_lines(0).expect_out({"dgemm": 1})
        calls = sum(outcome.total("dgemm") for outcome in outcomes)
        print(f"{calls} calls, {faults} major faults of the daemon")
        expect(faults > FAULTS, f"the daemon did not swap: {faults} major faults")


def main(suite: Suite) -> None:
    if suite.bench.native:
        return
    for transport, isolation in (("tcp", "none"), ("shm", "none"), ("tcp", "user")):
        suite.check(
            f"{transport}, isolation {isolation}",
            functools.partial(swapping, suite, transport, isolation),
        )


if __name__ == "__main__":
    harness.main(Suite(__doc__, lambda parser: None), main)
