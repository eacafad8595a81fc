"""The compiled programs that benchmarks in Python run."""

from __future__ import annotations

from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError

# Links of a check have this burst. Other links search for the smallest burst that is enough.
CHECK_BURST = 512 << 10


def require(native: paths.Native, name: str) -> Path:
    """Returns the program of that name beside the daemon."""
    program = native.daemon.parent / name
    if not program.exists():
        raise OutboardError(
            f"{program} is missing (benchmarks are not built there); run `outboard bench list`"
        )
    return program


class NotBuiltError(OutboardError):
    """An example program is missing."""


def require_example(name: str, install: str) -> Path:
    """Returns the program of that name beside the other examples. Raises NotBuiltError if it was
    not built; `install` then says what to install."""
    program = paths.require_native().root / "examples" / name
    if not program.exists():
        raise NotBuiltError(
            f"{program} is missing (it was not built); install {install}, and build again"
        )
    return program
