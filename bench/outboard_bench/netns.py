"""Hosts on this machine: network namespaces joined by veth pairs with limited rates. There are two
of them, or a star of more."""

from __future__ import annotations

import abc
import atexit
import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from outboard.errors import OutboardError

# The daemon listens only on loopback addresses, so each host has one, in a net of their own.
# 127.0.0.1 may be in use in the namespaces.
_NET = "127.77.0."
NEAR_ADDRESS, FAR_ADDRESS = f"{_NET}1", f"{_NET}2"
DEVICE = "veth0"
# The ports of the programs inside if each flow has its own limit. Each port has a filter.
FLOW_PORTS = range(50000, 50064)
# The time that bytes may wait before tbf. TCP's own limit per socket is far below that.
_QUEUE_MS = 50
# The time that bytes may wait in a switch for a host that several others send to: 1.25 MB at 1
# Gb/s, which is some times the buffer of a port of a small switch. TCP therefore seldom loses
# packets.
_SWITCH_QUEUE_MS = 10
_BRIDGE = "br0"
_NAME = re.compile(r"outboard-(\d+)-\d+-[a-z]+\d*")
_NAMESPACES = Path("/run/netns")  # ip-netns(8)
_numbers = itertools.count()


def may_emulate() -> bool:
    """Returns whether emulated links are possible here. If not, says why they are skipped."""
    try:
        require_root()
    except OutboardError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return False
    return True


def require_root() -> None:
    """Raises an OutboardError that names the missing condition for emulated links."""
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            raise OutboardError(
                f"emulated links need `{program}` (it was not found); install the package iproute2"
            )
    if os.geteuid() != 0:
        raise OutboardError(
            "emulated links need root (for network namespaces and rate limits); run the same "
            "command as root, or leave them out (fft: --links none)"
        )


@contextlib.contextmanager
def ended_by_exception() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP unwind the stack inside the block, as Ctrl-C does. Threads: main
    only."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Hosts(abc.ABC):
    """Context manager that makes namespaces of these names, and removes them in every case.

    The next process removes the namespaces that a killed process left. End the programs inside
    first, because a namespace lives as long as a process in it.
    """

    def __init__(self, mtu: int, names: Sequence[str]) -> None:
        self.mtu = mtu
        stem = f"outboard-{os.getpid()}-{next(_numbers)}"
        self.names = [f"{stem}-{name}" for name in names]

    def __enter__(self) -> Self:
        require_root()
        atexit.register(self.remove)  # covers a Ctrl-C between here and the body of the `with`
        try:
            with _uninterrupted():
                remove_leftovers()
                for name in self.names:
                    _run("ip", "netns", "add", name)
                self._join()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def remove(self) -> None:
        with _uninterrupted():
            for name in self.names:
                if (_NAMESPACES / name).exists():
                    _run("ip", "netns", "del", name)
            atexit.unregister(self.remove)

    def limit(self, gbit_per_s: float, burst_bytes: int) -> None:
        """Limits all directions to a rate. `burst_bytes` may pass at once after a pause."""
        for name, device, queue_ms in self._senders():
            words = f"rate {int(gbit_per_s * 1e9)}bit burst {burst_bytes} latency {queue_ms}ms"
            shape = ["root", "tbf", *words.split()]
            _run("tc", "-n", name, "qdisc", "replace", "dev", device, *shape)

    def replace_address(self, name: str, address: str) -> None:
        """Gives DEVICE in that namespace another address, and the loopback device its own."""
        _run("ip", "-n", name, "-4", "addr", "flush", "dev", DEVICE)
        _run("ip", "-n", name, "addr", "add", address, "dev", DEVICE)
        _run("ip", "-n", name, "addr", "add", "127.0.0.1/8", "dev", "lo")

    def end_programs(self) -> None:
        """Kills what runs in the namespaces."""
        for name in self.names:
            found = subprocess.run(
                ["ip", "netns", "pids", name], capture_output=True, text=True, check=False
            )
            for pid in map(int, found.stdout.split()):
                with contextlib.suppress(ProcessLookupError):  # it may end by itself
                    os.kill(pid, signal.SIGKILL)

    @abc.abstractmethod
    def _join(self) -> None:
        """Makes links between the namespaces."""

    @abc.abstractmethod
    def _senders(self) -> Iterable[tuple[str, str, int]]:
        """Yields every end of a link: namespace, device, and the time that bytes may wait there
        [ms]."""

    def _address(self, name: str, address: str) -> None:
        """Gives DEVICE in that namespace its address, and brings it up."""
        # A host speaks to itself over its loopback device. Its address would take all of
        # 127.0.0.0/8.
        _run("ip", "-n", name, "link", "set", "lo", "up")
        _run("ip", "-n", name, "addr", "del", "127.0.0.1/8", "dev", "lo")
        for device in ("all", DEVICE):
            setting = f"/proc/sys/net/ipv4/conf/{device}/route_localnet"
            _run(*inside(name, ["sh", "-c", f"echo 1 > {setting}"]))
        _run("ip", "-n", name, "addr", "add", address, "dev", DEVICE)
        _run("ip", "-n", name, "link", "set", DEVICE, "mtu", str(self.mtu), "up")


