"""Runs the programs of the device API in C, C++ and Fortran, and its examples, with devices behind
daemons: over shared memory, TCP and TLS. The same programs run with local devices as tests of their
own."""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "end_to_end"))

import harness
from harness import Daemon, Suite, expect

# The programs, and their output. Those of two devices get two names.
SILENT = ("api_first", "api_first_cxx", "api_routines", "api_routines_cxx")
RIGHT = ("api_fortran", "api_routines_fortran")
EXAMPLES = ("example_device_first_c", "example_device_first_cpp", "example_device_first_f90")
KERNELS = ("example_device_kernel_c", "example_device_kernel_cpp")
PAIRS = ("api_peers", "api_peers_cxx", "api_peers_fortran")


def find(build: pathlib.Path, name: str) -> pathlib.Path | None:
    for folder in ("tests", "examples", "bin"):
        if (build / folder / name).exists():
            return build / folder / name
    return None


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keys", type=pathlib.Path)
    parser.add_argument("--place", choices=("shm", "tcp", "tls"), required=True)
    parser.add_argument("--kernels", action="store_true", help="the build has kernels, and PoCL")


def main(suite: Suite) -> None:
    place = suite.arguments.place
    options = ["--kernels-without-key", "portable"] if place == "tcp" else []
    environment = harness.clean_environment()
    if place == "tls":
        options = ["--key", str(suite.arguments.keys / "good")]
        environment["OUTBOARD_KEY"] = str(suite.arguments.keys / "kernels_portable")

    def run(name: str, places: list[str], printed: str) -> None:
        program = find(suite.bench.build, name)
        if program is None and name.endswith(("fortran", "f90")):
            return  # a build without a Fortran compiler
        expect(program is not None, f"{name} is not built")
        done = subprocess.run(
            [str(program), *places], env=environment, capture_output=True, text=True, timeout=120
        )
        expect(done.returncode == 0, f"{name}: exit status {done.returncode}\n{done.stderr}")
        expect(done.stdout == printed, f"{name}: {done.stdout!r} {done.stderr!r}")

    with Daemon(suite.bench, options) as first, Daemon(suite.bench, options) as second:
        names = [daemon.shm if place == "shm" else daemon.tcp for daemon in (first, second)]
        cases = [(SILENT, "", 1), (RIGHT, "all right\n", 1), (EXAMPLES, "12 24 36 48\n", 1)]
        if suite.arguments.kernels:
            cases.append((KERNELS, "12 24 36 48\n", 1))
        cases.append((PAIRS, "all right\n", 2))
        for programs, printed, devices in cases:
            for name in programs:
                suite.check(name, lambda n=name, d=devices, p=printed: run(n, names[:d], p))
        mixed = [names[0], "local:cpu"]
        for name in PAIRS:
            suite.check(f"{name} and local:cpu", lambda n=name: run(n, mixed, "all right\n"))


if __name__ == "__main__":
    os.environ.pop("OUTBOARD_KEY", None)
    harness.main(Suite(__doc__ or "", arguments), main)
