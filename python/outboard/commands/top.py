"""`outboard top`: a live view of a pool, as `outboard pool top`."""

from __future__ import annotations

from outboard.commands._pool_top import top as command

__all__ = ["command"]
