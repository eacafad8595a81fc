"""Cuts and deaths in a pool of four hosts. docs/pool.md tells what must happen."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pool_daemon import PATIENCE_S, Worker, until
from pool_hosts import MARKS, Hosts, Star, inside

from conftest import clean_environment
from outboard import paths

pytestmark = MARKS

TTL_S = 10.0
# Long enough for leases of the holders that are cut off, and for daemons to count as lost.
CUT_S = 15.0

# Holds a lease, and renews it until its input ends; then it gives it back.
HOLDER = """
import select, sys
from outboard.errors import OutboardError
from outboard.pool.client import PoolClient
url, lease, ttl_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
pool = PoolClient(url)
body = {"ttl_s": ttl_s, "wait_s": 20, "count": int(sys.argv[4])}
print(pool.ask("PUT", f"/v1/leases/{lease}", body, wait_s=20)["state"], flush=True)
while not select.select([sys.stdin], [], [], ttl_s / 3)[0]:
    try:
        pool.ask("POST", "/v1/renew", {"ids": [lease]})
    except OutboardError:
        pass
pool.ask("DELETE", f"/v1/leases/{lease}")
"""


ASKER = """
import json, sys
from outboard.pool.client import PoolClient
print(json.dumps(PoolClient(sys.argv[1]).ask(*json.loads(sys.argv[2]))))
"""


class Site(Hosts):
    """Also has holders, on the client's host."""

    def __init__(self, folder: Path, native: paths.Native, star: Star) -> None:
        super().__init__(folder, native, star)
        self.holders: dict[str, subprocess.Popen[str]] = {}

    def hold(self, lease: str, count: int = 1) -> None:
        """Takes a lease from the client's host, and renews it there."""
        words = [sys.executable, "-c", HOLDER, self.url, lease, str(TTL_S), str(count)]
        self.holders[lease] = subprocess.Popen(
            inside(self.star.client, words), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=clean_environment(),
        )  # fmt: skip
        stdout = self.holders[lease].stdout
        assert stdout is not None
        assert stdout.readline() == "held\n"

    def ask(self, *question: Any) -> Any:
        """Asks the manager from the client's host."""
        words = [sys.executable, "-c", ASKER, self.url, json.dumps(question)]
        done = subprocess.run(
            inside(self.star.client, words), capture_output=True, text=True, check=True,
            env=clean_environment(),
        )  # fmt: skip
        return json.loads(done.stdout)

    def worker(self, lease: str) -> Worker:
        return Worker(
            self.native, self.folder / lease, wrap=inside(self.star.client, []),
            OUTBOARD_LEASE=lease, OUTBOARD_POOL=self.url,
        )  # fmt: skip

    def end(self, lease: str) -> None:
        self.holders.pop(lease).communicate(timeout=PATIENCE_S)

    def device_of(self, name: str) -> str:
        (device,) = self.lease(name)["devices"]
        return str(device)

    def stop(self) -> None:
        for lease in list(self.holders):
            self.end(lease)
        super().stop()


@pytest.fixture
def site(tmp_path: Path, native: paths.Native) -> Iterator[Site]:
    with Star(1500, 3) as star:
        made = Site(tmp_path, native, star)
        yield made
        made.cut("")
        made.stop()


def hold_on_n1(site: Site) -> Worker:
    """Returns a program that computes on a device of n1 with the lease "x"."""
    # Whoever takes all of n2 leaves n1.
    site.client.ask("POST", "/v1/daemons/n2/cordon")
    site.hold("x")
    site.client.ask("POST", "/v1/daemons/n2/uncordon")
    assert site.device_of("x").startswith("n1/")
    worker = site.worker("x")
    worker.expect_remote()
    return worker


def test_a_second_holder_waits_for_the_first_one(site: Site) -> None:
    site.hold("x", count=4)  # all devices
    wish = ("PUT", "/v1/leases/y", {"ttl_s": 60, "count": 2})
    asked = site.ask(*wish)
    assert (asked["state"], asked["handles"]) == ("queued", [])
    worker = site.worker("y")
    for _ in range(3):
        worker.expect_local()
    assert worker.counted("remote") == 0
    site.end("x")
    worker.expect_remote(2 * PATIENCE_S)  # it asks again after pauses
    assert len(site.lease("y")["devices"]) == 2
    worker.finish()
    site.ask("DELETE", "/v1/leases/y")


