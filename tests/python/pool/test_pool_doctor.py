"""`outboard doctor` on a pool: a real manager and a real daemon."""

from __future__ import annotations

from pathlib import Path

import pytest
from pool_daemon import Daemon
from pool_server import EVERYBODY, Manager, make_keys

from outboard import paths
from outboard.doctor import pool as doctor
from outboard.doctor.finding import Level
from outboard.version import version


def lines(url: str, key: Path | None = None) -> list[tuple[str, str]]:
    return [(str(one.level), f"{one.check}: {one.text}") for one in doctor.check(url, key)]


@pytest.mark.parametrize("with_keys", [False, True])
def test_a_pool_that_works(with_keys: bool, tmp_path: Path, native: paths.Native) -> None:
    made = make_keys(tmp_path / "keys") if with_keys else {}
    manager = Manager(tmp_path / "m", "" if made else EVERYBODY, made.get("m1"))
    options = ("--key", str(made["n1"])) if made else ()
    daemon = Daemon(native, "n1", "--pool", manager.url, *options)
    daemon.wait_until_free(manager.local())
    found = lines(manager.url, made.get("ada"))
    assert found == [
        ("ok", f"{manager.url}: the manager answers, version {version()}"),
        ("ok", "devices: 1 of 1 are free (cpu)"),
        ("ok", "a lease: n1/0 was given, and taken back"),
        ("ok", f"n1: answers at {daemon.address}"),
    ]
    daemon.wait_until_free(manager.local())
    body = {"ttl_s": 60, "wait_s": 20}
    assert manager.local().ask("PUT", "/v1/leases/x", body, wait_s=20)["state"] == "held"
    assert lines(manager.url, made.get("ada"))[1:] == [
        ("ok", "devices: 0 of 1 are free (cpu)"),
        ("note", "a lease: all devices are in use"),
    ]
    daemon.stop()
    assert manager.stop() == 0


def test_pools_that_do_not_work(tmp_path: Path) -> None:
    manager = Manager(tmp_path / "m", EVERYBODY)
    assert lines(manager.url)[1] == ("note", "devices: none can be used (of 0)")
    assert manager.stop() == 0
    for url, what in (
        (manager.url, "does not answer"),
        ("https://127.0.0.1:1", "needs a key"),
        ("ftp://pool", "is no address of a manager"),
    ):
        (one,) = doctor.check(url, None)
        assert one.level is Level.PROBLEM
        assert what in one.text
        assert one.advice
