"""Makes counter files, field by field, at the offsets that docs/report.md states."""

from __future__ import annotations

ROWS = 1024
HEADER_BYTES = 768
ROW_BYTES = 272
COUNTER_NAMES = (
    "calls remote fell_back bytes_to bytes_from to_server_ns plan_ns compute_ns from_server_ns "
    "remote_ns local_ns local_calls local_megaflop remote_megaflop eligible bytes_kept "
    "verified mismatched unchecked decided tried mispredicted lost_ns several devices "
    "strict fast emulated bytes_between changed"
).split()


def block(
    rows: dict[str, dict[str, int]],
    *,
    pid: int = 1,
    started: int = 0,
    program: str = "prog",
    server: str = "",
    mode: str = "auto",
    notice: str = "",
    reason: str = "",
    spent_ns: int = 0,
    cost_ns: int = 0,
) -> bytes:
    """Returns a counter file with these rows."""
    data = bytearray(HEADER_BYTES + ROWS * ROW_BYTES)

    def put(offset: int, size: int, value: int | str) -> None:
        raw = value.encode() if isinstance(value, str) else value.to_bytes(size, "little")
        data[offset : offset + len(raw)] = raw

    put(0, 8, "OBREPORT")
    put(8, 4, 6)
    put(12, 4, ROWS)
    put(16, 8, pid)
    put(24, 8, started)
    put(32, 64, program)
    put(96, 128, server)
    put(224, 16, mode)
    put(240, 256, notice)
    put(496, 256, reason)
    put(752, 8, spent_ns)
    put(760, 8, cost_ns)
    for index, (name, counters) in enumerate(rows.items()):
        base = HEADER_BYTES + index * ROW_BYTES
        put(base, 32, name)
        for counter, value in counters.items():
            put(base + 32 + 8 * COUNTER_NAMES.index(counter), 8, value)
    return bytes(data)
