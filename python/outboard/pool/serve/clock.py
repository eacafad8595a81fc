"""Pool time: milliseconds since 1970 that never go back, whatever happens to the wall clock."""

from __future__ import annotations

import time


class PoolClock:
    """`stored_ms`: the highest time that the store knows. Any thread."""

    def __init__(self, stored_ms: int) -> None:
        begin_ms = max(time.time_ns() // 1_000_000, stored_ms)
        self._offset_ms = begin_ms - _boot_ms()

    def now_ms(self) -> int:
        return self._offset_ms + _boot_ms()


def _boot_ms() -> int:
    # It also counts while the machine is suspended.
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
