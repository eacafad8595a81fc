"""The name of this machine for placement: daemons and clients on one machine say the same."""

from __future__ import annotations

from pathlib import Path

_OFFSET, _PRIME = 0xCBF29CE484222325, 0x100000001B3  # FNV-1a


def machine() -> str:
    """Returns what machine_name() of src/pool/registration.cpp returns: a hash of the id that the
    kernel draws when it boots. Empty if it does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    value = _OFFSET
    for byte in boot.encode():
        value = (value ^ byte) * _PRIME % (1 << 64)
    return f"{value:016x}"
