"""Programs that take devices of a pool by themselves, because only OUTBOARD_POOL is set: real
managers, daemons and programs."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pool_daemon import PATIENCE_S, Daemon, until
from pool_server import EVERYBODY, Manager, make_keys

from conftest import clean_environment
from outboard import counters, paths
from outboard.pool.client import PoolClient

pytestmark = [pytest.mark.end_to_end, pytest.mark.usefixtures("two_cores")]

# Kernels of an old processor on one core: much slower than the daemon's, so that its device gains.
# Other tests may disturb the daemon's first products, from which it tells its rate.
SLOW = {
    "OPENBLAS_CORETYPE": "Prescott",
    "OPENBLAS_NUM_THREADS": "1",
    "OUTBOARD_POOL_GFLOPS": "1",
}

# Reads "COUNT ORDER" lines, multiplies so many matrices of small whole numbers, and answers. The
# oracle of the sums of rows needs no BLAS. Sums of whole numbers are exact in any order.
PROGRAM = """
import os, sys, numpy as np
rng = np.random.default_rng(int(sys.argv[1]))
print("ready", flush=True)
for line in sys.stdin:
    count, order = map(int, line.split())
    a, b = rng.integers(-8, 9, (2, order, order)).astype(float)
    expected = (a * b.sum(axis=1)).sum(axis=1)
    for _ in range(count):
        c = np.full((order, order), np.nan)
        np.matmul(a, b, out=c)
        if not (c.sum(axis=1) == expected).all():
            sys.exit("a wrong product")
    print("done", flush=True)
