"""Devices that fail or compute wrongly: daemons report them, test them, and offer them again."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pool_daemon import until
from raw_session import RawSession
from test_pool_enforced import make_pool

from outboard import paths
from outboard.pool.client import PoolError

pytestmark = pytest.mark.end_to_end

# Broken devices are tested this often. With the default these tests would take minutes.
QUICK = ("--self-test-time", "0.3")
DEVICE_ERROR = 9
# All clients share one process here, so that errors are the device's own.
SHARED = ("--isolation", "none")


class Site:
    """A pool whose daemon writes its log to a file, and whose device fails when a test says so."""

    def __init__(self, folder: Path, native: paths.Native, options: tuple[str, ...]) -> None:
        self._log, self._fail = folder / "log", folder / "fail"
        options += ("--fail-calls", str(self._fail))
        self.pool = make_pool("tcp", folder, native, *options, log=self._log)

    def fail_once(self) -> None:
        self._fail.touch()

    def fail(self) -> None:
        self._fail.mkdir()

    def recover(self) -> None:
        self._fail.rmdir()

    def log(self) -> str:
        return self._log.read_text()

    def break_device(self, native: paths.Native, folder: Path) -> None:
        """Lets a program of a lease, which is named as its folder, meet errors of the device."""
        self.fail()
        self.pool.hold(folder.name)
        program = self.pool.worker(native, folder, folder.name)
        until(lambda: self.health() == "broken", "the device is broken")
        program.finish()

    def device(self, number: int = 0) -> Any:
        rows = self.pool.client.pages("/v1/devices", "devices")
        return next(row for row in rows if row["id"] == f"n1/{number}")

    def health(self, number: int = 0) -> str:
        return str(self.device(number)["health"])


@pytest.fixture
def make(tmp_path: Path, native: paths.Native) -> Iterator[Callable[..., Site]]:
    made: list[Site] = []

    def call(*options: str) -> Site:
        made.append(Site(tmp_path, native, options))
        return made[-1]

    yield call
    for site in made:
        site.pool.stop()


def test_an_error_breaks_no_device_that_passes_its_test(
    make: Callable[..., Site], tmp_path: Path, native: paths.Native
) -> None:
    site = make(*SHARED, *QUICK)
    site.fail_once()
    site.pool.hold("x")
    program = site.pool.worker(native, tmp_path / "x", "x")
    until(lambda: "self-test right" in site.log(), "the device is tested")
    assert "has failed: this call fails" in site.log()
    time.sleep(3)  # more than a heartbeat
    program.expect_remote()
    assert site.health() == "ok"
    assert program.finish() > 0  # no result was wrong


def test_a_device_that_fails_its_test_is_broken(
    make: Callable[..., Site], tmp_path: Path, native: paths.Native
) -> None:
    site = make(*SHARED, *QUICK, "--devices", "2")
    site.fail()
    lease = site.pool.hold("x")
    number = int(lease["handles"][0]["device"][-1])
    program = site.pool.worker(native, tmp_path / "x", "x")
    until(lambda: site.health(number) == "broken", "the device is broken")
    program.expect_local()  # its calls end there, with right results
    assert program.finish() > 0
    with pytest.raises(PoolError, match=r"is over \(broken\) acquire another"):
        site.pool.holder.ask("GET", "/v1/leases/x")
    # The other device serves on. Nobody gets the broken one.
    assert site.health(1 - number) == "ok"
    assert site.pool.hold("y")["handles"][0]["device"] == f"n1/{1 - number}"
    body = {"ttl_s": 60, "wait_s": 0}
    assert site.pool.holder.ask("PUT", "/v1/leases/z", body)["state"] == "queued"


def test_a_device_is_offered_again_after_three_tests(
    make: Callable[..., Site], tmp_path: Path, native: paths.Native
) -> None:
    site = make(*SHARED, *QUICK)
    site.break_device(native, tmp_path / "x")
    until(lambda: site.log().count("self-test: this call fails") >= 3, "tests go on")
    assert site.health() == "broken"
    site.recover()
    site.pool.daemon.wait_until_free(site.pool.client)
    assert site.log().count("self-test right") >= 3
    site.pool.hold("y")
    again = site.pool.worker(native, tmp_path / "y", "y")
    again.expect_remote()
    assert again.finish() > 0


def test_a_wrong_product_is_found(
    make: Callable[..., Site], tmp_path: Path, native: paths.Native
) -> None:
    """The device says nothing of its errors, but one made somebody suspect it."""
    site = make(*SHARED, *QUICK, "--corrupt", "1")
    site.fail_once()
    site.pool.hold("x")
    site.pool.worker(native, tmp_path / "x", "x")
    until(lambda: site.health() == "broken", "the device is broken")
    assert "self-test: a product of matrices is wrong" in site.log()


def test_a_daemon_that_starts_again_tests_a_broken_device(
    make: Callable[..., Site], tmp_path: Path, native: paths.Native
) -> None:
    site = make(*SHARED, *QUICK)
    site.break_device(native, tmp_path / "x")
    daemon = site.pool.daemon
    daemon.stop()
    site.recover()
    daemon.start()
    daemon.wait_until_free(site.pool.client)
    assert site.log().count("self-test right") >= 3


def test_an_administrator_clears_it(
    make: Callable[..., Site], tmp_path: Path, native: paths.Native
) -> None:
    """A device that is clear is not broken by what was before, and breaks if it fails again. The
    second break of a day stays."""
    site = make(*SHARED)
    client = site.pool.client
    for name in ("x", "y"):
        site.break_device(native, tmp_path / name)
        site.recover()
        if name == "x":
            client.ask("PATCH", "/v1/devices/n1%2F0", {"clear": True})
            site.pool.daemon.wait_until_free(client)
            time.sleep(3)  # more than a heartbeat, which tells of the errors of the last minute
            assert site.health() == "ok"
    assert "an administrator must clear it" in site.device()["why"]


def test_a_client_cannot_say_that_a_device_has_failed(make: Callable[..., Site]) -> None:
    """An error that came from outside is not the device's: here, of what a queue has waited for."""
    site = make(*SHARED)
    token = site.pool.hold("x")["handles"][0]["token"]
    for _ in range(4):
        with RawSession(site.pool.daemon.address, token) as session:
            session.hold(1)
            session.release(1, DEVICE_ERROR)
            assert session.synchronize() == DEVICE_ERROR
    time.sleep(3)  # more than a heartbeat
    assert site.health() == "ok"
    assert "has failed" not in site.log()


