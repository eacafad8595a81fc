"""Programs without a lease at a daemon of a pool: `--without-lease`."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from pool_daemon import (
    BUSY,
    DENIED,
    LEASE_VERSION,
    UNAVAILABLE,
    Worker,
    connect,
    hello,
    until,
)
from test_pool_enforced import PRODUCT, Pool, make_pool, report_of

from conftest import Outboard, clean_environment
from outboard import counters, paths

pytestmark = pytest.mark.end_to_end

IDLE = ("--without-lease", "idle")
MEGABYTE = 1 << 20

# One product, on a device that takes seconds for it and whose results are no results.
LONG_PRODUCT = """
import numpy as np
whole = np.arange(1000 * 1000).reshape(1000, 1000) % 17
a = whole.astype(float)
c = a @ a.T
assert (c[:5] == whole[:5] @ whole.T).all(), "a wrong product"
"""


@pytest.fixture
def make(tmp_path: Path, native: paths.Native) -> Iterator[Callable[..., Pool]]:
    made: list[Pool] = []

    def call(kind: str = "tcp", *options: str) -> Pool:
        made.append(make_pool(kind, tmp_path, native, *IDLE, *options))
        return made[-1]

    yield call
    for pool in made:
        pool.daemon.stop()
        if pool.manager.process.poll() is None:
            assert pool.manager.stop() == 0


def worker(pool: Pool, native: paths.Native, folder: Path) -> Worker:
    """A program that names the daemon, and knows no pool."""
    return Worker(native, folder, OUTBOARD_SERVER=pool.daemon.address)


def code(pool: Pool) -> int:
    """The answer to a client without a lease."""
    return hello(pool.daemon.address, "")[0]


def memory_used(pool: Pool, device: int = 0) -> int:
    rows = pool.client.pages("/v1/devices", "devices")
    return next(int(r["memory_used_bytes"]) for r in rows if r["id"] == f"n1/{device}")


@pytest.mark.parametrize("kind", ["tcp", "unix", "keys"])
def test_a_free_device_serves_a_program_without_a_lease(
    kind: str, make: Callable[..., Pool], tmp_path: Path, native: paths.Native, outboard: Outboard
) -> None:
    pool = make(kind)
    variables = {k: v for k, v in pool.variables.items() if k == "OUTBOARD_KEY"}
    done = outboard(
        "run", "--server", pool.daemon.address, "--mode", "remote",
        "--report", f"json:{tmp_path}/report", "--", sys.executable, "-c", PRODUCT,
        environment=clean_environment(OUTBOARD_NATIVE_DIR=str(native.root), **variables),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    counted = report_of(tmp_path / "report")
    assert counted["remote"] == counted["calls"] > 0, done.stderr
    # For the manager, nothing has happened.
    assert pool.client.ask("GET", "/v1/leases")["leases"] == []
    assert pool.client.ask("GET", "/v1/usage", query={"by": "user"})["rows"] == []
    pool.daemon.wait_until_free(pool.client)


def test_a_lease_ends_the_session_and_computes_alone(
    make: Callable[..., Pool], tmp_path: Path, native: paths.Native
) -> None:
    pool = make()
    guest = worker(pool, native, tmp_path / "guest")
    guest.expect_remote()
    pool.hold("x")
    holder = pool.worker(native, tmp_path / "holder", "x")
    holder.expect_remote()
    guest.expect_local()
    mine = guest.counted("remote")
    assert code(pool) == BUSY
    guest.expect_local()
    holder.expect_remote()
    assert guest.counted("remote") == mine
    holder.finish()
    pool.holder.ask("DELETE", "/v1/leases/x")
    until(lambda: code(pool) == 0, "programs without a lease are served again")
    guest.expect_remote()  # it asks again by itself
    assert guest.finish() > mine
    until(lambda: memory_used(pool) == 0, "the memory is free")


def test_a_session_that_does_nothing_ends_with_the_grant(make: Callable[..., Pool]) -> None:
    """The manager's word alone ends it: nobody presents the token."""
    pool = make()
    with connect(pool.daemon.address, "") as peer:
        assert peer.recv(4096) != b""  # the welcome
        pool.hold("x", exclusive=False, share=250, memory_bytes=MEGABYTE)
        while peer.recv(4096) != b"":  # signs of life
            pass
    assert code(pool) == BUSY  # a shared lease, too, has the device


def metric(url: str, name: str) -> float:
    """Returns a metric of the daemon's device."""
    with urllib.request.urlopen(url, timeout=60) as response:
        found = re.search(rf"^{name}{{device=.0.}} (\S+)$", response.read().decode(), re.MULTILINE)
    assert found, name
    return float(found[1])


