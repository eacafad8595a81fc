"""The faults of a storm: in a daemon, in the link to it, or present from the start."""

from __future__ import annotations

import collections.abc
import dataclasses
import random
import signal

import servers
from harness import Daemon


@dataclasses.dataclass
class Place:
    """A daemon, and the valve in front of it if the fault is in its link."""

    daemon: Daemon
    valve: servers.Valve | None
    address: str
    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True
        self.daemon.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.stopped = False
        self.daemon.signal(signal.SIGCONT)


Pause = collections.abc.Callable[[float], object]


def killed(place: Place, _pause: Pause, _pick: random.Random) -> None:
    place.daemon.kill()


def wedged(place: Place, _pause: Pause, _pick: random.Random) -> None:
    place.stop()


def halted(place: Place, pause: Pause, pick: random.Random) -> None:
    """Stops the daemon for a while, which is shorter or longer than any timeout."""
    place.stop()
    pause(pick.choice((0.05, 0.5, 2.0, 7.0)))
    place.go_on()


def drained(place: Place, _pause: Pause, _pick: random.Random) -> None:
    place.daemon.signal(signal.SIGTERM)


def reset(place: Place, pause: Pause, pick: random.Random) -> None:
    assert place.valve is not None
    for _ in range(pick.randint(1, 3)):
        place.valve.reset()
        pause(pick.random() * 0.2)


def partitioned(place: Place, _pause: Pause, _pick: random.Random) -> None:
    assert place.valve is not None
    place.valve.partition()


def cut_for_a_while(place: Place, pause: Pause, pick: random.Random) -> None:
    assert place.valve is not None
    place.valve.partition()
    pause(pick.choice((0.05, 0.5, 2.0, 7.0)))
    place.valve.heal()


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault, its share of all runs, and whether it shows only as silence."""

    name: str
    share: int
    strike: collections.abc.Callable[[Place, Pause, random.Random], None] | None
    on_link: bool = False
    silent: bool = False
    options: tuple[str, ...] = ()  # options of the first daemon
    extra: tuple[tuple[str, str], ...] = ()  # environment of the program


FAULTS = (
    Fault("daemon killed", 8, killed),
    Fault("daemon stopped for good", 2, wedged, silent=True),
    Fault("daemon stopped for a while", 3, halted, silent=True),
    Fault("daemon told to end", 3, drained),
    Fault("connections reset", 5, reset, on_link=True),
    Fault("network partitioned", 2, partitioned, on_link=True, silent=True),
    Fault("network cut for a while", 3, cut_for_a_while, on_link=True, silent=True),
    Fault("allocations fail", 3, None, options=("--fail-allocations", "5")),
    Fault("little device memory", 2, None, options=("--device-memory", "1MB")),
    Fault("disk full for the trace", 1, killed, extra=(("OUTBOARD_TRACE", "/dev/full"),)),
)
