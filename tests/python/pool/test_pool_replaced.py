"""A program under `outboard run` goes on with another device when its own one is gone."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from pool_daemon import Daemon, Worker, until
from pool_server import EVERYBODY, Manager

from conftest import command_line
from outboard import paths

pytestmark = pytest.mark.end_to_end


def test_a_program_moves_on_when_its_device_is_gone(tmp_path: Path, native: paths.Native) -> None:
    manager = Manager(tmp_path / "m", EVERYBODY)
    local = manager.local()
    daemons = {name: Daemon(native, name, "--pool", manager.url) for name in ("n1", "n2")}
    for daemon in daemons.values():
        daemon.wait_until_free(local)
    words = ["run", "--pool", manager.url, "--accelerators", "1", "--mode", "remote", "--"]
    worker = Worker(
        native, tmp_path / "w", wrap=command_line(*words), preloaded=False,
        OUTBOARD_NATIVE_DIR=str(native.root),
    )  # fmt: skip
    worker.expect_remote()

    def holds() -> list[str]:
        (lease,) = local.living_leases()
        return [device.partition("/")[0] for device in lease["devices"]]

    (first,) = holds()
    daemons[first].stop(signal.SIGKILL)
    began = time.monotonic()
    worker.expect_local()
    (other,) = set(daemons) - {first}
    until(lambda: holds() == [other], "it gets the other device", 120)
    worker.expect_remote()
    print(f"calls go out again after {time.monotonic() - began:.0f} s")
    assert worker.finish() > 0
    daemons[first].start()
    for daemon in daemons.values():
        daemon.wait_until_free(local)  # the lost one, too
        daemon.stop()
    assert manager.stop() == 0