"""


@pytest.fixture
def two_cores() -> tuple[int, int]:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("needs a second core, for the daemon")
    return cores[0], cores[1]


@contextlib.contextmanager
def on_core(core: int) -> Iterator[None]:
    """Programs that are started meanwhile run on this core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Program:
    """Computes on request, in mode auto; its counters can be read while it runs."""

    def __init__(self, native: paths.Native, folder: Path, core: int, **variables: str) -> None:
        folder.mkdir()
        self.folder = folder
        self.errors = open(folder / "stderr", "w+")  # noqa: SIM115
        environment = clean_environment(
            LD_PRELOAD=str(native.preload), OUTBOARD_REPORT=f"dir:{folder}", **variables
        )
        seed = os.environ.get("OUTBOARD_TEST_SEED") or str(int.from_bytes(os.urandom(4), "little"))
        print(f"seed: OUTBOARD_TEST_SEED={seed}")
        self.process = subprocess.Popen(
            ["taskset", "-c", str(core), sys.executable, "-c", PROGRAM, seed],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env=environment,
        )  # fmt: skip
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def multiply(self, count: int, order: int = 1000) -> int:
        """Returns the number of products that went out."""
        assert self.process.stdin is not None and self.process.stdout is not None
        before = self.counted("remote")
        self.process.stdin.write(f"{count} {order}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n", self.said()
        return self.counted("remote") - before

    def multiply_until_remote(self) -> None:
        until(lambda: self.multiply(2) == 2, f"products go out; it said: {self.said()}")

    def counted(self, name: str) -> int:
        processes, _ = counters.read_folder(self.folder)
        return sum(int(getattr(row, name)) for one in processes for row in one.routines)

    def said(self) -> str:
        return (self.folder / "stderr").read_text()

    def finish(self) -> None:
        self.process.communicate(timeout=PATIENCE_S)
        self.errors.close()
        assert self.process.returncode == 0, self.said()


class Pool:
    def __init__(
        self, folder: Path, native: paths.Native, cores: tuple[int, int], with_keys: bool = False
    ) -> None:
        self.native, self.folder, self.core = native, folder, cores[0]
        self.key: Path | None = None
        options: list[str] = []
        self.variables: dict[str, str] = {}
        if with_keys:
            made = make_keys(folder / "keys")
            self.manager, self.key = Manager(folder / "m", "", made["m1"]), made["ada"]
            options = ["--key", str(made["n1"])]
            self.variables["OUTBOARD_KEY"] = str(self.key)
        else:
            self.manager = Manager(folder / "m", EVERYBODY)
        self.variables["OUTBOARD_POOL"] = self.manager.url
        self.administrator = self.manager.local()
        self.holder = PoolClient(self.manager.url, self.key)
        with on_core(cores[1]):
            self.daemon = Daemon(native, "n1", "--pool", self.manager.url, *options)
        self.daemon.wait_until_free(self.administrator)

    def program(self, **library: str) -> Program:
        """`library`: the variables of its library, in place of SLOW."""
        variables = self.variables | (library or SLOW)
        return Program(self.native, self.folder / "program", self.core, **variables)

    def leases(self, *states: str) -> list[Any]:
        rows = self.administrator.pages("/v1/leases", "leases")
        return [row for row in rows if not states or row["state"] in states]

    def stop(self) -> None:
        self.daemon.stop()
        assert self.manager.stop() == 0


@pytest.fixture
def pool(tmp_path: Path, native: paths.Native, two_cores: tuple[int, int]) -> Iterator[Pool]:
    made = Pool(tmp_path, native, two_cores)
    yield made
    made.stop()


@pytest.mark.slow
@pytest.mark.parametrize("with_keys", [False, True])
def test_a_program_takes_a_device_and_gives_it_back(
    with_keys: bool, tmp_path: Path, native: paths.Native, two_cores: tuple[int, int]
) -> None:
    pool = Pool(tmp_path, native, two_cores, with_keys)
    program = pool.program()
    assert program.multiply(1, 300) == 0
    assert not pool.leases()  # a short call is no reason
    program.multiply_until_remote()
    assert len(pool.leases("held")) == 1
    until(lambda: program.multiply(5) == 5, "all products go out")
    program.finish()
    # Given back at the end, not only after the lease time.
    pool.daemon.wait_until_free(pool.administrator)
    assert not pool.leases("held", "queued")
    pool.stop()


def test_a_program_of_short_calls_never_asks(pool: Pool) -> None:
    program = pool.program()
    begin = time.monotonic()
    while time.monotonic() < begin + 3:
        assert program.multiply(50, 100) == 0
    program.finish()
    assert not pool.leases()


@pytest.mark.slow
def test_a_pool_without_faster_devices_is_not_used(
    tmp_path: Path, native: paths.Native, two_cores: tuple[int, int]
) -> None:
    pool = Pool(tmp_path, native, two_cores)
    program = pool.program(OPENBLAS_NUM_THREADS="1")  # its library is as good as the daemon's
    begin = time.monotonic()
    while time.monotonic() < begin + 3:
        assert program.multiply(2) == 0
    assert not pool.leases("held")
    program.finish()
    pool.stop()


@pytest.mark.slow
def test_a_device_of_another_comes_when_it_is_free(pool: Pool) -> None:
    other = pool.holder.ask("PUT", "/v1/leases/other", {"ttl_s": 300, "wait_s": 20}, wait_s=20)
    assert other["state"] == "held"
    program = pool.program()
    until(lambda: program.multiply(2) == 0 and pool.leases("queued"), "it waits in the queue")
    assert program.multiply(2) == 0
    pool.holder.ask("DELETE", "/v1/leases/other")
    program.multiply_until_remote()
    program.finish()


@pytest.mark.slow
def test_an_idle_program_gives_its_device_to_others(pool: Pool) -> None:
    program = pool.program()
    program.multiply_until_remote()
    body = {"ttl_s": 300, "wait_s": 25}
    other = pool.holder.ask("PUT", "/v1/leases/other", body, wait_s=25)
    if other["state"] == "queued":
        other = pool.holder.ask("GET", "/v1/leases/other", query={"wait_s": 25}, wait_s=25)
    assert other["state"] == "held"  # nobody ended the program
    assert program.multiply(2) == 0
    pool.holder.ask("DELETE", "/v1/leases/other")
    program.multiply_until_remote()
    program.finish()


@pytest.mark.slow
def test_a_lease_that_is_taken_back_ends_no_call(pool: Pool) -> None:
    program = pool.program()
    program.multiply_until_remote()
    (lease,) = pool.leases("held")
    pool.administrator.ask("DELETE", f"/v1/leases/{lease['id']}")
    program.multiply(2)
    program.multiply_until_remote()  # another lease
    (again,) = pool.leases("held")
    assert again["id"] != lease["id"]
    program.finish()


@pytest.mark.slow
def test_the_manager_may_be_away(pool: Pool) -> None:
    pool.manager.kill()
    program = pool.program()
    begin = time.monotonic()
    while time.monotonic() < begin + 3:
        assert program.multiply(2) == 0
    assert "does not answer" in program.said() or "cannot" in program.said(), program.said()
    pool.manager.start()
    program.multiply_until_remote()
    pool.manager.kill()
    assert program.multiply(4) == 4  # the lease is good
    pool.manager.start()
    program.finish()


TIMED = """
import time, numpy as np
a = np.random.default_rng(1).random((1000, 1000))
taken = []
for _ in range(12):
    begin = time.monotonic()
    a @ a
    taken.append(time.monotonic() - begin)
print(sorted(taken)[len(taken) // 2], max(taken[1:]))
"""


def test_no_call_waits_for_a_silent_manager(
    tmp_path: Path, native: paths.Native, two_cores: tuple[int, int]
) -> None:
    """The library gives it 2 s for its answer, which no call may take. The first call loads the
    program's own library."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environment = clean_environment(
            LD_PRELOAD=str(native.preload), OUTBOARD_REPORT=f"dir:{tmp_path}", **SLOW,
            OUTBOARD_POOL=f"http://127.0.0.1:{silent.getsockname()[1]}",
        )  # fmt: skip
        words = ["taskset", "-c", str(two_cores[0]), sys.executable, "-c", TIMED]
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=2 * PATIENCE_S
        )
        assert done.returncode == 0, done.stderr
        silent.settimeout(0)
        silent.accept()  # it was asked
    median, longest = map(float, done.stdout.split())
    print(f"calls took {median:.3f} s in the median, {longest:.3f} s at most")
    assert longest < median + 1.5


@pytest.mark.slow
def test_a_killed_program_loses_its_lease(pool: Pool) -> None:
    program = pool.program()
    program.multiply_until_remote()
    program.process.send_signal(signal.SIGKILL)
    program.process.wait()
    program.errors.close()
    pool.daemon.wait_until_free(pool.administrator)  # after the lease time of 30 s


@pytest.mark.slow
def test_each_forked_child_asks_for_itself(pool: Pool, tmp_path: Path) -> None:
    script = PROGRAM.replace("for line in sys.stdin", 'os.fork()\nfor line in ["30 1000"]')
    environment = clean_environment(
        LD_PRELOAD=str(pool.native.preload), OUTBOARD_REPORT=f"dir:{tmp_path}", **SLOW,
        **pool.variables,
    )  # fmt: skip
    done = subprocess.run(
        ["taskset", "-c", str(pool.core), sys.executable, "-c", script, "1"],
        capture_output=True, text=True, env=environment, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pool.daemon.wait_until_free(pool.administrator)
    assert not pool.leases("held", "queued")


# Without a decision, whatever else the machine does. The tests above need idle cores to gain.
@pytest.mark.parametrize("with_keys", [False, True])
def test_in_mode_remote_the_first_call_takes_a_device(
    with_keys: bool, tmp_path: Path, native: paths.Native, two_cores: tuple[int, int]
) -> None:
    pool = Pool(tmp_path, native, two_cores, with_keys)
    program = pool.program(OUTBOARD_MODE="remote", OUTBOARD_POOL_GFLOPS="0")
    assert not pool.leases()
    assert program.multiply(3, 100) == 3
    assert len(pool.leases("held")) == 1
    program.finish()
    pool.daemon.wait_until_free(pool.administrator)
    assert not pool.leases("held", "queued")
    pool.stop()
