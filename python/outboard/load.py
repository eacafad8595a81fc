"""The work of other programs on this machine while a command runs."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass

# user, nice, system, irq, softirq and steal in the first line of /proc/stat: proc(5)
_BUSY_COLUMNS = (1, 2, 3, 6, 7, 8)
# A shorter time has too few of the kernel's ticks.
_SHORTEST_S = 0.1
# The machine was busy if it had hardly any time left, and others took a real part of it.
_BUSY_PART = 0.85
_OTHERS_PART = 0.1


@dataclass(frozen=True)
class Load:
    """The average number of cores that other programs used, of the `cores` of this machine."""

    other_cores: float
    own_cores: float
    cores: int

    @property
    def disturbs(self) -> bool:
        """True if others took cores that the command could have used."""
        busy = self.other_cores + self.own_cores
        others = self.other_cores >= _OTHERS_PART * self.cores
        return others and busy >= _BUSY_PART * self.cores

    def line(self) -> str:
        return (
            f"other programs used {self.other_cores:.1f} of {self.cores} cores meanwhile, "
            "so these times are upper bounds"
        )


class Meter:
    """Measures from its creation on."""

    def __init__(self) -> None:
        self._begin_s = time.monotonic()
        self._busy_s = _busy_s()
        self._own_s = _own_s()

    def load(self) -> Load | None:
        """Returns the load since the beginning. None if it cannot be measured."""
        elapsed_s = time.monotonic() - self._begin_s
        busy_s = _busy_s()
        if elapsed_s < _SHORTEST_S or busy_s is None or self._busy_s is None:
            return None
        own = (_own_s() - self._own_s) / elapsed_s
        others = max(0.0, (busy_s - self._busy_s) / elapsed_s - own)
        return Load(others, own, os.cpu_count() or 1)


def _busy_s() -> float | None:
    """Returns the time for which all cores together have worked. None without /proc."""
    try:
        with open("/proc/stat") as file:
            columns = file.readline().split()
        ticks = sum(int(columns[column]) for column in _BUSY_COLUMNS)
    except (OSError, ValueError, IndexError):
        return None
    return ticks / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    """Returns the processor time of this process and of its children that have ended."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)
