"""The name of this machine for placement: daemons and clients on one machine say the same."""

from __future__ import annotations

import hashlib
from pathlib import Path


def machine() -> str:
    """Returns a hash of the machine's id, which itself must not travel: machine-id(5)."""
    try:
        own = Path("/etc/machine-id").read_text().strip()
    except OSError:
        own = ""
    if not own:
        import socket

        own = socket.gethostname()
    return hashlib.sha256(b"outboard machine " + own.encode()).hexdigest()[:16]
