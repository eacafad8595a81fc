"""Programs measure the links to their devices, and the manager grants near devices first."""

from __future__ import annotations

from pathlib import Path

import pytest
from pool_daemon import Worker, until
from pool_hosts import Hosts, Star, inside

from outboard import paths

pytestmark = [pytest.mark.end_to_end, pytest.mark.needs("ip", "tc", "nft", root=True)]


def node_of_program(hosts: Hosts, turn: int) -> str:
    """Runs a program on the client's host that takes a device by itself. Returns the device's
    daemon."""
    worker = Worker(
        hosts.native, hosts.folder / f"w{turn}", wrap=inside(hosts.star.client, []),
        OUTBOARD_POOL=hosts.url, OUTBOARD_POOL_GFLOPS="0",
    )  # fmt: skip
    worker.expect_remote()
    rows = hosts.client.pages("/v1/devices", "devices")
    (device,) = [row for row in rows if row["leases"]]
    worker.finish()
    until(lambda: not hosts.client.living_leases(), "the lease is over")
    return str(device["daemon"])


def test_programs_get_the_device_with_the_quicker_link(
    tmp_path: Path, native: paths.Native
) -> None:
    with Star(1500, Hosts.HOSTS) as star:
        hosts = Hosts(tmp_path, native, star)
        hosts.slow_down("D")
        # The first two programs measure a link each.
        assert {node_of_program(hosts, turn) for turn in range(2)} == {"n1", "n2"}
        assert [node_of_program(hosts, turn) for turn in (2, 3)] == ["n2", "n2"]
        hosts.stop()