def executors(daemon: int) -> list[int]:
    """Returns the processes that compute for the clients of a daemon."""
    found = []
    for task in Path(f"/proc/{daemon}/task").iterdir():
        with contextlib.suppress(OSError):  # the thread has ended
            found += [int(one) for one in (task / "children").read_text().split()]
    return found


def test_no_client_can_break_a_device_for_others(
    make: Callable[..., Site], tmp_path: Path, native: paths.Native
) -> None:
    """Three sessions lose their processes, of which each has one of its own. The device is tested
    after the first one."""
    site = make("--isolation", "session")
    site.pool.hold("x")
    programs = [site.pool.worker(native, tmp_path / f"x{i}", "x") for i in range(3)]
    for program in programs:
        program.expect_remote()

    def strike() -> bool:
        """Ends the process of the call that runs. Returns whether three sessions have lost one."""
        struck = executors(site.pool.daemon.process.pid)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for one in struck:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, number)
            time.sleep(0.1)  # a program waits for its call now
        until(lambda: "self-test right" in site.log(), "the device is tested")
        return site.log().count("has failed: the executor of this client ended") >= 3

    until(strike, "three sessions lost a process")
    time.sleep(3)  # more than a heartbeat
    assert site.health() == "ok"
    for program in programs:
        assert program.finish() > 0  # no result was wrong
