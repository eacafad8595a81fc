"""Runs clients of the other byte order against the cpu backend, under an emulator.

The clients are client/client.cpp and an unmodified program with the drop-in library.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import subprocess
import sys

import harness
from harness import Suite, expect

EMULATOR = "qemu-s390x-static"
LIBRARIES = "/usr/s390x-linux-gnu"  # the folder in which Debian's cross compiler keeps them


def run_emulated(
    program: pathlib.Path, arguments: list[str], variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    expect(shutil.which(EMULATOR) is not None, f"no {EMULATOR}: apt-get install qemu-user-static")
    expect(program.exists(), f"{program} was not built")
    settings = [x for name, value in (variables or {}).items() for x in ("-E", f"{name}={value}")]
    outcome = subprocess.run(
        [EMULATOR, "-L", LIBRARIES, *settings, str(program), *arguments],
        capture_output=True,
        text=True,
        timeout=harness.DEFAULT_TIMEOUT_S,
        check=False,
        env=harness.clean_environment(),
    )
    sys.stdout.write(outcome.stdout)
    return outcome


def run_client(build: pathlib.Path, address: str, seed: int) -> subprocess.CompletedProcess[str]:
    return run_emulated(build / "bin" / "byte_order_client", [address, str(seed)])


def over_tcp(client: pathlib.Path, address: str, seed: int) -> None:
    """Checks that results are right. They are right only if every operand was swapped by its word
    size."""
    outcome = run_client(client, address, seed)
    expect(outcome.returncode == 0, f"status {outcome.returncode}\n{outcome.stderr[-2000:]}")
    expect("this side is big-endian, the other little" in outcome.stdout, "one byte order only")
    expect("passed: 0 failures" in outcome.stdout, "it did not say that it passed")


def over_shared_memory(client: pathlib.Path, address: str) -> None:
    """Checks that shared memory is refused with a message that names the alternative."""
    outcome = run_client(client, address, 1)
    expect(outcome.returncode == 1, f"status {outcome.returncode}")
    expect("byte order" in outcome.stdout and "TCP" in outcome.stdout, "no word of TCP")


def unmodified_program(client: pathlib.Path, address: str, seed: int) -> None:
    """Checks that the drop-in library catches a dgemm of a program that has a BLAS."""
    program = client / "bin" / "byte_order_program"
    alone = run_emulated(program, [str(seed)])
    expect(alone.returncode == 0 and "1 local calls" in alone.stdout, "it is wrong by itself")
    settings = {
        "LD_PRELOAD": str(client / "lib" / "liboutboard-preload.so"),
        "OUTBOARD_MODE": "remote",
        "OUTBOARD_SERVER": address,
    }
    helped = run_emulated(program, [str(seed)], settings)
    expect(helped.returncode == 0, f"status {helped.returncode}\n{helped.stderr[-2000:]}")
    expect("0 local calls" in helped.stdout, f"nothing went out\n{helped.stderr[-2000:]}")


def body(suite: Suite) -> None:
    client: pathlib.Path = suite.arguments.client
    with harness.Daemon(suite.bench) as daemon:
        seed = suite.bench.seed
        suite.check("over TCP", lambda: over_tcp(client, daemon.tcp, seed))
        suite.check("over shared memory", lambda: over_shared_memory(client, daemon.shm))
        suite.check("a program", lambda: unmodified_program(client, daemon.tcp, seed))
        suite.check("the same daemon again", lambda: over_tcp(client, daemon.tcp, seed + 1))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--client", type=pathlib.Path, required=True, help="its build folder")


if __name__ == "__main__":
    harness.main(Suite(__doc__ or "", add_arguments), body)
