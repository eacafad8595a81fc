"""Tests of mp2c by what must hold of its results.

check.py PROGRAM MPIRUN DAEMON CASE
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAM, MPIRUN, DAEMON, CASE = sys.argv[1:5]
SMALL = ("--cells", "12", "12", "16", "--steps", "50")
FLUID = (*SMALL, "--solutes", "0")


def run(*options: str, ranks: int = 0) -> dict[str, Any]:
    """Runs the program, with MPI's launcher if `ranks` is not 0, and returns its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        start = [MPIRUN, "--oversubscribe", "-n", str(ranks)] if ranks else []
        command = [*start, PROGRAM, *options, "--json", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)
        if done.returncode != 0:
            raise AssertionError(f"{command} failed: {done.stderr}")
        result: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return result


def last_digest(*options: str, ranks: int = 0) -> int:
    return int(run(*options, ranks=ranks)["measurements"][-1]["digest"])


@contextlib.contextmanager
def daemon(*addresses: str, options: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Runs a daemon for the block. Yields the addresses where it listens."""
    command = [DAEMON, "--exit-with-parent", "--log-level", "warn", *options]
    for address in addresses:
        command += ["--listen", address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().strip() for _ in addresses]
            yield [line.removeprefix("listening on ") for line in lines]
        finally:
            process.terminate()


class Laws(unittest.TestCase):
    def test_collisions_keep_energy_and_momentum(self) -> None:
        first, last = run(*FLUID)["measurements"]
        self.assertNotEqual(first["digest"], last["digest"])
        before, after = first["fluid_kinetic"], last["fluid_kinetic"]
        self.assertLess(abs(after / before - 1), 10 * 1e-13)  # ten collisions
        for part in last["momentum"]:
            self.assertLess(abs(part), 1e-12 * last["particles"])

    def test_momentum_is_kept_with_solutes_and_thermostat(self) -> None:
        last = run(*SMALL, "--thermostat")["measurements"][-1]
        self.assertEqual(last["particles"], 12 * 12 * 16 * 10)
        for part in last["momentum"]:
            self.assertLess(abs(part), 1e-12 * last["particles"])

    def test_thermostat_holds_the_temperature(self) -> None:
        # The wave's energy goes; the mean of 3 N / 2 numbers has a deviation of sqrt(2 / 3N).
        last = run(*FLUID, "--thermostat", "--shear", "1")["measurements"][-1]
        cold = run(*FLUID, "--shear", "1")["measurements"][-1]
        wave = last["wave"] ** 2 / 6  # its part of the temperature, which remains
        self.assertLess(abs(last["temperature"] - wave - 1), 5 * (2 / (3 * 23040)) ** 0.5)
        self.assertGreater(cold["temperature"], 1.1)


class Viscosity(unittest.TestCase):
    def test_a_wave_decays_as_theory_says(self) -> None:
        # One run differs from the mean of many by 3 %, because the fluid's own waves add to it.
        options = ("--cells", "20", "20", "20", "--solutes", "0", "--shear", "1", "--thermostat")
        length = ("--steps", "750", "--measure", "5")
        runs = [run(*options, *length, "--seed", str(seed))["viscosity"] for seed in range(1, 5)]
        measured = statistics.mean(one["measured"] for one in runs)
        self.assertLess(abs(measured / runs[0]["predicted"] - 1), 0.05, runs)


class Placements(unittest.TestCase):
    def test_results_have_the_same_bits(self) -> None:
        resident = last_digest(*SMALL)
        self.assertEqual(resident, last_digest(*SMALL))
        self.assertEqual(resident, last_digest(*SMALL, "--placement", "travelling"))
        self.assertNotEqual(resident, last_digest(*SMALL, "--seed", "2"))


class Ranks(unittest.TestCase):
    def test_two_ranks_give_the_bits_of_one(self) -> None:
        one = last_digest(*SMALL, "--thermostat")
        self.assertEqual(one, last_digest(*SMALL, "--thermostat", ranks=2))
        travelling = ("--thermostat", "--placement", "travelling", "--slabs", "3")
        self.assertEqual(one, last_digest(*SMALL, *travelling, ranks=2))

    def test_a_failure_of_one_rank_ends_all(self) -> None:
        with self.assertRaisesRegex(AssertionError, "domains are too thin"):
            run("--cells", "12", "12", "8", "--steps", "5", ranks=2)


class Remote(unittest.TestCase):
    """Devices behind daemons, over shared memory and TCP: the bits of a device in the process."""

    # Three ranks have six layers each, which is as thin as domains may be.
    OPTIONS = ("--cells", "10", "10", "18", "--steps", "50", "--chain-length", "5", "--thermostat")
    PLACEMENTS = (("--placement", "resident"), ("--placement", "travelling", "--slabs", "3"))

    local = 0  # the digest
    addresses: list[str]  # of two daemons

    @classmethod
    def setUpClass(cls) -> None:
        cls.local = last_digest(*cls.OPTIONS)
        running = contextlib.ExitStack()
        cls.addClassCleanup(running.close)
        folder = running.enter_context(tempfile.TemporaryDirectory())
        over_tcp = ("--kernels-without-key", "portable")
        cls.addresses = []
        for name in ("a", "b"):
            both = (f"unix:{folder}/{name}.sock", "127.0.0.1:0")
            cls.addresses += running.enter_context(daemon(*both, options=over_tcp))

    def check(self, *devices: str, ranks: int = 0) -> None:
        for placement in self.PLACEMENTS:
            with self.subTest(devices=devices, placement=placement[1]):
                options = (*self.OPTIONS, *placement, "--device", ",".join(devices))
                self.assertEqual(last_digest(*options, ranks=ranks), self.local)

    def test_one_rank_over_shared_memory_and_tcp(self) -> None:
        self.check(self.addresses[0])
        self.check(self.addresses[1])

    def test_ranks_with_a_daemon_each(self) -> None:
        shm_a, tcp_a, shm_b, tcp_b = self.addresses
        self.check(shm_a, shm_b, ranks=2)
        self.check(tcp_a, tcp_b, ranks=2)

    def test_ranks_share_a_daemon_and_mix_places(self) -> None:
        shm_a, _, _, tcp_b = self.addresses
        self.check(shm_a, shm_a, ranks=2)
        self.check("local:cpu", shm_a, tcp_b, ranks=3)

    def test_a_daemon_without_kernels_is_refused(self) -> None:
        refused = self.assertRaisesRegex(AssertionError, "kernels")
        with daemon("127.0.0.1:0") as (address,), refused:
            run(*SMALL, "--device", address)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], CASE])
