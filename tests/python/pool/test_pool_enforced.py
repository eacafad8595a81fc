"""Daemons that enforce leases: real managers, daemons and programs on this machine."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pool_daemon import DENIED, FENCED, UNAVAILABLE, Daemon, Worker, connect, hello, until
from pool_server import EVERYBODY, Manager, make_keys

from conftest import Outboard, clean_environment
from outboard import counters, paths
from outboard.pool.client import PoolClient

pytestmark = pytest.mark.end_to_end

# Exact in any order of sums; the oracle is numpy's product of integers, which calls no library.
PRODUCT = """
import numpy as np
whole = np.arange(100 * 100).reshape(100, 100) % 17
a = whole.astype(float)
c = a @ a.T
assert (c == whole @ whole.T).all(), "a wrong product"
"""


class Pool(NamedTuple):
    manager: Manager
    daemon: Daemon
    client: PoolClient  # an administrator, over the manager's Unix socket
    holder: PoolClient  # who holds leases
    variables: dict[str, str]  # of programs of the holder

    def hold(self, name: str, **wish: Any) -> Any:
        """Returns the lease, once its device is granted."""
        body = {"ttl_s": 60, "wait_s": 20, **wish}
        lease = self.holder.ask("PUT", f"/v1/leases/{name}", body, wait_s=20)
        assert lease["state"] == "held", lease
        return lease

    def worker(self, native: paths.Native, folder: Path, lease: str) -> Worker:
        return Worker(native, folder, OUTBOARD_LEASE=lease, **self.variables)

    def stop(self) -> None:
        self.daemon.stop()
        assert self.manager.stop() == 0


def make_pool(
    kind: str, folder: Path, native: paths.Native, *options: str, log: Path | None = None
) -> Pool:
    """`kind`: the ways from the program to the daemon and from both to the manager: tcp; unix;
    mixed, a Unix socket and TCP; keys, TCP with TLS."""
    if kind == "keys":
        made = make_keys(folder / "keys")
        manager = Manager(folder / "m", "", made["m1"])
        key = made["n1"]
        daemon = Daemon(native, "n1", "--pool", manager.url, "--key", str(key), *options, log=log)
        holder = manager.client(made["ada"])
        variables = {"OUTBOARD_POOL": manager.url, "OUTBOARD_KEY": str(made["ada"])}
    else:
        manager = Manager(folder / "m", EVERYBODY)
        url = f"unix:{folder}/m/s" if kind == "unix" else manager.url
        listen = f"unix:{folder}/d" if kind in ("unix", "mixed") else ""
        daemon = Daemon(native, "n1", "--pool", url, *options, listen=listen, log=log)
        holder = PoolClient(url)
        variables = {"OUTBOARD_POOL": url}
    pool = Pool(manager, daemon, manager.local(), holder, variables)
    daemon.wait_until_free(pool.client)
    return pool


@pytest.fixture
def pool(tmp_path: Path, native: paths.Native) -> Iterator[Pool]:
    made = make_pool("tcp", tmp_path, native)
    yield made
    made.stop()


def report_of(file: Path) -> dict[str, int]:
    import json

    routines = json.loads(file.read_text())["routines"]
    return {name: sum(r[name] for r in routines) for name in ("calls", "remote")}


@pytest.mark.parametrize("kind", ["tcp", "unix", "mixed", "keys"])
def test_only_a_lease_computes_on_the_daemon(
    kind: str, tmp_path: Path, native: paths.Native, outboard: Outboard
) -> None:
    pool = make_pool(kind, tmp_path, native)
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root), **pool.variables)
    program = ["--mode", "remote", "--report", f"json:{tmp_path}/report", "--"]
    program += [sys.executable, "-c", PRODUCT]
    done = outboard("run", "--accelerators", "1", *program, environment=environment)
    assert done.returncode == 0, done.stderr
    counted = report_of(tmp_path / "report")
    assert counted["remote"] == counted["calls"] > 0, done.stderr
    # The same program, which names the daemon, has no lease.
    done = outboard("run", "--server", pool.daemon.address, *program, environment=environment)
    assert done.returncode == 0, done.stderr
    assert report_of(tmp_path / "report")["remote"] == 0
    url = pool.variables["OUTBOARD_POOL"]
    assert f"this daemon serves leases of the pool at {url}" in done.stderr
    pool.daemon.wait_until_free(pool.client)
    pool.stop()


def test_a_shared_lease_without_memory_computes_on_the_daemon(
    pool: Pool, tmp_path: Path, native: paths.Native, outboard: Outboard
) -> None:
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root), **pool.variables)
    program = ["--mode", "remote", "--report", f"json:{tmp_path}/report", "--"]
    program += [sys.executable, "-c", PRODUCT]
    words = ["run", "--accelerators", "1", "--shared", "0.25", *program]
    done = outboard(*words, environment=environment)
    assert done.returncode == 0, done.stderr
    counted = report_of(tmp_path / "report")
    assert counted["remote"] == counted["calls"] > 0, done.stderr
    pool.daemon.wait_until_free(pool.client)


def test_forked_children_use_the_lease_of_their_parent(
    pool: Pool, tmp_path: Path, native: paths.Native, outboard: Outboard
) -> None:
    children = """
