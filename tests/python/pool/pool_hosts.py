"""A pool of four hosts: network namespaces with a manager, two nodes of two devices each, and a
client. Packets between them can be dropped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pool_daemon import Daemon
from pool_server import EVERYBODY, Manager

from conftest import ROOT
from outboard import paths
from outboard.pool.client import PoolClient

sys.path.append(str(ROOT / "bench"))
from outboard_bench.netns import Star, inside

# The marks of tests with these hosts.
MARKS = [
    pytest.mark.end_to_end,
    pytest.mark.slow,
    pytest.mark.needs("ip", "nft", root=True),
]


class Hosts:
    """M: the manager, D: the node n1, C: the client; n2 is always there. Manager and daemons write
    logs for the history checker."""

    def __init__(
        self, folder: Path, native: paths.Native, star: Star, *daemon_options: str
    ) -> None:
        self.folder, self.native, self.star = folder, native, star
        host, *nodes = star.hosts
        self.names = {"M": host, "D": nodes[0], "C": star.client}
        self.history = folder / "manager.jsonl"
        self.manager = Manager(
            folder / "m", EVERYBODY, None, "--history", str(self.history),
            host=star.address(host), wrap=inside(host, []),
        )  # fmt: skip
        self.client: PoolClient = self.manager.local()
        self.daemons = [
            Daemon(
                native, f"n{i}", "--pool", self.manager.url, "--devices", "2", *daemon_options,
                listen=f"{star.address(node)}:0", wrap=inside(node, []), log=folder / f"n{i}.log",
            )
            for i, node in enumerate(nodes, 1)
        ]  # fmt: skip
        self.wait_until_healthy()

    def cut(self, pairs: str, one_way: bool = False) -> None:
        """Drops packets between the hosts of "M-D C-D"; "" heals all. One way: only those from the
        first one of each pair."""
        lines: dict[str, list[str]] = {letter: [] for letter in self.names}
        for pair in pairs.split():
            first, second = pair.split("-")
            lines[second].append(f"ip saddr {self.star.address(self.names[first])} drop")
            if not one_way:
                lines[first].append(f"ip saddr {self.star.address(self.names[second])} drop")
        for letter, rules in lines.items():
            chain = "\n".join(("type filter hook input priority 0", *rules))
            text = (
                f"table ip cut\ndelete table ip cut\ntable ip cut {{\nchain in {{\n{chain}\n}}\n}}"
            )
            words = inside(self.names[letter], ["nft", "-f", "-"])
            subprocess.run(words, input=text, text=True, check=True)

    def lease(self, name: str) -> Any:
        rows = self.client.pages("/v1/leases", "leases", query={"over": "1"})
        return next(row for row in rows if row["id"] == name)

    def wait_until_healthy(self) -> None:
        """Waits until each device is free, and nothing is left over."""
        for daemon in self.daemons:
            for device in range(2):
                daemon.wait_until_free(self.client, device)

    def stop(self) -> None:
        self.wait_until_healthy()
        for daemon in self.daemons:
            assert daemon.stop() == 0
        assert self.manager.stop() == 0
