#!/usr/bin/env python3
"""Runs a program under mpiexec: run_mpi.py [--fails] [--says TEXT] LAUNCHER RANKS PROGRAM ARGS...

With --fails the job must end with a failure, and it must end by itself.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl": "self,vader",
    # Containers forbid reading another process's memory.
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fails", action="store_true")
    parser.add_argument("--says", action="append", default=[])
    parser.add_argument("launcher")
    parser.add_argument("ranks")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    a = parser.parse_args()
    job = subprocess.run(
        [a.launcher, "-n", a.ranks, *a.command],
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(job.stdout)
    missing = [text for text in a.says if text not in job.stdout]
    for text in missing:
        print(f"run_mpi: the job does not say: {text}")
    if (job.returncode != 0) != a.fails:
        print(f"run_mpi: the job ended with {job.returncode}")
        return 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