import os, sys
found = [os.fork() for _ in range(2)]
if 0 not in found:
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in found))
"""
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root), **pool.variables)
    program = ["--mode", "remote", "--report", f"json:{tmp_path}/report", "--"]
    program += [sys.executable, "-c", PRODUCT + children + PRODUCT]
    done = outboard("run", "--accelerators", "1", *program, environment=environment)
    assert done.returncode == 0, done.stderr
    counted = report_of(tmp_path / "report")
    assert counted["remote"] == counted["calls"] >= 4, done.stderr


@pytest.mark.needs("mpirun", package="openmpi-bin")
def test_ranks_share_a_lease(
    pool: Pool, tmp_path: Path, native: paths.Native, outboard: Outboard
) -> None:
    """Three ranks, two devices: each rank uses one, and both are used."""
    second = Daemon(native, "n2", "--pool", pool.manager.url)
    second.wait_until_free(pool.client)
    environment = clean_environment(
        OUTBOARD_NATIVE_DIR=str(native.root), OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OUTBOARD_REPORT=f"dir:{tmp_path}", **pool.variables,
    )  # fmt: skip
    done = outboard(
        "run", "--accelerators", "2", "--mode", "remote", "--",
        "mpirun", "-n", "3", "--oversubscribe", sys.executable, "-c", PRODUCT,
        environment=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    processes = [one for one in counters.read_folder(tmp_path)[0] if one.routines]
    calls = [sum(int(row.remote) for row in one.routines) for one in processes]
    assert len(calls) == 3 and min(calls) > 0
    servers = sorted(one.server for one in processes)
    assert set(servers) == {pool.daemon.address, second.address}
    second.stop()


PRINT_OUTER_DEVICE = """
import json, os
with open(os.environ["OUTBOARD_LEASE_ANSWER"]) as file:
    print(json.load(file)["handles"][0]["addresses"][0])
