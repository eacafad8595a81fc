"""Two hosts on this machine: network namespaces joined by a veth pair with limited rates."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, TracebackType

from outboard.errors import OutboardError

# The daemon listens on loopback addresses only, so both ends have one. A /30 of its own: whoever
# runs this may use 127.0.0.1 in the namespaces for something else.
NEAR_ADDRESS, FAR_ADDRESS = "127.77.0.1", "127.77.0.2"
DEVICE = "veth0"
# Ports of the programs inside where each flow has its own limit; a filter each.
FLOW_PORTS = range(50000, 50064)
# What may wait before tbf; TCP's own limit per socket is far below that.
_QUEUE_MS = 50
_NAME = re.compile(r"outboard-(\d+)-\d+-(near|far)")
_NAMESPACES = Path("/run/netns")  # ip-netns(8)
_numbers = itertools.count()


def require_root() -> None:
    """Raise an OutboardError that says what is missing for emulated links."""
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
    """SIGTERM and SIGHUP unwind the stack inside, as Ctrl-C does; main thread only."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class TwoHosts:
    """Context manager: the namespaces `near` and `far`; whatever happens, they are removed.

    What was left behind by a process that was killed is removed by the next one. End the programs
    inside first: a namespace lives as long as a process in it.
    """

    def __init__(self, mtu: int) -> None:
        self.mtu = mtu
        stem = f"outboard-{os.getpid()}-{next(_numbers)}"
        self.near, self.far = f"{stem}-near", f"{stem}-far"

    def __enter__(self) -> TwoHosts:
        require_root()
        atexit.register(self.remove)  # for a Ctrl-C between here and the body of the `with`
        try:
            with _uninterrupted():
                remove_leftovers()
                self._create()
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
            for name in (self.near, self.far):
                if (_NAMESPACES / name).exists():
                    _run("ip", "netns", "del", name)
            atexit.unregister(self.remove)

    def limit(self, gbit_per_s: float, burst_bytes: int) -> None:
        """Hold both directions to a rate; `burst_bytes` may pass at once after a pause."""
        for name in (self.near, self.far):
            words = f"rate {int(gbit_per_s * 1e9)}bit burst {burst_bytes} latency {_QUEUE_MS}ms"
            shape = ["root", "tbf", *words.split()]
            _run("tc", "-n", name, "qdisc", "replace", "dev", DEVICE, *shape)

    def limit_flows(self, gbit_per_s: float, burst_bytes: int) -> None:
        """Hold every TCP connection to a rate by itself. Flows are told apart by the ports that
        programs inside get from the system: so that all differ, these are few."""
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

    def _create(self) -> None:
        for name in (self.near, self.far):
            _run("ip", "netns", "add", name)
        ends = ["name", DEVICE, "netns", self.near, "type", "veth"]
        _run("ip", "link", "add", *ends, "peer", "name", DEVICE, "netns", self.far)
        for name, address in ((self.near, NEAR_ADDRESS), (self.far, FAR_ADDRESS)):
            # Their own loopback device stays down: up, it would take all of 127.0.0.0/8 for itself.
            for device in ("all", DEVICE):
                setting = f"/proc/sys/net/ipv4/conf/{device}/route_localnet"
                _run(*inside(name, ["sh", "-c", f"echo 1 > {setting}"]))
            _run("ip", "-n", name, "addr", "add", f"{address}/30", "dev", DEVICE)
            _run("ip", "-n", name, "link", "set", DEVICE, "mtu", str(self.mtu), "up")


def inside(namespace: str, words: Sequence[str]) -> list[str]:
    """The command that runs `words` there; it has the same process id."""
    return ["ip", "netns", "exec", namespace, *words]


def remove_leftovers() -> None:
    """Remove namespaces whose process is gone."""
    names = os.listdir(_NAMESPACES) if _NAMESPACES.is_dir() else []
    for name in names:
        match = _NAME.fullmatch(name)
        if match and not Path(f"/proc/{match[1]}").exists():
            # another process may be at it, too
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