# While these are cut, the program computes on its device as if nothing were.
@pytest.mark.parametrize("one_way", [False, True])
@pytest.mark.parametrize("pairs", ["M-D", "D-M", "M-C", "C-M"])
def test_cuts_that_end_no_work(pairs: str, one_way: bool, site: Site) -> None:
    worker = hold_on_n1(site)
    site.cut(pairs, one_way)
    end = time.monotonic() + CUT_S
    while time.monotonic() < end:
        worker.expect_remote()
    assert worker.counted("fell_back") == 0
    site.cut("")
    worker.expect_remote()
    assert site.lease("x")["state"] == "held"
    worker.finish()


def test_a_manager_that_is_alone_ends_leases(site: Site) -> None:
    """The daemon serves on; the manager, which hears nobody, cannot know that."""
    worker = hold_on_n1(site)
    site.cut("M-C M-D")
    end = time.monotonic() + CUT_S
    while time.monotonic() < end:
        worker.expect_remote()
    site.cut("")
    worker.expect_local()
    site.wait_until_healthy()
    assert site.lease("x")["state"] == "over"
    worker.finish()


@pytest.mark.parametrize("pairs", ["C-D", "M-D C-D"])
def test_a_daemon_that_is_cut_off_comes_back(pairs: str, site: Site) -> None:
    worker = hold_on_n1(site)
    site.cut(pairs)
    worker.expect_local()
    end = time.monotonic() + CUT_S
    while time.monotonic() < end:
        worker.expect_local()
    site.cut("")
    worker.expect_remote()
    worker.finish()


@pytest.mark.parametrize("pairs", ["M-C C-D", "M-C C-D M-D"])
def test_a_client_that_is_cut_off_loses_its_lease(pairs: str, site: Site) -> None:
    worker = hold_on_n1(site)
    site.cut(pairs)
    worker.expect_local()
    until(lambda: site.lease("x")["state"] in ("ending", "over"), "its lease is over", 40)
    site.cut("")
    site.wait_until_healthy()
    site.hold("y", count=4)  # all devices
    remote = worker.counted("remote")
    for _ in range(5):
        worker.expect_local()
    assert worker.counted("remote") == remote  # it computes on no device of others
    site.end("y")
    worker.finish()


def test_deaths(site: Site) -> None:
    """Each of the three is killed and started again, or stopped for a while, under load."""
    worker = hold_on_n1(site)
    site.leader().kill()
    worker.expect_remote()
    site.leader().start()
    worker.expect_remote()
    site.leader().process.send_signal(signal.SIGSTOP)
    end = time.monotonic() + CUT_S
    while time.monotonic() < end:
        worker.expect_remote()
    site.leader().process.send_signal(signal.SIGCONT)
    worker.expect_remote()
    daemon = site.daemons[0]
    daemon.stop(signal.SIGKILL)
    worker.expect_local()
    daemon.start()
    worker.expect_remote()
    daemon.process.send_signal(signal.SIGSTOP)
    worker.expect_local()
    time.sleep(CUT_S)
    daemon.process.send_signal(signal.SIGCONT)
    worker.expect_remote()
    assert site.lease("x")["state"] == "held"
    # A holder that stands still: the lease ends, and its device goes to others.
    holder = site.holders["x"]
    for process in (worker.process, holder):
        process.send_signal(signal.SIGSTOP)
    until(lambda: site.lease("x")["state"] == "over", "its lease is over", 60)
    site.hold("y", count=4)
    remote = worker.counted("remote")
    for process in (worker.process, holder):
        process.send_signal(signal.SIGCONT)
    worker.expect_local()
    assert worker.counted("remote") <= remote + 1  # one may have been under way
    site.end("y")
    worker.finish()