"""


def test_a_command_in_a_command_has_its_own_lease(
    pool: Pool, tmp_path: Path, native: paths.Native, outboard: Outboard
) -> None:
    second = Daemon(native, "n2", "--pool", pool.manager.url)
    second.wait_until_free(pool.client)
    short = [str(native.root / "bin" / "outboard-run"), "run", "--accelerators", "1"]
    whole = [sys.executable, "-m", "outboard", "run", "--accelerators", "1..2", "--mode", "remote"]
    environment = clean_environment(
        OUTBOARD_REPORT=f"dir:{tmp_path}", OUTBOARD_NATIVE_DIR=str(native.root), **pool.variables
    )
    done = subprocess.run(
        [*short, "--", *whole, "--", sys.executable, "-c", PRODUCT + PRINT_OUTER_DEVICE],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    processes = [one for one in counters.read_folder(tmp_path)[0] if one.routines]
    assert sum(int(row.remote) for one in processes for row in one.routines) > 0, done.stderr
    assert {one.server for one in processes} == {pool.daemon.address, second.address} - {
        done.stdout.strip()
    }
    second.stop()


def test_two_exclusive_holders_never_overlap(
    pool: Pool, tmp_path: Path, native: paths.Native
) -> None:
    pool.hold("first")
    first = pool.worker(native, tmp_path / "first", "first")
    first.expect_remote()
    body = {"ttl_s": 60}
    assert pool.holder.ask("PUT", "/v1/leases/second", body)["state"] == "queued"
    second = pool.worker(native, tmp_path / "second", "second")
    second.expect_local()
    assert second.counted("remote") == 0
    first.expect_remote()  # still alone
    pool.holder.ask("DELETE", "/v1/leases/first")
    until(lambda: pool.holder.ask("GET", "/v1/leases/second")["state"] == "held", "the second")
    first.expect_local()
    mine = first.counted("remote")
    second.expect_remote()
    assert first.counted("remote") == mine
    first.finish()
    second.finish()


@pytest.mark.parametrize("how", ["release", "revoke", "expiry", "drain"])
def test_the_end_of_a_lease_ends_its_session(
    how: str, pool: Pool, tmp_path: Path, native: paths.Native
) -> None:
    pool.hold("x", **({"ttl_s": 20, "max_hold_s": 16} if how == "expiry" else {}))
    worker = pool.worker(native, tmp_path / "w", "x")
    worker.expect_remote()
    if how == "release":
        pool.holder.ask("DELETE", "/v1/leases/x")
    elif how == "revoke":
        pool.client.ask("DELETE", "/v1/leases/x")
    elif how == "drain":
        pool.client.ask("POST", "/v1/daemons/n1/drain", {"deadline_s": 1})
    pool.daemon.wait_until_free(pool.client)  # the daemon has no session any more
    worker.expect_local()
    calls = worker.counted("remote")
    worker.expect_local()
    assert worker.counted("remote") == calls
    assert worker.finish() > calls
    if how != "drain":
        pool.hold("next")


def test_an_idle_session_ends_with_its_lease(pool: Pool) -> None:
    token = pool.hold("x")["handles"][0]["token"]
    with connect(pool.daemon.address, token) as peer:
        assert peer.recv(4096) != b""  # the welcome
        pool.holder.ask("DELETE", "/v1/leases/x")
        while peer.recv(4096) != b"":  # signs of life
            pass
    pool.daemon.wait_until_free(pool.client)


def test_work_goes_on_without_the_manager(tmp_path: Path, native: paths.Native) -> None:
    pool = make_pool("tcp", tmp_path, native, "--manager-grace", "60")
    lease = pool.hold("x", ttl_s=10)
    worker = pool.worker(native, tmp_path / "w", "x")
    worker.expect_remote()
    pool.manager.kill()
    time.sleep(max(0.0, (lease["end_ms"] - lease["now_ms"]) / 1000 + 2))  # its time is over
    worker.expect_remote()
    # Its session ends; the same token opens another one, within the grace.
    token = lease["handles"][0]["token"]
    assert hello(pool.daemon.address, token) == (0, "")
    pool.manager.start()
    worker.expect_remote()
    until(lambda: pool.client.ask("GET", "/v1/devices/n1%2F0")["health"] == "ok", "it beats again")
    worker.expect_remote()
    worker.finish()
    pool.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restarted_daemon_takes_the_same_token(
    number: signal.Signals, pool: Pool, tmp_path: Path, native: paths.Native
) -> None:
    lease = pool.hold("x")
    worker = pool.worker(native, tmp_path / "w", "x")
    worker.expect_remote()
    pool.daemon.stop(number)
    worker.expect_local()
    pool.daemon.start()
    token = lease["handles"][0]["token"]
    until(lambda: hello(pool.daemon.address, token)[0] == 0, "the same token opens a session")
    worker.expect_remote()
    worker.finish()


def test_tokens_that_are_not_good(pool: Pool, tmp_path: Path, native: paths.Native) -> None:
    address = pool.daemon.address
    lease = pool.hold("x")
    token = lease["handles"][0]["token"]
    assert hello(address, token) == (0, "")
    other = make_pool("tcp", tmp_path / "other", native)
    foreign = other.hold("x")["handles"][0]["token"]
    header, claims, signature = token.split(".")
    wrong = {
        "": DENIED,
        "x": DENIED,
        f"{header}.{claims}.": DENIED,
        f"{header}.{claims}.{foreign.split('.')[2]}": DENIED,
        f"{header}.{foreign.split('.')[1]}.{signature}": DENIED,
        foreign: DENIED,
        token[:-8] + "AAAAAAAA": DENIED,
        "x" * 1024: DENIED,
        "\0" * 8: DENIED,
    }
    for said, code in wrong.items():
        assert hello(address, said)[0] == code, said[:60]
    assert hello(address, token, version=7)[0] == DENIED  # cannot know what `fenced` means
    second = Daemon(native, "n2", "--pool", pool.manager.url)
    second.wait_until_free(pool.client)
    assert hello(second.address, token)[0] == DENIED  # is for the other daemon
    pool.holder.ask("DELETE", "/v1/leases/x")
    code, why = until(lambda: (got := hello(address, token))[0] and got, "it is no good any more")
    assert code == FENCED, why
    pool.daemon.wait_until_free(pool.client)
    fresh = pool.hold("y")["handles"][0]["token"]
    assert hello(address, token)[0] == FENCED
    assert hello(address, fresh) == (0, "")
    pool.holder.ask("DELETE", "/v1/leases/y")
    second.stop()
    other.stop()
    # A daemon that starts again knows nothing of them, and learns the floor before it serves.
    pool.daemon.stop()
    pool.daemon.start()
    for late in (token, fresh):
        until(lambda t=late: hello(address, t)[0] == FENCED, "it is no good any more")


def test_an_unregistered_daemon_serves_nobody(tmp_path: Path, native: paths.Native) -> None:
    daemon = Daemon(native, "n1", "--pool", "http://127.0.0.1:1")
    assert hello(daemon.address, "")[0] == DENIED
    assert hello(daemon.address, "x")[0] == UNAVAILABLE
    assert daemon.stop() == 0


@pytest.mark.parametrize("words", [
    ("--pool", "pool:7780"), ("--pool", "http://pool:7780"), ("--pool", "https://127.0.0.1:1"),
    ("--pool", "http://127.0.0.1:1", "--label", "x"),
])  # fmt: skip
def test_wrong_options(words: tuple[str, ...], outboard: Outboard, native: paths.Native) -> None:
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root))
    done = outboard("serve", "--listen", "127.0.0.1:0", *words, environment=environment)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) <= 2
