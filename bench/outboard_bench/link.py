"""Emulated links: two namespaces, a veth pair, `tc tbf` at both ends, and the measurement of their
rate."""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from outboard.errors import OutboardError
from outboard_bench import raw_stream
from outboard_bench.netns import (
    FAR_ADDRESS,
    NEAR_ADDRESS,
    Hosts,
    TwoHosts,
    inside,
)

NOMINAL_GBIT = (1.0, 10.0, 25.0)
# At 1 Gb/s, links have jumbo frames, whose headers cost 1 %. Faster links have the largest frames,
# because every packet costs time of this machine's cores.
_JUMBO_MTU, _LARGEST_MTU = 9000, 65535
# A burst passes at once after a pause, and also if the timer of tbf is late. A larger burst keeps
# the link closer to its nominal rate under load, but lets larger messages pass without a limit.
BURSTS = tuple(kib << 10 for kib in (16, 32, 80, 128, 256, 512, 1024))
_PACKET_HEADER = 14  # the header of Ethernet; a packet that is larger than the burst never passes
NEAR_ENOUGH = 0.97
_MEASURE_TIMEOUT_S = 60.0

Wrap = Callable[[Sequence[str]], list[str]]


@dataclass(frozen=True)
class Speed:
    """The Gb/s of a plain TCP stream, over some stretches of time."""

    to_far: list[float]
    to_near: list[float]
    burst_bytes: int

    def transfer_ms(self, bytes_to: int, bytes_from: int) -> float:
        """Returns the least time for these bytes there and then back, by the medians; 0 if one
        burst carries them all."""
        there, back = statistics.median(self.to_far), statistics.median(self.to_near)
        return (self._limited(bytes_to) / there + self._limited(bytes_from) / back) * 8e-6

    def _limited(self, count: int) -> int:
        return max(0, count - self.burst_bytes)


class Link:
    """Context manager that makes hosts `near` and `far` with a link of the given rate between
    them."""

    def __init__(
        self, gbit_per_s: float, burst_bytes: int | None = None, each_flow: bool = False
    ) -> None:
        """Without `burst_bytes`, the link takes the smallest burst that reaches the rate. With
        `each_flow`, the rate limits every TCP connection by itself."""
        self.gbit_per_s = gbit_per_s
        self._each_flow = each_flow
        self.burst_bytes = burst_bytes or 0
        self._search = burst_bytes is None
        self._hosts = TwoHosts(mtu_at(gbit_per_s))

    @property
    def name(self) -> str:
        return f"link {self.gbit_per_s:g} Gb/s" + (" a flow" if self._each_flow else "")

    @property
    def burst(self) -> str:
        return f"burst {self.burst_bytes >> 10} KiB"

    @property
    def namespaces(self) -> tuple[str, str]:
        """Returns the names of the near and the far host."""
        return self._hosts.near, self._hosts.far

    def replace_address(self, namespace: str, address: str) -> None:
        """Gives one of the hosts another address, and a loopback device for ranks beside each
        other. Afterwards near() and far() still run programs, and measure() does not work."""
        self._hosts.replace_address(namespace, address)

    def end_programs(self) -> None:
        """Kills what runs on the hosts."""
        self._hosts.end_programs()

    def near(self, words: Sequence[str]) -> list[str]:
        """Returns the command that runs `words` on the near host, where programs run."""
        return inside(self._hosts.near, words)

    def far(self, words: Sequence[str]) -> list[str]:
        """Returns the command that runs `words` on the far host, at FAR_ADDRESS, where daemons
        run."""
        return inside(self._hosts.far, words)

    def __enter__(self) -> Link:
        self._hosts.__enter__()
        try:
            if self._search:
                self.burst_bytes = limit_with_least_burst(
                    self._hosts, self.gbit_per_s, self.near, self.far, FAR_ADDRESS
                )
            else:
                limit = self._hosts.limit_flows if self._each_flow else self._hosts.limit
                limit(self.gbit_per_s, self.burst_bytes)
        except BaseException:
            self._hosts.remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._hosts.remove()

    def measure(self, windows: int = 5, seconds: float = 0.2) -> Speed:
        return Speed(
            stream(self.near, self.far, FAR_ADDRESS, Load(windows, seconds)),
            stream(self.far, self.near, NEAR_ADDRESS, Load(windows, seconds)),
            self.burst_bytes,
        )


def mtu_at(gbit_per_s: float) -> int:
    return _JUMBO_MTU if gbit_per_s <= 1 else _LARGEST_MTU


def limit_with_least_burst(
    hosts: Hosts, gbit_per_s: float, near: Wrap, far: Wrap, far_address: str
) -> int:
    """Limits links to a rate, with the smallest burst that lets a stream from `near` reach it."""
    reached: dict[int, float] = {}
    for burst in _bursts(hosts.mtu):
        hosts.limit(gbit_per_s, burst)
        reached[burst] = statistics.median(stream(near, far, far_address, Load(3, 0.1)))
        if reached[burst] >= NEAR_ENOUGH * gbit_per_s:
            break
    enough = NEAR_ENOUGH * min(max(reached.values()), gbit_per_s)
    chosen = next(burst for burst, rate in reached.items() if rate >= enough)
    hosts.limit(gbit_per_s, chosen)
    return chosen


def _bursts(mtu: int) -> list[int]:
    return [burst for burst in BURSTS if burst > mtu + _PACKET_HEADER]


@dataclass(frozen=True)
class Load:
    """Plain TCP streams at the same time, and the stretches of time in which they are counted."""

    windows: int
    seconds: float  # length of each window
    streams: int = 1


def stream(
    source: Wrap,
    sink: Wrap,
    address: str,
    load: Load,
    through: Callable[[str], AbstractContextManager[str]] = contextlib.nullcontext,
) -> list[float]:
    """Returns the Gb/s of each window of plain TCP streams to a sink that listens on `address`, or
    is reached `through` a relay in front of it."""
    program = [sys.executable, "-P", str(Path(raw_stream.__file__))]
    words = [str(load.windows), str(load.seconds), str(load.streams)]
    to_sink = sink([*program, "sink", address, *words])
    with contextlib.ExitStack() as stack:
        receiver = stack.enter_context(_child(to_sink, subprocess.PIPE))
        assert receiver.stdout is not None
        port = receiver.stdout.readline().strip()
        host, port = stack.enter_context(through(f"{address}:{port or 0}")).rsplit(":", 1)
        from_source = source([*program, "source", host, port, str(load.streams)])
        stack.enter_context(_child(from_source, subprocess.DEVNULL))
        try:
            text, _ = receiver.communicate(timeout=load.windows * load.seconds + _MEASURE_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise OutboardError(
                "a plain TCP stream over the link does not move (no end in "
                f"{_MEASURE_TIMEOUT_S:.0f} s); is this machine busy?"
            ) from error
    measured = [float(line) for line in text.split()]
    if len(measured) != load.windows:
        raise OutboardError(f"a plain TCP stream to {address} failed (its message is above)")
    return measured


@contextlib.contextmanager
def _child(command: Sequence[str], stdout: int) -> Iterator[subprocess.Popen[str]]:
    """Runs a process that is killed at the end of the block."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=stdout, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def rate_list(text: str) -> tuple[float, ...]:
    """Parses "1,10" as rates in Gb/s, for argparse."""
    try:
        rates = tuple(float(word) for word in text.split(","))
    except ValueError:
        rates = (0.0,)
    if not all(0.001 <= rate <= 400 for rate in rates):
        raise argparse.ArgumentTypeError(f"'{text}' has no rates of links (write 1,10: Gb/s)")
    return rates
