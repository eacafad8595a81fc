"""Plain MPI messages, the ceiling of what SIAL's ranks exchange: the program mpi_messages."""

from __future__ import annotations

from collections.abc import Sequence

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import native_program, sial_runs
from outboard_bench.sial_hosts import Hosts

Seconds = dict[tuple[str, int], float]
# A ceiling is the best of some runs: MPI spins while it waits, so other load of the machine slows
# it more than a runtime that sleeps.
_RUNS = 3


def measure(
    hosts: Hosts,
    ranks: int,
    sizes: Sequence[int],
    count: int = 20,
    *,
    barriers: int = 0,
    check: bool = False,
) -> Seconds:
    """Returns the seconds of a message by kind and bytes: "round", "from", "to" and "both" as in
    bench/mpi_messages.cpp, and ("barrier", 0) if asked for. The last rank serves the others."""
    program = native_program.require(paths.require_native(), f"mpi_messages_{hosts.mpi}")
    words = [str(program), "--sizes", ",".join(map(str, sizes)), "--count", str(count)]
    words += ["--barriers", str(barriers)]
    command = hosts.command(ranks - 1, 1, words)
    found: Seconds = {}
    for _ in range(1 if check else _RUNS):
        for line in sial_runs.finish(command).splitlines():
            what, size, seconds = line.split(",")
            key = what, int(size)
            found[key] = min(float(seconds), found.get(key, float("inf")))
    if len(found) != 4 * len(set(sizes)) + (barriers > 0):
        raise OutboardError(f"mpi_messages measured too little: {sorted(found)}")
    return found
