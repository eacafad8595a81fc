"""Runs the programs of the device API in C, C++ and Fortran, and its examples, with devices of this
machine, or behind daemons over shared memory, TCP and TLS."""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "end_to_end"))

import harness
from harness import Daemon, Suite, expect

# The programs, and their output. Those of two devices get two names.
SILENT = ("api_first", "api_cases", "api_first_cxx", "api_routines", "api_routines_cxx")
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
    parser.add_argument("--backend", choices=("cpu", "opencl", "cuda"), default="cpu")
    parser.add_argument("--place", choices=("local", "shm", "tcp", "tls"), required=True)
    parser.add_argument("--kernels", action="store_true", help="the build has kernels, and PoCL")


class Places:
    """Two devices of one kind, and a function that runs programs with their names."""

    def __init__(self, suite: Suite, stack: contextlib.ExitStack) -> None:
        self._build = suite.bench.build
        self._environment = harness.clean_environment() | harness.accelerator_environment()
        arguments = suite.arguments
        if arguments.place == "local":
            self.names = [f"local:{arguments.backend}"] * 2
            return
        options = []
        if arguments.place == "tls":
            options = ["--key", str(arguments.keys / "good")]
            self._environment["OUTBOARD_KEY"] = str(arguments.keys / "kernels_portable")
        elif arguments.place == "tcp":
            options = ["--kernels-without-key", "portable"]
        if arguments.backend != "cpu":
            options.append("--kernels-in-process")
        daemons = [
            stack.enter_context(Daemon(suite.bench, options, backend=arguments.backend))
            for _ in range(2)
        ]
        shm = arguments.place == "shm"
        self.names = [daemon.shm if shm else daemon.tcp for daemon in daemons]

    def run(self, name: str, names: list[str]) -> subprocess.CompletedProcess[str] | None:
        """Runs a program. Returns None if the build has no Fortran compiler for it."""
        program = find(self._build, name)
        if program is None and name.endswith(("fortran", "f90")):
            return None
        expect(program is not None, f"{name} is not built")
        return subprocess.run(
            [str(program), *names],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=300,  # PoCL compiles the routines of the opencl backend
        )

    def check(self, name: str, names: list[str], printed: str) -> None:
        done = self.run(name, names)
        if done is None:
            return
        expect(done.returncode == 0, f"{name}: exit status {done.returncode}\n{done.stderr}")
        expect(done.stdout == printed, f"{name}: {done.stdout!r} {done.stderr!r}")


def check_refusal(suite: Suite) -> None:
    """A daemon runs no kernels in its own process unless it was told to."""
    with contextlib.ExitStack() as stack:
        places = Places(suite, stack)
        daemon = stack.enter_context(Daemon(suite.bench, backend=suite.arguments.backend))
        done = places.run(KERNELS[0], [daemon.shm])
        expect(done is not None and done.returncode != 0, "a kernel ran in the daemon's process")
        expect(done is not None and "--kernels-in-process" in done.stderr, repr(done))


def main(suite: Suite) -> None:
    with contextlib.ExitStack() as stack:
        places = Places(suite, stack)
        cases = [(SILENT, "", 1), (RIGHT, "all right\n", 1), (EXAMPLES, "12 24 36 48\n", 1)]
        if suite.arguments.kernels:
            cases.append((KERNELS, "12 24 36 48\n", 1))
        cases.append((PAIRS, "all right\n", 2))
        for programs, printed, devices in cases:
            for name in programs:
                names = places.names[:devices]
                suite.check(name, lambda n=name, d=names, p=printed: places.check(n, d, p))
        mixed = [places.names[0], "local:cpu"]
        for name in PAIRS:
            label = f"{name} and local:cpu"
            suite.check(label, lambda n=name: places.check(n, mixed, "all right\n"))
    if suite.arguments.backend != "cpu" and suite.arguments.place == "shm":
        suite.check("kernels in the daemon's process", lambda: check_refusal(suite))


if __name__ == "__main__":
    os.environ.pop("OUTBOARD_KEY", None)
    harness.main(Suite(__doc__ or "", arguments), main)
