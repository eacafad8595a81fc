"""A pool of several hosts: network namespaces with managers, two nodes of two devices each, and a
client. Packets between them can be dropped."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from etcd_cluster import EtcdCluster, Place
from pool_daemon import PATIENCE_S, Daemon, until
from pool_server import EVERYBODY, Manager

from conftest import ROOT
from outboard import paths
from outboard.pool.client import PoolClient, UnreachableError
from outboard.pool.serve.server import PLACE_LOST

sys.path.append(str(ROOT / "bench"))
from outboard_bench.netns import DEVICE, Star, inside

# The marks of tests with these hosts.
MARKS = [
    pytest.mark.end_to_end,
    pytest.mark.slow,
    pytest.mark.needs("ip", "nft", root=True),
]


LEASE_S = 120  # of `outboard run`


class Hosts:
    """M: the manager, D: a node, C: the client; the other node is always there. Managers and
    daemons write logs for the history checker."""

    HOSTS = 3  # beside the client's
    ENDS = (0,)  # statuses of managers that were told to stop

    def __init__(
        self, folder: Path, native: paths.Native, star: Star, *daemon_options: str
    ) -> None:
        self.folder, self.native, self.star = folder, native, star
        self._starting = threading.Lock()  # one at a time starts managers again
        *hosts, first, second = star.hosts
        self.names = {"M": hosts[0], "D": first, "C": star.client}
        self.managers = self._start_managers(hosts)
        self.histories = [manager.folder / "history.jsonl" for manager in self.managers]
        self.url = ",".join(manager.url for manager in self.managers)
        sockets = [f"unix:{manager.folder}/s" for manager in self.managers]
        self.client = PoolClient(",".join(sockets))
        self.daemons = [
            Daemon(
                native, f"n{i}", "--pool", self.url, "--devices", "2", *daemon_options,
                listen=f"{star.address(node)}:0", wrap=inside(node, []), log=folder / f"n{i}.log",
            )
            for i, node in enumerate((first, second), 1)
        ]  # fmt: skip
        self._nodes = dict(zip(("n1", "n2"), (first, second), strict=True))
        self.wait_until_healthy()

    def aim(self, daemon: str) -> None:
        """Gives the node of this daemon the letter D. Its daemon is the first one then."""
        self.daemons.sort(key=lambda one: one.name != daemon)
        self.names["D"] = self._nodes[daemon]

    def _start_managers(self, hosts: list[str]) -> list[Manager]:
        return [self._start_manager("m", hosts[0])]

    def _start_manager(self, name: str, host: str, *options: str) -> Manager:
        folder = self.folder / name
        return Manager(
            folder, EVERYBODY, None, "--history", str(folder / "history.jsonl"), *options,
            host=self.star.address(host), wrap=inside(host, []),
        )  # fmt: skip

    def leader(self) -> Manager:
        """Returns the manager that leads."""
        return self.managers[0]

    def kill(self, manager: Manager) -> None:
        """Kills a manager, and starts it again."""
        with self._starting:
            manager.kill()
            manager.start()

    def restart(self, manager: Manager) -> None:
        with self._starting:
            assert manager.stop() in self.ENDS
            manager.start()

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

    def slow_down(self, letter: str) -> None:
        """Lets a host send 100 Mbit/s only."""
        words = ["tc", "-n", self.names[letter], "qdisc", "replace", "dev", DEVICE, "root", "tbf"]
        subprocess.run([*words, *"rate 100mbit burst 64k latency 50ms".split()], check=True)

    def lease(self, name: str) -> Any:
        rows = self.client.pages("/v1/leases", "leases", query={"over": "1"})
        return next(row for row in rows if row["id"] == name)

    def wait_until_healthy(self) -> None:
        """Waits until each device is free, and nothing is left over. The lease of an `outboard run`
        that could not give it back ends after its time."""
        for daemon in self.daemons:
            for device in range(2):
                daemon.wait_until_free(self.client, device, LEASE_S + PATIENCE_S)

    def stop(self) -> None:
        self.wait_until_healthy()
        for daemon in self.daemons:
            assert daemon.stop() == 0
        for manager in self.managers:
            assert manager.stop() == 0


class ReplicatedHosts(Hosts):
    """Two managers and three members of etcd. M: the host of the manager that leads and of a
    member; S: that of the other manager, and of a member; E: that of the third member.

    Managers that have lost their place start again, as systemd would do it."""

    HOSTS = 5
    ENDS = (0, PLACE_LOST)  # it may have lost its place a moment before

    def _start_managers(self, hosts: list[str]) -> list[Manager]:
        places = [Place(self.star.address(host), tuple(inside(host, []))) for host in hosts]
        self.etcd = EtcdCluster(self.folder / "etcd", 3, places=places)
        state = ("--state", self.etcd.address("pool"))
        made = []
        for name, host in zip(("m1", "m2"), hosts, strict=False):
            keys = ("--signing-keys", str(self.folder / name / "keys"))
            made.append(self._start_manager(name, host, *state, *keys))
        self._hosts = dict(zip(("m1", "m2"), hosts, strict=False))
        self.names["E"] = hosts[2]
        self._ended = threading.Event()
        self._supervisor = threading.Thread(target=self._start_again, args=(made,), daemon=True)
        self._supervisor.start()
        return made

    def _start_again(self, managers: list[Manager]) -> None:
        while not self._ended.wait(0.2):
            for manager in managers:
                with self._starting:
                    if manager.process.poll() == PLACE_LOST:
                        manager.start()

    def leader(self) -> Manager:
        """Returns the manager that leads, and gives its host the letter M."""

        def leading() -> list[Manager]:
            return [manager for manager in self.managers if _leads(manager)]

        (found,) = until(leading, "a manager leads")
        self.names["M"] = self._hosts[found.folder.name]
        (self.names["S"],) = set(self._hosts.values()) - {self.names["M"]}
        return found

    def stop(self) -> None:
        self.wait_until_healthy()
        self._ended.set()
        self._supervisor.join()
        super().stop()
        self.etcd.stop()


def _leads(manager: Manager) -> bool:
    try:
        return manager.local().raw("GET", "/readyz")[0] == 200
    except UnreachableError:
        return False