def test_the_result_of_a_command_that_runs_is_not_delivered(
    make: Callable[..., Pool], tmp_path: Path, native: paths.Native,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    slow = ("--backend", "null", "--device-rate", "0.2GF", "--metrics", "127.0.0.1:0")
    pool = make("tcp", *slow)
    log = capfd.readouterr().err
    found = re.search(r"metrics at (http\S+)", log)
    assert found, log
    turns = partial(metric, found[1], "outboard_daemon_turns")
    sessions = partial(metric, found[1], "outboard_daemon_unleased_sessions")
    program = subprocess.Popen(
        [sys.executable, "-c", LONG_PRODUCT],
        env=clean_environment(
            LD_PRELOAD=str(native.preload), OUTBOARD_SERVER=pool.daemon.address,
            OUTBOARD_MODE="remote", OUTBOARD_REPORT=f"dir:{tmp_path}",
        ),
    )  # fmt: skip
    until(lambda: turns() == 1, "its command runs")
    assert sessions() == 1
    token = pool.hold("x")["handles"][0]["token"]
    until(lambda: hello(pool.daemon.address, token)[0] == 0, "the holder is admitted")
    assert (turns(), sessions()) == (0, 0)  # and is alone
    assert program.wait(60) == 0
    processes, _ = counters.read_folder(tmp_path)
    (row,) = [row for one in processes for row in one.routines]
    assert (row.calls, row.remote, row.fell_back) == (1, 0, 1)
    assert "1 sessions without a lease cut off" in capfd.readouterr().err


def test_the_other_device_serves_on(
    make: Callable[..., Pool], tmp_path: Path, native: paths.Native
) -> None:
    pool = make("tcp", "--devices", "2")
    pool.daemon.wait_until_free(pool.client, 1)
    device = pool.hold("x")["handles"][0]["device"]
    assert code(pool) == 0
    guest = worker(pool, native, tmp_path / "guest")
    guest.expect_remote()
    pool.hold("y")
    until(lambda: code(pool) == BUSY, "the daemon has heard of the grant")
    guest.expect_local()
    pool.holder.ask("DELETE", "/v1/leases/x")
    until(lambda: code(pool) == 0, "the first device is free")
    pool.daemon.wait_until_free(pool.client, int(device[-1]))
    guest.finish()


def test_a_closed_device_serves_nobody_without_a_lease(
    make: Callable[..., Pool], tmp_path: Path, native: paths.Native
) -> None:
    pool = make()
    guest = worker(pool, native, tmp_path / "guest")
    for verb, body in (("cordon", None), ("drain", {"deadline_s": 1})):
        guest.expect_remote()
        pool.client.ask("POST", f"/v1/daemons/n1/{verb}", body)
        guest.expect_local()
        assert code(pool) == BUSY
        pool.client.ask("POST", "/v1/daemons/n1/uncordon")
        until(lambda: code(pool) == 0, "it is open again")
    guest.finish()


def test_without_the_manager(
    make: Callable[..., Pool], tmp_path: Path, native: paths.Native
) -> None:
    """What was free stays free, but a daemon that has not registered serves nobody."""
    pool = make()
    guest = worker(pool, native, tmp_path / "guest")
    guest.expect_remote()
    pool.manager.kill()
    guest.expect_remote()
    assert code(pool) == 0
    pool.daemon.stop()
    pool.daemon.start()
    assert code(pool) == UNAVAILABLE
    guest.expect_local()
    pool.manager.start()
    until(lambda: code(pool) == 0, "the daemon has registered")
    guest.finish()


def test_clients_that_know_no_leases_are_refused(make: Callable[..., Pool]) -> None:
    pool = make()
    assert hello(pool.daemon.address, "", version=LEASE_VERSION - 1)[0] == DENIED
    assert hello(pool.daemon.address, "x")[0] == DENIED  # a token that is not good is no lease


@pytest.mark.parametrize("words", [(), ("--without-lease", "refuse")])
def test_refusing_is_the_default(
    words: tuple[str, ...], tmp_path: Path, native: paths.Native
) -> None:
    pool = make_pool("tcp", tmp_path, native, *words)
    said = hello(pool.daemon.address, "")
    url = pool.manager.url
    assert said == (
        DENIED,
        f"this daemon serves leases of the pool at {url} (no token was given); "
        f"run with --pool {url}",
    )
    pool.stop()


def test_the_option_needs_a_pool(outboard: Outboard, native: paths.Native) -> None:
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root))
    words = ["--listen", "127.0.0.1:0", *IDLE]
    done = outboard("serve", *words, environment=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--without-lease" in done.stderr and "add --pool URL" in done.stderr
    bare = subprocess.run([native.daemon, *words], capture_output=True, text=True, timeout=60)
    assert (bare.returncode, bare.stdout) == (2, "")
    assert "--without-lease needs --pool" in bare.stderr
