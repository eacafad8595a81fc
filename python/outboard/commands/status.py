"""`outboard status`: the state of a pool, as `outboard pool status`."""

from __future__ import annotations

from outboard.commands._pool_asking import status as command

__all__ = ["command"]
