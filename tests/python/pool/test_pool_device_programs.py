"""Programs in C, C++ and Fortran that take devices of a real pool: tests/api/leases*."""

from __future__ import annotations

import atexit
import select
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pool_daemon import PATIENCE_S, until
from test_pool_enforced import Pool, make_pool

from conftest import Outboard, clean_environment
from needs import needs_built
from outboard import paths

pytestmark = pytest.mark.end_to_end

PROGRAMS = {"c": "api_leases", "cpp": "api_leases_cxx", "fortran": "api_leases_fortran"}
DEVICES = {"n1/0", "n1/1"}


def leases(pool: Pool) -> dict[str, Any]:
    rows = pool.client.pages("/v1/leases", "leases")
    return {row["id"]: row for row in rows if row["state"] == "held"}


def uses(pool: Pool) -> dict[str, tuple[str, int]]:
    """Returns how each device is allocated, and the sessions that its daemon reports."""
    rows = pool.client.pages("/v1/devices", "devices")
    return {row["id"]: (row["allocation"], row["sessions"]) for row in rows}


class Steps:
    """A program that says where it is, and waits after each step."""

    def __init__(self, program: Path, pool: Pool) -> None:
        self.pool = pool
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=clean_environment(**pool.variables),
        )  # fmt: skip
        atexit.register(self.process.kill)  # also after a test that fails

    def expect(self, word: str) -> None:
        assert self.process.stdout is not None and self.process.stderr is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        assert ready, f"the program does not say {word}"
        said = self.process.stdout.readline()
        assert said == word + "\n", (said, self.process.poll() and self.process.stderr.read())

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def expect_use(self, *used: str) -> None:
        """Waits until these devices are the program's, with one session each, and no others."""
        expected = {
            name: ("exclusive", 1) if name in used else ("free", 0) for name in sorted(DEVICES)
        }
        until(lambda: uses(self.pool) == expected, f"{expected} instead of {uses(self.pool)}")
        held = [name for row in leases(self.pool).values() for name in row["devices"]]
        assert sorted(held) == sorted(used)


@pytest.mark.parametrize(
    ("language", "kind"), [("c", "tcp"), ("c", "keys"), ("cpp", "tcp"), ("fortran", "tcp")]
)
def test_a_program_with_devices_of_a_pool(
    language: str, kind: str, tmp_path: Path, native: paths.Native, outboard: Outboard
) -> None:
    program = native.root / "tests" / PROGRAMS[language]
    needs_built(program)
    pool = make_pool(kind, tmp_path, native, "--devices", "2")
    pool.daemon.wait_until_free(pool.client, 1)
    steps = Steps(program, pool)

    steps.expect("one")
    ((name, row),) = leases(pool).items()
    (first,) = row["devices"]
    steps.expect_use(first)
    # It is renewed while the program does nothing: by the library, and by the signs of life of its
    # connection, which the daemon counts as use. Without the first, the end below is not noticed.
    until(lambda: leases(pool)[name]["end_ms"] >= row["end_ms"] + 3500, "it was renewed")
    steps.go_on()

    steps.expect("grown")
    assert len(leases(pool)) == 2  # the manager knows the part that was added as one more
    steps.expect_use(*DEVICES)
    steps.go_on()

    steps.expect("shrunk")
    steps.expect_use(*DEVICES - {first})
    steps.go_on()

    steps.expect("released")
    assert not leases(pool)
    steps.expect_use()
    steps.go_on()

    steps.expect("pair")
    ((_, row),) = leases(pool).items()
    assert set(row["devices"]) == DEVICES
    steps.expect_use(*DEVICES)
    steps.go_on()

    steps.expect("half")
    steps.expect_use(row["devices"][1])
    steps.go_on()

    steps.expect("both")
    names = leases(pool)
    steps.expect_use(*DEVICES)
    steps.go_on()  # it computes from now on
    ended = outboard("pool", "release", *names, "--pool", f"unix:{tmp_path}/m/s")
    assert ended.returncode == 0, ended.stderr
    steps.expect("lost")
    steps.expect_use()  # while the program still has the lease's handle
    steps.go_on()

    out, error = steps.process.communicate(timeout=PATIENCE_S)
    assert (steps.process.returncode, out, error) == (0, "all right\n", "")
    pool.stop()
