"""Clocks that are wrong by an hour, or by a day since the start of the machine, change nothing.
Each process takes durations from its own clock, and the time of the pool from the manager.
"""

from __future__ import annotations

import os
import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pool_daemon import FENCED, Daemon, Worker, hello, until
from pool_server import EVERYBODY, Manager

from outboard import paths

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
pytestmark = [pytest.mark.end_to_end, pytest.mark.needs("faketime", "unshare", root=True)]

TTL_S = 3.0
CLOCKS = ["+1h", "-1h", "boot"]
WHO = ["manager", "daemon", "program"]
QUICK = {("manager", "+1h"), ("daemon", "boot"), ("program", "-1h")}


def variables_of(clock: str) -> dict[str, str]:
    """Returns what gives a process another time of day."""
    facts = {"FAKETIME": clock, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    return {} if clock == "boot" else {"LD_PRELOAD": str(FAKETIME), **facts}


def words_of(clock: str) -> list[str]:
    """Returns the words before a command whose clocks are to be wrong."""
    if clock == "boot":
        day = str(24 * 3600)
        return ["unshare", "--time", "--monotonic", day, "--boottime", day]
    return ["env", *(f"{name}={value}" for name, value in variables_of(clock).items())]


def expect_wrong(clock: str, pid: int) -> None:
    """A test with right clocks would prove nothing."""
    if clock == "boot":
        if os.stat(f"/proc/{pid}/ns/time").st_ino == os.stat("/proc/self/ns/time").st_ino:
            pytest.skip("this kernel gives a new time namespace to children only")
    else:
        assert "libfaketime" in Path(f"/proc/{pid}/maps").read_text()


CASES = [
    pytest.param(who, clock, marks=() if (who, clock) in QUICK else (pytest.mark.slow,))
    for who, clock in product(WHO, CLOCKS)
]


@pytest.mark.parametrize(("who", "clock"), CASES)
def test_a_wrong_clock_changes_nothing(
    who: str, clock: str, tmp_path: Path, native: paths.Native
) -> None:
    wrong: dict[str, Any] = {"wrap": words_of(clock)}
    right: dict[str, Any] = {}
    manager = Manager(tmp_path / "m", EVERYBODY, None, **(wrong if who == "manager" else right))
    daemon = Daemon(native, "n1", "--pool", manager.url, **(wrong if who == "daemon" else right))
    client = manager.client()
    daemon.wait_until_free(client)
    lease = client.ask("PUT", "/v1/leases/x", {"ttl_s": TTL_S, "wait_s": 20}, wait_s=20)
    variables = {"OUTBOARD_LEASE": "x", "OUTBOARD_POOL": manager.url, "OUTBOARD_MODE": "remote"}
    preload = str(native.preload)
    if who == "program":
        variables |= variables_of(clock)
        preload += f":{FAKETIME}" if "LD_PRELOAD" in variables else ""
        wrong["wrap"] = words_of(clock) if clock == "boot" else []
    worker = Worker(
        native, tmp_path / "w", preloaded=False, **(wrong if who == "program" else right),
        **{**variables, "LD_PRELOAD": preload},
    )  # fmt: skip
    expect_wrong(
        clock,
        {"manager": manager.process, "daemon": daemon.process, "program": worker.process}[who].pid,
    )
    worker.expect_remote()
    # Its commands renew the lease, which would be over otherwise.
    end = time.monotonic() + 3 * TTL_S
    while time.monotonic() < end:
        worker.expect_remote()
    assert worker.counted("fell_back") == 0
    assert client.ask("GET", "/v1/leases/x")["state"] == "held"
    assert worker.finish() > 0
    until(lambda: manager.local().living_leases() == [], "the lease is over")
    token = lease["handles"][0]["token"]
    until(lambda: hello(daemon.address, token)[0] == FENCED, "its token is worth nothing")
    daemon.wait_until_free(client)
    assert daemon.stop() == 0
    assert manager.stop() == 0