class TwoHosts(Hosts):
    """The namespaces `near` and `far`, joined by a link."""

    def __init__(self, mtu: int) -> None:
        super().__init__(mtu, ("near", "far"))
        self.near, self.far = self.names

    def limit_flows(self, gbit_per_s: float, burst_bytes: int) -> None:
        """Limits every TCP connection to a rate by itself. Flows are distinguished by the ports
        that programs inside get from the system. The range of ports is small, and each port has a
        flow of its own."""
        first, last = FLOW_PORTS[0], FLOW_PORTS[-1]
        bursts = f"burst {burst_bytes} cburst {burst_bytes}"
        rate = f"rate {int(gbit_per_s * 1e9)}bit {bursts} quantum {self.mtu}"
        lines = [f"qdisc replace dev {DEVICE} root handle 1: htb"]
        for i, port in enumerate(FLOW_PORTS, 1):
            lines.append(f"class add dev {DEVICE} parent 1: classid 1:{i:x} htb {rate}")
            for prio, end in enumerate(("sport", "dport"), 1):
                match = f"u32 match ip {end} {port} 0xffff flowid 1:{i:x}"
                lines.append(f"filter add dev {DEVICE} parent 1: protocol ip prio {prio} {match}")
        for name in (self.near, self.far):
            setting = "/proc/sys/net/ipv4/ip_local_port_range"
            _run(*inside(name, ["sh", "-c", f"echo {first} {last} > {setting}"]))
            _run("tc", "-n", name, "-batch", "-", text="\n".join(lines) + "\n")

    def _join(self) -> None:
        ends = ["name", DEVICE, "netns", self.near, "type", "veth"]
        _run("ip", "link", "add", *ends, "peer", "name", DEVICE, "netns", self.far)
        for name, address in ((self.near, NEAR_ADDRESS), (self.far, FAR_ADDRESS)):
            self._address(name, f"{address}/30")

    def _senders(self) -> Iterable[tuple[str, str, int]]:
        return [(name, DEVICE, _QUEUE_MS) for name in (self.near, self.far)]


class Star(Hosts):
    """The namespaces `client` and several `hosts`. Each has a link of its own to a switch, which is
    a bridge in one more namespace."""

    def __init__(self, mtu: int, hosts: int) -> None:
        super().__init__(mtu, ("switch", "client", *(f"host{i}" for i in range(hosts))))
        self._switch, self.client, *self.hosts = self.names

    def address(self, name: str) -> str:
        """Returns the address of the client or of one of the hosts."""
        return f"{_NET}{self.names.index(name)}"

    def _join(self) -> None:
        switch = self._switch
        _run("ip", "-n", switch, "link", "add", _BRIDGE, "type", "bridge")
        _run("ip", "-n", switch, "link", "set", _BRIDGE, "mtu", str(self.mtu), "up")
        for name in (self.client, *self.hosts):
            port = self._port(name)
            ends = ["name", DEVICE, "netns", name, "type", "veth"]
            _run("ip", "link", "add", *ends, "peer", "name", port, "netns", switch)
            into = ["master", _BRIDGE, "mtu", str(self.mtu), "up"]
            _run("ip", "-n", switch, "link", "set", port, *into)
            self._address(name, f"{self.address(name)}/24")

    def _port(self, name: str) -> str:
        return f"port{self.names.index(name)}"

    def _senders(self) -> Iterable[tuple[str, str, int]]:
        for name in (self.client, *self.hosts):
            yield name, DEVICE, _QUEUE_MS
            yield self._switch, self._port(name), _SWITCH_QUEUE_MS


def inside(namespace: str, words: Sequence[str]) -> list[str]:
    """Returns the command that runs `words` in that namespace, under the same process id."""
    return ["ip", "netns", "exec", namespace, *words]


def remove_leftovers() -> None:
    """Removes namespaces whose process has ended."""
    names = os.listdir(_NAMESPACES) if _NAMESPACES.is_dir() else []
    for name in names:
        match = _NAME.fullmatch(name)
        if match and not Path(f"/proc/{match[1]}").exists():
            # another process may remove it at the same time
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    held = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(*words: str, text: str = "") -> None:
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OutboardError(
            f"`{' '.join(words)}` failed ({done.stderr.strip() or done.returncode}); emulated "
            "links need root, network namespaces, veth, tbf and htb of the kernel"
        )
